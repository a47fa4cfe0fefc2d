"""One process carrying one run: lock, cluster, method, and the state at the end."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dcsvm_dask.errors import DcsvmError, OutOfTimeError, Terminated
from dcsvm_dask.methods import resources
from dcsvm_dask.methods.graph import Outcome
from dcsvm_dask.methods.plan import Plan
from dcsvm_dask.methods.plan import plan as make_plan
from dcsvm_dask.methods.registry import BEGUN
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.begun_by import BegunBy
from dcsvm_dask.runtime.callbacks import Callback, StopRun
from dcsvm_dask.runtime.capacity import (
    FEWER_THREADS,
    MORE_MEMORY,
    check_disk,
    check_memory,
    memory_of_slots,
)
from dcsvm_dask.runtime.carry import carry
from dcsvm_dask.runtime.cluster.child import refuse_in_child
from dcsvm_dask.runtime.compiled_parts import compiled_for
from dcsvm_dask.runtime.endings import ending_of_error, ending_of_outcome
from dcsvm_dask.runtime.events import THIS_PROCESS
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.executors import Executor
from dcsvm_dask.runtime.failures import disk_full, is_full
from dcsvm_dask.runtime.header import begin_message, read_header
from dcsvm_dask.runtime.journal import Journal
from dcsvm_dask.runtime.opening import check_reach, open_executor
from dcsvm_dask.runtime.plan_file import PlanFile
from dcsvm_dask.runtime.short import here_if_short, threads_here
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.state import write_state
from dcsvm_dask.versions import differing, versions


def available_memory(
    execution: Execution, *places: str, say: Callable[[str], None] = lambda _: None
) -> int | None:
    """Return the bytes that a task and the process around it may use.

    Parameters
    ----------
    execution : Execution
    places : str
        Places that workers must see.
    say : callable, optional
        Called with a sentence if workers are waited for.

    Returns
    -------
    int or None
        None: no limit.

    Raises
    ------
    InputError
        If workers cannot see one of the places, the limit is not a size, no scheduler with workers
        answers, or a cluster cannot be started from its file.
    """
    if execution.is_local and execution.n_workers():
        refuse_in_child()
    check_reach(execution, *places)
    # Dask is imported where there are workers: that takes a second.
    if execution.file is not None:
        from dcsvm_dask.runtime.cluster.kinds import check

        check(execution.file)
    if execution.remote is None:
        return execution.memory()
    from dcsvm_dask.runtime.cluster.connect import connected

    with connected(execution.remote, execution.patience, say) as (_, workers):
        return memory_of_slots(workers)


def check_room(
    execution: Execution,
    plan: Plan,
    place: Location | None,
    memory: int | None,
    *,
    begun: bool = False,
) -> None:
    """Raise an error if a run does not fit the disk or the workers' memory.

    It is called before anything is written.

    Parameters
    ----------
    execution : Execution
    plan : Plan
    place : Location or None
        Folder of the run; None if there is none yet.
    memory : int or None
        The result of `available_memory`.
    begun : bool, default False
        Whether the run has begun, so that its sizes can no longer change.

    Raises
    ------
    InputError
        If either is too small.
    """
    if place is not None:
        check_disk(plan, place)
    if memory is not None:
        setting = MORE_MEMORY if execution.remote is None else "the workers' memory limit"
        if execution.file is not None:
            setting = f"memory in {execution.file.name}"
        threads = execution.side_by_side()
        setting = FEWER_THREADS if threads > 1 else setting
        check_memory(plan, memory, setting, threads, begun=begun)


def carry_run(
    run: RunFolder,
    lock: FolderLock,
    execution: Execution,
    callbacks: Sequence[Callback] = (),
    *,
    checked: Callable[[Executor], RunFolder] | None = None,
) -> None:
    """Run a run whose lock is owned by this process, and write its state at the end.

    Parameters
    ----------
    run : RunFolder
    lock : FolderLock
    execution : Execution
        Short runs whose workers nobody asked for run in this process; see `here_if_short`.
    callbacks : sequence of Callback
    checked : callable, optional
        Called with the executor before any stage runs; returns the run to carry.

    Raises
    ------
    DcsvmError
        If the run fails.
    KeyboardInterrupt
        At Ctrl-C or SIGTERM; the state is written.
    """
    begin = time.time()
    asked = execution
    execution = here_if_short(asked, make_plan(*read_header(run)))
    run = run.owned(lock.ownership)
    announcer = Announcer(run.place.url, [Journal(run), *callbacks])
    write_state(run, "running")
    try:
        begun = BegunBy(run.place.url, run.header["versions"])
        with (
            resources.lent(threads_here(asked, execution), resources.side_by_side()),
            open_executor(
                execution, announcer, compiles=compiled_for(run, execution), run=begun
            ) as executor,
        ):
            ready = time.time()
            try:
                run = run if checked is None else checked(executor)
                outcome = _carry(run, lock, execution, executor, begin)
                ending = ending_of_outcome(run, outcome, "the time budget was used up")
            except BaseException as error:
                _log_end(executor, ending_of_error(run, error))
                raise
            finally:
                executor.forget()
            done = time.time()
            _log_end(executor, ending)
    except StopRun as stop:
        outcome, ending = None, ending_of_error(run, stop)
    except KeyboardInterrupt as error:
        ending = ending_of_error(run, error)
        _leave(run, ending)
        announcer.end(**ending)
        kind = Terminated if isinstance(error, Terminated) else KeyboardInterrupt
        raise kind(
            f"{run.place}: interrupted; continue with `dcsvm resume {shlex.quote(run.place.url)}`"
        ) from error
    except (Exception, SystemExit) as error:
        ending = ending_of_error(run, error)
        _leave(run, ending)
        announcer.end(**ending)
        if is_full(error) and not isinstance(error, DcsvmError):  # whose message says so already
            raise disk_full(run.place.url, str(error)) from error
        raise
    try:
        if outcome is None:
            write_state(run, ending["state"], ending["message"])
        else:
            write_state(
                run,
                ending["state"],
                ending["message"],
                converged=outcome.converged,
                stage=outcome.stage,
                start_seconds=ready - begin,
                run_seconds=done - ready,
            )
    except OSError as error:
        ending = ending_of_error(run, error)
        if is_full(error):
            raise disk_full(run.place.url, str(error)) from error
        raise
    finally:
        announcer.end(**ending)


def _leave(run: RunFolder, ending: dict[str, Any]) -> None:
    """Write the state of an unfinished run, if possible."""
    # Writing fails on a full disk, and must fail for a run that another process owns.
    with contextlib.suppress(OSError, DcsvmError):
        write_state(run, ending["state"], ending["message"])


def _carry(
    run: RunFolder, lock: FolderLock, execution: Execution, executor: Executor, begin: float
) -> Outcome | None:
    """Run a run on an executor; return None if the time budget ended it."""
    settings, goals, shape = read_header(run)
    deadline = None if execution.time_budget is None else begin + execution.time_budget
    planned, begun = make_plan(settings, goals, shape), bool(run.stages())

    def refuse_small(memory: int) -> None:
        check_memory(planned, memory, "the workers' memory limit", begun=begun)

    if executor.memory is not None:
        refuse_small(executor.memory)
        executor.expect(refuse_small)
    executor.refuse_blind(run.place.url, run.header["data"]["url"])
    memory = executor.memory
    if memory is None and execution.remote is None:
        memory = execution.memory() // execution.side_by_side()
    workers = executor.side_by_side()
    executor.report(begin_message(run, executor, workers, memory))
    other = differing(run.header["versions"], versions()) if execution.is_local else {}
    if other:
        executor.report({"kind": "versions", "worker": THIS_PROCESS, "differing": other})

    def check() -> None:
        lock.check_heartbeat()
        if deadline is not None and time.time() > deadline:
            raise OutOfTimeError

    begin_method = BEGUN[settings.method].run
    return carry(
        run,
        lambda: begin_method(settings, replace(goals, early=deadline is not None), shape),
        executor,
        check,
        PlanFile(
            run,
            (settings, goals, shape),
            workers,
            memory,
            executor.report,
            threads=workers if execution.is_local else 1,
            at_a_time=workers if execution.is_local and not execution.n_workers() else 1,
            # Workers elsewhere may come and go while they are asked.
            process_bytes=executor.process_bytes() if execution.is_local else None,
        ),
    )


def _log_end(executor: Executor, ending: dict[str, Any]) -> None:
    """Log the end of the run for the scheduler's dashboard; callbacks are called later."""
    with contextlib.suppress(Exception):  # the scheduler may be gone; the run is not
        executor.log({"kind": "end", **ending})
