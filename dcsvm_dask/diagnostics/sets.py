"""The working sets of parallel decomposition: how many, how fast, and what they keep waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcsvm_dask.numbers import counted
from dcsvm_dask.storage.node import Record

SHARES = "share_seconds"
"""Key of records of commits of working sets."""


def stretches(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return the figures of the working sets between two commits.

    Parameters
    ----------
    records : sequence of Record
        Commits in their order; others than those of working sets are left out.

    Returns
    -------
    list of dict
        ``sets``, ``iterations`` and ``moved`` (variables that were changed) since the last commit,
        ``entering`` (variables that may enter the next set), ``seconds``, ``sets_per_second``,
        ``set_seconds`` and ``share_seconds`` (processor time of choosing and solving, and of all
        shares), ``serial_share`` (that of choosing and solving in both) and ``balance`` (the time
        of the largest share over the mean), None where there is nothing to divide by.
    """
    found, before = [], {"steps": 0, "iterations": 0, "moved": 0}
    for record in records:
        if SHARES not in record:
            continue
        after = record["set"]
        if after["steps"] < before["steps"]:  # it began anew, from f that was computed from scratch
            before = dict.fromkeys(before, 0)
        counts = {key: after[key] - before[key] for key in before}
        before = {key: after[key] for key in before}
        sets = counts.pop("steps")
        timed = _timed(record["set_seconds"], record[SHARES])
        found.append(
            {
                "sets": sets,
                **counts,
                "entering": after["entering"],
                "seconds": record["seconds"],
                "sets_per_second": _ratio(sets, record["seconds"]),
                **timed,
            }
        )
    return found


def of_sets(records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the figures of all working sets of a run; None where it has none.

    The keys are those of `stretches`.

    Parameters
    ----------
    records : sequence of Record
        All commits in their order.
    """
    found = stretches(records)
    if not found:
        return None
    own = [record for record in records if SHARES in record]
    shares = [sum(each) for each in zip(*(record[SHARES] for record in own), strict=True)]
    total = {
        key: sum(one[key] for one in found) for key in ("sets", "iterations", "moved", "seconds")
    }
    return {
        **total,
        "entering": found[-1]["entering"],
        "sets_per_second": _ratio(total["sets"], total["seconds"]),
        **_timed(sum(record["set_seconds"] for record in own), shares),
    }


def described(sets: dict[str, Any]) -> str:
    """Return the figures of `of_sets` as a phrase."""
    text = counted(sets["sets"], "working set")
    if sets["sets_per_second"]:
        text += f", {sets['sets_per_second']:.3g} a second"
    if sets["serial_share"] is not None:
        text += f"; {sets['serial_share']:.0%} of the processor time chooses and solves them"
    if sets["balance"] is not None:
        text += f", the largest share takes {sets['balance']:.2f} x the mean"
    return text


def _timed(solving: float, shares: Sequence[float]) -> dict[str, Any]:
    together = sum(shares)
    return {
        "set_seconds": solving,
        "share_seconds": together,
        "serial_share": _ratio(solving, solving + together),
        "balance": _ratio(max(shares, default=0.0) * len(shares), together),
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0.0 else None
