"""Running one node: give back what was committed, or do the step and commit it."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import psutil

from dcsvm_dask.errors import RunError
from dcsvm_dask.methods import helping, resources
from dcsvm_dask.storage.claims import Ownership
from dcsvm_dask.storage.lock import HEARTBEAT_SECONDS
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder

Step = Callable[..., Record]
"""A step takes the run, its attempt and keyword arguments; it returns a record."""


def run_node(
    run_url: str,
    stage: str,
    node: str,
    step: Step,
    arguments: dict[str, Any],
    owner: Ownership | None = None,
) -> Record:
    """Run a step and commit it, unless that was done before or, meanwhile, by another attempt.

    Parameters
    ----------
    owner : Ownership, optional
        The claim for which it is done: without the run nothing is committed.

    Returns
    -------
    record : dict
        What the step returned, but for ``before``, with what `helping.counted` counts, and with
        ``seconds``, ``cpu_seconds``, ``began`` (Unix time), ``host`` (name:process), ``peak_bytes``
        (the largest resident memory of the process so far) and ``resident_bytes`` (that at the
        end). Where the step returns ``before``, the ``seconds`` and ``cpu_seconds`` of work that
        led to it outside of nodes (a loop's), they are added, and it began so much earlier.
    """
    run = replace(open_run(run_url), known={}) if owner is None else _open_owned(run_url, owner)
    run.check_result_version()  # a worker may have another version than who began the run
    done = _done(run, stage, node)
    if done is not None:
        return done.record
    run.check_owner(HEARTBEAT_SECONDS)  # before the work, not only after it
    clock = time.process_time if resources.runs_alone() else time.thread_time
    begin, busy, began = time.perf_counter(), clock(), time.time()
    attempt: Attempt = run.attempt(stage, node)
    assert run.known is not None
    try:
        with helping.counted() as shared:
            record = step(run, attempt, **arguments)
        record = json.loads(json.dumps(record))  # as it will be read: no NumPy scalars
        before = record.pop("before", {"seconds": 0.0, "cpu_seconds": 0.0})
        record = {
            **record,
            **shared,
            "seconds": before["seconds"] + time.perf_counter() - begin,
            "cpu_seconds": before["cpu_seconds"] + clock() - busy,
            "began": began - before["seconds"],
            **process_record(),
        }
        if attempt.commit(record):
            return record
    except Exception:
        run.known.clear()  # if it rests on what is gone, the next try may not
        # A commit may stand although its answer was lost; where that cannot be seen, the arrays
        # stay until the stage is swept.
        with contextlib.suppress(Exception):
            done = run.find(stage, node)
            if done is None or done.attempt != attempt.place.name:
                attempt.place.delete()
        raise
    attempt.place.delete()
    run.known.clear()
    done = run.find(stage, node)
    if done is None:
        raise RunError(f"{run.place}: stage {stage}: the commit of {node} was taken back")
    return done.record


def _done(run: RunFolder, stage: str, node: str) -> Committed | None:
    """Return what a node has committed, which may be released where its stage is committed.

    Dask does tasks again whose results a lost worker had, at times of a stage that is settled.
    Object stores are not asked for these: it would be a request for every node.
    """
    done = run.find(stage, node, released=False)
    if done is None and run.place.is_local and run.find(stage, "commit", released=False):
        return run.find(stage, node)
    return done


def open_run(run_url: str) -> RunFolder:
    """Open a run by its URL."""
    return RunFolder.open(run_url)


@lru_cache(maxsize=4)
def _open_owned(run_url: str, owner: Ownership) -> RunFolder:
    """Open a run for its owner, once: parameters and commits stay while steps of one turn run."""
    return replace(open_run(run_url), owner=owner, known={})


def process_record() -> Record:
    """Return ``host``, ``peak_bytes`` and ``resident_bytes`` of this process; see `run_node`."""
    return {
        "host": f"{socket.gethostname()}:{psutil.Process().pid}",
        "peak_bytes": peak_bytes(),
        "resident_bytes": psutil.Process().memory_info().rss,
    }


def peak_bytes() -> int:
    """Return the largest resident memory of this process so far, in bytes."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:  # not Linux
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    # Not ru_maxrss: a child begins with that of its parent.
    return next(int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line) * 1024
