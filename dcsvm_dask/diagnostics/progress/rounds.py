"""How many rounds of a chain are left, by how the violation has fallen from round to round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from dcsvm_dask.diagnostics.progress.stage import DONE, RUNNING, StageProgress

MOST_ROUNDS = 50
USUAL_FALL, LIKE_ROUNDS = 1.0, 2
"""By how much the logarithm of a violation falls in a round, typically or in the chain before, and
as how many rounds that counts."""
LATEST_FALLS = 4
"""Latest rounds that say how fast it falls."""
LEAST_FALL = 0.01
"""A mean that is smaller says nothing."""


def rounds_left(
    chain: Sequence[StageProgress],
    planned: int,
    *,
    improves: bool,
    before: Sequence[StageProgress] = (),
) -> int:
    """Return the estimated number of rounds of a chain that have not begun.

    Parameters
    ----------
    chain : sequence of StageProgress
        Its start and the rounds that have begun, in order.
    planned : int
        Planned number of rounds.
    improves : bool
        Whether rounds improve blocks, which makes violations fall as `USUAL_FALL` says; others are
        as many as are planned until two of them have shown how it falls.
    before : sequence of StageProgress
        The rounds of a chain that has ended, which say how fast violations fall.

    Returns
    -------
    int
    """
    expected = max(0, planned + 1 - max(1, len(chain)))
    found, tol = violations(chain), tolerance(chain)
    if not found or not tol:
        return expected
    if found[-1] <= tol:
        return 0
    seen = log_falls(found[-LATEST_FALLS - 1 :])
    if improves:
        usual = log_falls(violations(before)) or [USUAL_FALL]
        seen += LIKE_ROUNDS * [fmean(usual)]
    running = sum(one.state == RUNNING for one in chain)
    fall = fmean(seen) if seen else 0.0
    if not improves and fall <= LEAST_FALL:
        return expected if running else max(1, expected)
    way = math.log(found[-1] / tol)
    rounds = math.ceil(way / max(fall, way / MOST_ROUNDS) - 0.1)  # nearly met is met
    return max(0, rounds - running)


def proof_left(chain: Sequence[StageProgress], rounds: int, now: float) -> float:
    """Return the estimated seconds in which f from scratch proves the end of a chain of rounds.

    0 where it is under way or done, and where the chain needs none. While the chain starts, half of
    it counts: the start may be the end.

    Parameters
    ----------
    chain : sequence of StageProgress
        As for `rounds_left`, of rounds that improve blocks.
    rounds : int
        Rounds that are expected.
    now : float
        Seconds since 1970.
    """
    first, last = chain[0], chain[-1]
    if not first.kind.of_all_rows or not (rounds or last.improves):
        return 0.0
    if first.state == RUNNING:
        return 0.5 * max(first.planned, first.seconds(now))
    return first.planned if first.resumed else first.seconds(now)


def violations(chain: Sequence[StageProgress]) -> list[float]:
    """Return the violations at the committed points of a chain, as far as they are known."""
    found = (one.record.get("violation") for one in chain if one.state == DONE)
    return [one for one in found if one is not None and math.isfinite(one)]


def tolerance(chain: Sequence[StageProgress]) -> float | None:
    """Return the tolerance of a chain, which a resume may have changed; None if it is not known."""
    return next((one.record["tol"] for one in reversed(chain) if "tol" in one.record), None)


def log_falls(found: Sequence[float]) -> list[float]:
    """Return by how much the logarithms of violations fall from each to the next."""
    both = pairwise(found)
    return [math.log(a) - math.log(b) for a, b in both if a > 0.0 and b > 0.0]
