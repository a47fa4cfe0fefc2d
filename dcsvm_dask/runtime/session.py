"""One process carrying one run: lock, cluster, method, and the state that it leaves."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from dcsvm_dask.errors import DcsvmError, InputError
from dcsvm_dask.graphs.dcsvm import Goals, Shape, dcsvm
from dcsvm_dask.graphs.plan import Plan
from dcsvm_dask.graphs.plan import plan as make_plan
from dcsvm_dask.runtime.capacity import MORE_MEMORY, check_disk, check_memory
from dcsvm_dask.runtime.carry import carry
from dcsvm_dask.runtime.cluster_file import LOCAL, ClusterFile
from dcsvm_dask.runtime.cluster_kinds import check, settings
from dcsvm_dask.runtime.cluster_start import started_cluster
from dcsvm_dask.runtime.clusters import (
    connected,
    local_cluster,
    memory_of_slots,
    refuse_in_child,
    remote_cluster,
)
from dcsvm_dask.runtime.compilation import warm_up
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.executors import Executor, in_process
from dcsvm_dask.runtime.failures import disk_full, is_full
from dcsvm_dask.runtime.foretelling import Foretelling
from dcsvm_dask.runtime.reporter import Reporter
from dcsvm_dask.runtime.tasks import Event, Send
from dcsvm_dask.steps.choice import reached_model
from dcsvm_dask.steps.settings import Settings
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.run import RunFolder


def available_memory(execution: Execution, *places: str) -> int | None:
    """Return the bytes that a task and the process around it may use; None: no limit.

    Raises
    ------
    InputError
        If workers cannot see one of the places, the limit is no size, no scheduler with workers
        answers, or nothing can be started from a cluster file.
    """
    if execution.is_local and execution.n_workers():
        refuse_in_child()
    check_reach(execution, *places)
    if execution.file is not None:
        check(execution.file)
    if execution.scheduler is None:
        return execution.memory()
    with connected(execution.scheduler) as client:
        return memory_of_slots(client.scheduler_info(n_workers=-1)["workers"])


def check_room(execution: Execution, plan: Plan, place: Location, memory: int | None) -> None:
    """Refuse what the disk or the workers' memory cannot hold, before anything is written.

    Parameters
    ----------
    memory : int or None
        What `available_memory` returned.

    Raises
    ------
    InputError
        If either is too small.
    """
    check_disk(plan, place)
    if memory is not None:
        setting = MORE_MEMORY if execution.scheduler is None else "the workers' memory limit"
        if execution.file is not None:
            setting = f"memory in {execution.file.name}"
        check_memory(plan, memory, setting)


def carry_run(
    run: RunFolder, lock: FolderLock, execution: Execution, report: Reporter | None
) -> None:
    """Carry a run whose lock is held to its end, and leave its state."""
    settings, goals, shape = read_header(run)
    begin = time.time()
    deadline = None if execution.time_budget is None else begin + execution.time_budget
    _leave(run, "running")
    try:
        with open_executor(execution, report) as executor:
            if executor.memory is not None:
                check_memory(
                    make_plan(settings, goals, shape), executor.memory, "the workers' memory limit"
                )
            blind = executor.blind(run.place.url, run.header["data"]["url"])
            if blind:
                raise InputError(
                    f"worker {blind}; put the run and its data where every worker sees them"
                )
            ready = time.time()
            if report is not None:
                report.say(f"running on {executor.description}")
            memory = executor.memory
            if memory is None and execution.scheduler is None:
                memory = execution.memory()
            workers, send = executor.side_by_side(), _ignore if report is None else report
            foretelling = Foretelling(run, (settings, goals, shape), workers, memory, send)
            outcome = carry(
                run,
                lambda: dcsvm(settings, goals, shape, early=deadline is not None),
                executor,
                deadline,
                lock.check,
                foretelling,
            )
            done = time.time()
    except KeyboardInterrupt as error:
        _leave(run, "interrupted", "stopped from the keyboard")
        raise KeyboardInterrupt(
            f"{run.place}: interrupted; go on by `dcsvm resume {run.place}`"
        ) from error
    except Exception as error:
        told: Exception = error
        if is_full(error) and not isinstance(error, DcsvmError):  # which has told it already
            told = disk_full(run.place.url, str(error))
        with contextlib.suppress(OSError):  # on a full disk nothing can be left
            _leave(run, "failed", str(told) or type(told).__name__)
        if told is error:
            raise
        raise told from error
    if outcome is None:
        reached = reached_model(run)
        left = f"{reached} is the model" if reached else "no level is committed yet"
        _leave(run, "interrupted", f"the time budget was used up; {left}")
    else:
        times = {"start_seconds": ready - begin, "run_seconds": done - ready}
        _leave(run, "complete", converged=outcome.converged, stage=outcome.stage, times=times)


def read_header(run: RunFolder) -> tuple[Settings, Goals, Shape]:
    """Return what a run was begun with.

    Raises
    ------
    InputError
        If its run.json lacks any of it.
    """
    try:
        goals, shape = Goals(**run.header["goals"]), Shape(**run.header["shape"])
    except (KeyError, TypeError) as error:
        raise InputError(f"{run.place}: run.json is damaged: {error}") from error
    whole = (goals.stop_at, goals.max_rounds, shape.n_rows, shape.n_variables, shape.n_bytes)
    if any(type(value) is not int for value in whole) or type(shape.holdout) is not bool:
        raise InputError(f"{run.place}: run.json is damaged: {goals}, {shape}")
    return Settings.from_json(run.header["settings"]), goals, shape


@contextmanager
def open_executor(execution: Execution, report: Reporter | None) -> Iterator[Executor]:
    """Open what the execution asks for."""
    send: Send = _ignore if report is None else report
    if execution.scheduler is not None:
        if report is not None:
            report.say("preparing the workers, which compile at their first run")
        with remote_cluster(execution.scheduler, send) as executor:
            yield executor
        return
    if execution.file is not None and not execution.is_local:
        with started_cluster(execution.file, send, report, execution.time_budget) as executor:
            yield executor
        return
    if report is not None:
        report.say("compiling, or loading what was compiled before")
    warm_up()
    workers = execution.n_workers()
    how = settings(execution.file or ClusterFile("", LOCAL))
    memory = execution.memory()
    opened = local_cluster(workers, memory, send, how) if workers else in_process(send)
    with opened as executor:
        yield executor


def check_reach(execution: Execution, *places: str) -> None:
    """Refuse places that workers cannot see.

    Raises
    ------
    InputError
        If one lives in this process's memory and other processes would use it.
    """
    if execution.is_local and execution.n_workers() == 0:
        return
    for place in places:
        if Location(place).is_process_local:
            raise InputError(
                f"{place}: only this process sees memory://; use workers=0 (--workers 0), "
                "or a folder or an object store"
            )


def _ignore(event: Event) -> None:
    del event


def _leave(
    run: RunFolder,
    state: str,
    message: str = "",
    converged: bool = False,
    stage: str = "",
    times: Mapping[str, float] = MappingProxyType({}),
) -> None:
    (run.place / "state.json").write_json(
        {
            "state": state,
            "message": message,
            "converged": converged,
            "stage": stage,
            "time": time.time(),
            **times,
        }
    )
