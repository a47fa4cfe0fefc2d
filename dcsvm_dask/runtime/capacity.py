"""Checks that a planned run fits the memory of its workers and the disk of its folder."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.plan import Plan, plan
from dcsvm_dask.methods.registry import options_of
from dcsvm_dask.methods.resources import CACHE_SHARE
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.storage.location import Location

MORE_MEMORY = "--memory-limit (or give fewer --workers)"
FEWER_THREADS = "--memory-limit (or lower n_jobs)"
USABLE = 0.95
"""Share of its memory limit beyond which Dask ends a worker."""
LEAST_BLOCK_CAP = 1024
"""Smallest cap of blocks that is chosen for want of memory: below it work would explode."""


class Share(int):
    """Bytes of memory that a task has on a worker, with the address of that worker."""

    worker: str

    @classmethod
    def of(cls, n_bytes: int, worker: str) -> Share:
        """Return the share of one worker."""
        found = cls(n_bytes)
        found.worker = worker
        return found


def memory_of_slots(workers: Mapping[str, Mapping[str, Any]]) -> Share | None:
    """Return the smallest memory of a task on some workers; None if it is unlimited."""
    shares = [
        Share.of(int(worker["memory_limit"]) // max(1, int(worker["nthreads"])), address)
        for address, worker in workers.items()
        if worker["memory_limit"]
    ]
    return min(shares, default=None)


def memory_of_core() -> int:
    """Return the share of this machine's memory for each of its cores, in bytes.

    It does not depend on the number of workers.
    """
    return memory_of_workers(None, os.cpu_count() or 1)


def memory_of_workers(limit: str | int | None, workers: int) -> int:
    """Return the bytes of memory that each local worker may use.

    Parameters
    ----------
    limit : str, int or None
        The limit given by the user; None: an equal share of the memory of the machine or of its
        control group.
    workers : int
        Number of processes; 0: this process only.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If the limit is not a positive size.
    """
    if limit is None:
        return _memory_of_machine() // max(1, workers)
    from dask.utils import parse_bytes

    try:
        found = int(parse_bytes(limit))
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"memory-limit must be a size like 800MB or 2GiB, got {limit!r}"
        ) from error
    if found <= 0:
        raise InputError(f"memory-limit must be a size like 800MB or 2GiB, got {limit!r}")
    return found


@cache
def _memory_of_machine() -> int:
    """Return the bytes of memory of the machine or of its control group, as Dask counts them."""
    package = find_spec("distributed")
    assert package is not None
    assert package.origin is not None
    # Importing the package takes most of a second, this file of it alone a millisecond.
    file = Path(package.origin).with_name("system.py")
    spec = spec_from_file_location("dask_system", file)
    assert spec is not None
    assert spec.loader is not None
    system = module_from_spec(spec)
    spec.loader.exec_module(system)
    return int(system.MEMORY_LIMIT)


def check_memory(
    plan: Plan,
    available: int,
    setting: str = MORE_MEMORY,
    threads: int = 1,
    *,
    begun: bool = False,
) -> None:
    """Raise an error if the largest tasks of a run do not fit a worker.

    Parameters
    ----------
    plan : Plan
    available : int
        Bytes that a worker may use for its tasks and the process around them.
    setting : str
        Name of the setting that gives a worker more memory.
    threads : int, default 1
        Tasks of a layer that a worker runs at a time.
    begun : bool, default False
        Whether the run has begun, so that its sizes can no longer change.

    Raises
    ------
    InputError
        With the sizes and the settings to change.
    """
    if fits(plan, available, threads):
        return
    kept, largest = kept_bytes(plan, available), plan.largest(threads)
    together = largest.side_by_side(threads)
    tasks = f"each of {together} tasks" if together > 1 else "a task"
    remedies = [largest.remedy] if largest.remedy else []
    more = f"raise {setting}"
    if isinstance(available, Share):
        more = f"{more}, or leave this worker out (--worker, --resources, in Python dask.annotate)"
    remedy = f"{', or '.join([more, *remedies])}, or train on fewer rows"
    if begun:
        others = " and ".join(["begin a new run", *remedies])
        remedy = f"{more}; the sizes of a begun run cannot change: or {others}"
    whose = f"worker {available.worker}" if isinstance(available, Share) else "a worker"
    raise InputError(
        f"this run may need {_mib(plan.most_bytes(threads) + kept)} of memory in a worker "
        f"({_mib(plan.measured.process_bytes)} for the process, {_mib(kept)} for cached "
        f"rows and {_mib(largest.need.most)} for {tasks} of {largest.stage.name}), but {whose} "
        f"has {_mib(available)} and ends at {USABLE:.0%} of it; {remedy}"
    )


def fits(plan: Plan, available: int, threads: int = 1) -> bool:
    """Return whether a worker has room for the largest tasks of a run.

    Parameters
    ----------
    plan : Plan
    available : int
        Bytes that a worker may use.
    threads : int, default 1
        Tasks of a layer that a worker runs at a time.

    Returns
    -------
    bool
    """
    return plan.most_bytes(threads) + kept_bytes(plan, available) <= USABLE * available


def kept_bytes(plan: Plan, available: int) -> int:
    """Return the bytes of the rows that a worker caches between tasks."""
    return min(plan.data_bytes, int(CACHE_SHARE * available))


def fit_caps(
    settings: Settings,
    goals: Goals,
    shape: Shape,
    available: int,
    *,
    given: Collection[str] = (),
) -> Settings:
    """Return settings with the largest blocks, working sets and method options that fit a worker.

    These sizes shape the result, so they are functions of data and parameters: more memory than
    needed changes nothing. Where memory is too small, smaller sizes are chosen once, before a run
    begins, and are then parameters of the run. Where no sizes fit, the smallest are returned.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    available : int
        Bytes that a worker may use.
    given : collection of {"block_cap", "set_cap"}
        Caps that the user gave, which do not change.

    Returns
    -------
    Settings
    """
    caps = [settings.block_cap]
    while "block_cap" not in given and caps[-1] > LEAST_BLOCK_CAP:
        caps.append(max(LEAST_BLOCK_CAP, caps[-1] // 2))
    fitted = settings
    for options in options_of(settings.to_json())[1].lighter():
        own = options.to_json()
        for cap in caps:
            lowered = settings.set_cap * cap // settings.block_cap, cap
            for set_cap in (settings.set_cap,) if "set_cap" in given else lowered:
                fitted = replace(settings, block_cap=cap, set_cap=set_cap, options=own)
                if fits(plan(fitted, goals, shape), available):
                    return fitted
    return fitted


def check_disk(plan: Plan, place: Location) -> None:
    """Raise an error if a run does not fit the local file system of its folder.

    Raises
    ------
    InputError
        With the sizes and possible remedies.
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
