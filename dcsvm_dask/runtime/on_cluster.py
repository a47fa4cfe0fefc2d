"""The executor of graphs on the workers of a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import groupby
from typing import Any, cast

from dcsvm_dask.errors import DcsvmError, InfeasibleError, InputError, RunError
from dcsvm_dask.methods.graph import COMMIT, Graph, Stage
from dcsvm_dask.methods.probe import resident_bytes
from dcsvm_dask.runtime.announcer import Announcer, Message
from dcsvm_dask.runtime.calls import ClusterCalls, Pool
from dcsvm_dask.runtime.capacity import Share, memory_of_slots
from dcsvm_dask.runtime.executors import WAIT_SECONDS
from dcsvm_dask.runtime.failures import is_of_step, step_failed, tasks_failed
from dcsvm_dask.runtime.loop_on_cluster import LoopsOnCluster
from dcsvm_dask.runtime.placement import workers_of
from dcsvm_dask.runtime.submitting import submit, to_dask
from dcsvm_dask.runtime.topic import log_event
from dcsvm_dask.runtime.watching import WorkerWatch
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.run import RunFolder

LOOK_SECONDS = 5.0
"""Seconds between two checks for lost and silent workers."""


class OnCluster:
    """Runs nodes on the workers of a Dask cluster."""

    def __init__(
        self,
        client: Any,
        announcer: Announcer,
        description: str,
        memory: int | None,
        watch: WorkerWatch,
    ) -> None:
        self._watch = watch
        self._check_room: Callable[[Share], None] | None = None
        self._known: set[str] = set()
        self._client = client
        self._announcer = announcer
        self.description = description
        self.memory = memory
        self.dashboard: str | None = client.dashboard_link
        self._check: Callable[[], None] = lambda: None
        self._loops = LoopsOnCluster(client, lambda future: self._result(future, self._check))

    def side_by_side(self) -> int:
        """Return the number of threads of the present workers."""
        return max(1, sum(int(about["nthreads"]) for about in workers_of(self._client).values()))

    def process_bytes(self) -> int | None:
        """Return the memory of the largest of the present workers.

        They are asked: what the scheduler has from them is of the time before they opened a run.
        """
        workers = list(workers_of(self._client))
        if not workers:
            return None
        found = self._client.run(resident_bytes, workers=workers, on_error="ignore")
        return max(found.values(), default=None)

    def report(self, message: Message) -> None:
        """Report a message to the callbacks and on the scheduler, whose dashboard may show it."""
        self.log(message)
        self._announcer.send(message)
        self._announcer.drain()

    def log(self, message: Message) -> None:
        """Log a message on the scheduler, unless it is gone."""
        if self._client.status != "running":
            return
        message = {"run": self._announcer.run, "time": time.time(), **message}
        log_event(self._client, message)

    def refuse_blind(self, run_url: str, data_url: str) -> None:
        """Raise an `InputError` if a worker does not see both the run and the data.

        All present workers are asked; without any, the next one.
        """
        workers = list(workers_of(self._client))
        if workers:
            found = self._client.run(complaint, run_url, data_url, workers=workers)
        else:
            future = self._client.submit(named_complaint, run_url, data_url, pure=False)
            error = self._wait(future, lambda: None)
            if error is not None:
                raise tasks_failed(error) from error
            found = future.result()
        for worker, problem in sorted(found.items()):
            if problem:
                what_to_do = "put the run and its data where every worker sees them"
                raise InputError(f"worker {worker}: {problem}; {what_to_do}")

    def expect(self, check_room: Callable[[Share], None]) -> None:
        """Set the check of workers that come later; the present ones are not checked."""
        self._check_room, self._known = check_room, set(workers_of(self._client))

    def _look_at_new(self, workers: dict[str, dict[str, Any]]) -> None:
        """Report new workers whose memory is too small."""
        for address in workers.keys() - self._known:
            self._known.add(address)
            share = memory_of_slots({address: workers[address]})
            try:
                if share is not None and self._check_room is not None:
                    self._check_room(share)
            except InputError as error:
                self.report({"kind": "notice", "text": f"warning: {error}", "doing": False})

    def run(self, run: RunFolder, graph: Graph, check: Callable[[], None]) -> None:
        """Submit a graph and wait for its last commit.

        Parameters
        ----------
        run : RunFolder
        graph : Graph
        check : callable
            Called often; an exception that it raises cancels the graph.

        Raises
        ------
        DcsvmError
            If a step fails, or the scheduler is gone.
        """
        self._run, self._check = run, check
        try:
            self._carry(run, graph, check)
        except DcsvmError:
            raise
        except Exception as error:  # whatever was asked of it in the meantime
            if self._client.status == "closed":
                raise self._gone() from error
            raise

    def _carry(self, run: RunFolder, graph: Graph, check: Callable[[], None]) -> None:
        for loops, stages in groupby(graph, key=lambda stage: stage.loop is not None):
            if loops:
                for stage in stages:
                    self._run_loop(run, stage)
                continue
            dask_graph, last = to_dask(run.place.url, run.digest, list(stages), run.owner)
            future = submit(self._client, dask_graph, last)
            try:
                self._result(future, check)
            finally:
                # Also after success: Dask would run tasks again whose results a lost worker had.
                self._client.cancel([future], force=True)
        self._announcer.drain()

    def _run_loop(self, run: RunFolder, stage: Stage) -> None:
        def report(record: dict[str, Any]) -> None:
            about = {"stage": stage.name, "node": COMMIT, "worker": self.description}
            self.report({"kind": "set", **about, "number": record["steps"], "record": record})

        try:
            self._loops.run(run, stage, self.side_by_side(), report)
        except RunError as error:
            # The functions of a loop do not name the stage, as the step of a node does.
            cause = error.__cause__
            if isinstance(cause, Exception) and is_of_step(cause):
                raise step_failed(run.place.url, stage.name, "a step", cause) from cause
            raise

    def _result(self, future: Any, check: Callable[[], None]) -> Any:
        """Wait for a future; return its result.

        Raises
        ------
        DcsvmError
            If its task fails, or the scheduler is gone.
        """
        run = self._run
        try:
            error = self._wait(future, check)
        except CancelledError as lost:
            raise self._gone() from lost
        if error is None:
            found = future.result()
            if isinstance(found, InfeasibleError):
                raise found
            return found
        self._announcer.drain()
        if isinstance(error, InputError):  # perhaps of a worker that came after the check
            self.refuse_blind(run.place.url, run.header["data"]["url"])
        if isinstance(error, DcsvmError):
            raise error
        last = getattr(error, "last_worker", None)
        why = "" if last is None else self._watch.why(last.address)
        raise tasks_failed(error, why) from error

    def _gone(self) -> RunError:
        closed = self._client.status == "closed"
        what = "the client" if closed else f"the Dask scheduler of {self.description}"
        how = "was closed" if closed else "is gone or has dropped the run's tasks"
        place = "with another client" if closed else "on the scheduler that takes its place"
        return RunError(
            f"{what} {how}; what was committed stays: resume the run {place} (--scheduler, or "
            "client=)"
        )

    def forget(self) -> None:
        """Let go of the rows of loops."""
        self._loops.forget()

    @contextmanager
    def calls(self, name: str) -> Iterator[Pool]:
        """Open a pool of the workers."""
        yield ClusterCalls(self._client, f"dcsvm_{name}")

    def _wait(self, future: Any, check: Callable[[], None]) -> BaseException | None:
        """Wait for a future; return its exception, or None."""
        look, waiting = time.monotonic() + LOOK_SECONDS, False
        while True:
            try:
                # Not `distributed.wait`, which waits on the default client.
                error = future.exception(timeout=WAIT_SECONDS)
                if future.cancelled():
                    raise CancelledError([future.key])
                return cast("BaseException | None", error)
            except TimeoutError:
                self._announcer.drain()
                if self._announcer.refused is not None:  # other tasks may take long
                    raise InfeasibleError(self._announcer.refused) from None
                check()
            if time.monotonic() > look:
                look = time.monotonic() + LOOK_SECONDS
                workers = workers_of(self._client)
                for message in self._watch.look(workers):
                    self.report(message)
                self._look_at_new(workers)
                none_left = not workers
                if none_left and not waiting:
                    self.report({"kind": "no_workers", "where": self.description})
                waiting = none_left


def complaint(run_url: str, data_url: str) -> str:
    """Return the reason why this process cannot open a run or its data; empty if it can."""
    try:
        RunFolder.open(run_url)
        DataSet.open(data_url)
    except InputError as error:
        return str(error)
    return ""


def named_complaint(run_url: str, data_url: str) -> dict[str, str]:
    """Return the result of `complaint` by the address of this worker."""
    from distributed import get_worker

    return {get_worker().address: complaint(run_url, data_url)}
