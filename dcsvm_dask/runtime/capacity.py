"""Whether a planned run fits the memory of its workers and the disk of its folder."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

from dcsvm_dask.errors import InputError
from dcsvm_dask.graphs.dcsvm import Goals, Shape
from dcsvm_dask.graphs.plan import PROCESS_BYTES, Plan, plan
from dcsvm_dask.steps.problem import ARRANGE
from dcsvm_dask.steps.resources import CACHE_SHARE
from dcsvm_dask.steps.settings import Settings
from dcsvm_dask.storage.location import Location


def memory_of_workers(limit: str | int | None, workers: int) -> int:
    """Return the bytes of memory that each local worker may use.

    Parameters
    ----------
    limit : str, int or None
        What the user gave; None: an equal share of the machine's memory, or of what its control
        group allows.
    workers : int
        Number of processes; 0: this process alone.

    Raises
    ------
    InputError
        If the limit is no size above zero.
    """
    from dask.utils import parse_bytes
    from distributed.system import MEMORY_LIMIT

    if limit is None:
        return int(MEMORY_LIMIT) // max(1, workers)
    try:
        found = int(parse_bytes(limit))
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"memory-limit: {limit!r} is no size; write 800MB or 2GiB") from error
    if found <= 0:
        raise InputError(f"memory-limit: {limit!r} is not possible; write 800MB or 2GiB")
    return found


def check_memory(plan: Plan, available: int, setting: str = "--memory-limit") -> None:
    """Refuse a run whose largest task does not fit a worker.

    Parameters
    ----------
    available : int
        Bytes that a task and the process around it may use.
    setting : str
        What gives a worker more memory.

    Raises
    ------
    InputError
        With the sizes and the settings to change.
    """
    kept = min(plan.data_bytes, int(CACHE_SHARE * available))
    if plan.worker_bytes + kept <= available:
        return
    largest = plan.largest
    clusters = largest.stage.name == ARRANGE  # it looks for them on some rows for each
    raise InputError(
        f"this run needs about {_mib(plan.worker_bytes + kept)} of memory in a worker "
        f"({_mib(PROCESS_BYTES)} for the process, {_mib(kept)} for rows that it keeps and "
        f"{_mib(largest.task_bytes)} for a task of {largest.stage.name}), but a worker has "
        f"{_mib(available)}; raise {setting}, or lower "
        f"--workers or {'the number of clusters' if clusters else '--block-cap'}"
    )


def fit_sets(settings: Settings, goals: Goals, shape: Shape, available: int) -> Settings:
    """Return settings whose working sets fit a worker: no larger than blocks where memory is short.

    The size shapes the result, so it is chosen once, when a run begins.
    """
    try:
        check_memory(plan(settings, goals, shape), available)
    except InputError:
        return replace(settings, set_cap=settings.block_cap)
    return settings


def check_disk(plan: Plan, place: Location) -> None:
    """Refuse a run that the file system of its folder cannot hold; object stores are not asked.

    Raises
    ------
    InputError
        With the sizes and what to do.
    """
    if not place.is_local:
        return
    folder = Path(place.url)
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if plan.disk_bytes > free:
        raise InputError(
            f"{place}: this run needs about {_mib(plan.disk_bytes)} of disk, but "
            f"{_mib(free)} are free there; free some, or give --run another place"
        )


def _mib(n_bytes: float) -> str:
    return f"{math.ceil(n_bytes / 2**20):,} MiB" if n_bytes >= 2**20 else f"{n_bytes:.0f} bytes"
