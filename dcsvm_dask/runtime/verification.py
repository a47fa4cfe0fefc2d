"""Verifying the checksums of a run's commits, by tasks, before it is resumed."""

from __future__ import annotations

import time
from collections.abc import Callable

from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.calls import results
from dcsvm_dask.runtime.executors import Executor
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder

MOST_TASKS = 1000
REPORT_EVERY = 1.0
"""Seconds between two progress reports."""


def refuse_damage(run: RunFolder, executor: Executor, check: Callable[[], None]) -> None:
    """Raise an error if the arrays of a run differ from those that were committed.

    Parameters
    ----------
    run : RunFolder
    executor : Executor
    check : callable
        Raises if this process no longer owns the run.

    Raises
    ------
    InputError
        With the first damaged place, and the stage or node to delete so that it is made again.
    """
    names = [(stage, node) for stage in run.stages() for node in run.unreleased(stage)]
    size = max(1, -(-len(names) // MOST_TASKS))
    groups = [names[first : first + size] for first in range(0, len(names), size)]
    calls = (((check_nodes, (run.place.url, group)), len(group)) for group in groups)
    nodes, n_bytes, reported = 0, 0, time.monotonic()
    with executor.calls("check") as pool:
        for (checked, complaint), count in results(pool, calls):
            check()
            if complaint:
                raise InputError(complaint)
            nodes, n_bytes = nodes + count, n_bytes + checked
            if time.monotonic() - reported >= REPORT_EVERY:
                reported = time.monotonic()
                text = (
                    f"checking what is committed: {nodes:,} of {len(names):,} tasks, "
                    f"{n_bytes / 1e9:,.1f} GB"
                )
                executor.report({"kind": "notice", "text": text, "doing": True})


def check_nodes(run_url: str, names: list[tuple[str, str]]) -> tuple[int, str]:
    """Verify the checksums of some nodes.

    Returns
    -------
    n_bytes : int
        Bytes that match their checksums.
    complaint : str
        Message about the first damaged node; empty if there is none.
    """
    run, n_bytes = RunFolder.open(Location.of(run_url)), 0
    for stage, node in names:
        try:
            found = run.find(stage, node)
        except InputError as error:
            return n_bytes, str(error)
        if found is None or found.released:
            continue
        if not found.verify():
            return n_bytes, (
                f"{found.place}: is damaged: its objects do not match their checksums; "
                f"delete {run.what_makes_again(stage, node)} and resume to make it again"
            )
        n_bytes += sum(size for size, _ in found.keys.values())
    return n_bytes, ""
