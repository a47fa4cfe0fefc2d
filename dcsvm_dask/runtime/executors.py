"""Who runs a graph: this process, or the workers of a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from typing import Any, Protocol, cast

from threadpoolctl import threadpool_limits

from dcsvm_dask.errors import DcsvmError, InputError, RunError
from dcsvm_dask.methods import resources
from dcsvm_dask.methods.graph import Graph
from dcsvm_dask.runtime.announcer import Announcer, Message
from dcsvm_dask.runtime.calls import ClusterCalls, Pool, ThreadCalls
from dcsvm_dask.runtime.capacity import Share, memory_of_slots
from dcsvm_dask.runtime.failures import tasks_failed
from dcsvm_dask.runtime.placement import workers_of
from dcsvm_dask.runtime.tasks import listen, perform, submit, to_dask
from dcsvm_dask.runtime.topic import log_event
from dcsvm_dask.runtime.watching import WorkerWatch
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.run import RunFolder

WAIT_SECONDS = 0.2
LOOK_SECONDS = 5.0
"""How often it is looked whether there are workers, and which of them are silent."""


class Executor(Protocol):
    """Runs graphs."""

    description: str
    memory: int | None
    """Bytes that a task and the process around it may use; None: checked before."""

    dashboard: str | None
    """Address of Dask's dashboard, if there is one."""

    def side_by_side(self) -> int:
        """Return how many tasks may run at a time."""

    def tell(self, message: Message) -> None:
        """Tell a message to all who follow the run, here and on the scheduler."""

    def log(self, message: Message) -> None:
        """Tell a message on the scheduler alone, where there is one."""

    def refuse_blind(self, run_url: str, data_url: str) -> None:
        """Raise an `InputError` where a worker does not see a run or its data."""

    def expect(self, check_room: Callable[[Share], None]) -> None:
        """Set what raises where a worker that comes later has too little memory for the run."""

    def run(self, run: RunFolder, graph: Graph, check: Callable[[], None]) -> None:
        """Run what is not committed of a graph, until `check`, which is asked often, raises."""

    def calls(self, name: str) -> AbstractContextManager[Pool]:
        """Open a pool, where nodes run, for calls that are none; `name` begins their tasks'."""


class InProcess:
    """Runs nodes in this process, without distributed: those of a layer on several threads.

    Threads are as many as `resources.side_by_side` says.
    """

    description = "this process"
    memory: int | None = None
    dashboard: str | None = None

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer
        self._threads = resources.side_by_side()

    def side_by_side(self) -> int:
        """Return the number of threads."""
        return self._threads

    def tell(self, message: Message) -> None:
        """Tell a message here."""
        self._announcer.send(message)
        self._announcer.drain()

    def log(self, message: Message) -> None:
        """Tell nobody."""

    def refuse_blind(self, run_url: str, data_url: str) -> None:
        """Do nothing: this process has opened both."""

    def expect(self, check_room: Callable[[Share], None]) -> None:
        """Do nothing: this process stays alone."""

    def run(self, run: RunFolder, graph: Graph, check: Callable[[], None]) -> None:
        """Run the layers one after the other."""
        url, owner = run.place.url, run.owner

        def send(message: Message) -> None:  # a node that reports stops where it must
            self._announcer.send(message)
            check()

        def hear(message: Message) -> None:
            self._hear(message)
            check()

        try:
            for stage in graph:
                for layer in stage.layers:
                    calls = [
                        (url, owner, stage.name, layer.name, node.name, node.step, node.arguments)
                        for node in layer.nodes
                    ]
                    width = min(self._threads, len(calls))
                    if width > 1:
                        listen(send, check)
                        self._beside_each_other(calls, width)
                        continue
                    listen(hear, check)
                    for call in calls:
                        perform(*call)
        finally:
            listen(None)

    @contextmanager
    def calls(self, name: str) -> Iterator[Pool]:
        """Open a pool of threads."""
        with ThreadPoolExecutor(self._threads, f"dcsvm_{name}") as threads:
            try:
                yield ThreadCalls(threads, self._threads)
            finally:
                threads.shutdown(wait=True, cancel_futures=True)

    def _beside_each_other(self, calls: list[tuple[Any, ...]], width: int) -> None:
        """Run nodes on threads, in their order; callbacks are called here meanwhile."""

        def one(call: tuple[Any, ...]) -> None:
            resources.share(width)
            perform(*call)

        with ThreadPoolExecutor(width) as pool:
            left = {pool.submit(copy_context().run, one, call) for call in calls}
            try:
                while left:
                    done, left = wait(left, return_when=FIRST_COMPLETED, timeout=WAIT_SECONDS)
                    for node in done:
                        node.result()
                    self._announcer.drain()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # those that run are waited for
                raise

    def _hear(self, message: Message) -> None:
        """Take a message of the only node; callbacks are called between nodes, not inside."""
        if message["kind"] == "task":
            self.tell(message)
        else:
            self._announcer.send(message)


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

    def side_by_side(self) -> int:
        """Return the threads of the workers that there are now."""
        return max(1, sum(int(about["nthreads"]) for about in workers_of(self._client).values()))

    def tell(self, message: Message) -> None:
        """Tell a message here and on the scheduler, whose dashboard may show it."""
        self.log(message)
        self._announcer.send(message)
        self._announcer.drain()

    def log(self, message: Message) -> None:
        """Tell a message on the scheduler alone; one that is gone is not waited for."""
        if self._client.status != "running":
            return
        message = {"run": self._announcer.run, "time": time.time(), **message}
        log_event(self._client, message)

    def refuse_blind(self, run_url: str, data_url: str) -> None:
        """Ask every worker that there is now, or the next one that comes."""
        workers = list(workers_of(self._client))
        if workers:
            found = self._client.run(complaint, run_url, data_url, workers=workers)
        else:
            asked = self._client.submit(named_complaint, run_url, data_url, pure=False)
            error = self._wait(asked, lambda: None)
            if error is not None:
                raise tasks_failed(error) from error
            found = asked.result()
        for worker, said in sorted(found.items()):
            if said:
                what_to_do = "put the run and its data where every worker sees them"
                raise InputError(f"worker {worker}: {said}; {what_to_do}")

    def expect(self, check_room: Callable[[Share], None]) -> None:
        """Tell of workers that come later and have too little memory; those there are checked."""
        self._check_room, self._known = check_room, set(workers_of(self._client))

    def _look_at_new(self, workers: dict[str, dict[str, Any]]) -> None:
        """Tell of workers that have come since the last look and are too small."""
        for address in workers.keys() - self._known:
            self._known.add(address)
            share = memory_of_slots({address: workers[address]})
            try:
                if share is not None and self._check_room is not None:
                    self._check_room(share)
            except InputError as error:
                self.tell({"kind": "said", "text": f"warning: {error}", "doing": False})

    def run(self, run: RunFolder, graph: Graph, check: Callable[[], None]) -> None:
        """Submit a graph and wait for its last commit."""
        dask_graph, last = to_dask(run.place.url, run.digest, graph, run.owner)
        future = submit(self._client, dask_graph, last)
        try:
            error = self._wait(future, check)
        except CancelledError as lost:
            raise RunError(
                f"the Dask scheduler of {self.description} is gone or has dropped the run's tasks; "
                "what was committed stays: resume the run"
            ) from lost
        finally:
            # Also when it is done: what Dask does again because a lost worker had its result is not
            # needed any more.
            self._client.cancel([future], force=True)
        self._announcer.drain()
        if isinstance(error, InputError):  # of a worker, perhaps, that has come since the start
            self.refuse_blind(run.place.url, run.header["data"]["url"])
        if isinstance(error, DcsvmError):
            raise error
        if error is not None:
            last = getattr(error, "last_worker", None)
            why = "" if last is None else self._watch.why(last.address)
            raise tasks_failed(error, why) from error

    @contextmanager
    def calls(self, name: str) -> Iterator[Pool]:
        """Open a pool of the workers."""
        yield ClusterCalls(self._client, f"dcsvm_{name}")

    def _wait(self, future: Any, check: Callable[[], None]) -> BaseException | None:
        """Wait for a future; return the exception that it ended with."""
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
                check()
            if time.monotonic() > look:
                look = time.monotonic() + LOOK_SECONDS
                workers = workers_of(self._client)
                for message in self._watch.look(workers):
                    self.tell(message)
                self._look_at_new(workers)
                alone = not workers
                if alone and not waiting:
                    self.tell({"kind": "no_workers", "where": self.description})
                waiting = alone


@contextmanager
def in_process(announcer: Announcer) -> Iterator[Executor]:
    """Open an executor inside this process; BLAS gets one thread, as on workers."""
    with threadpool_limits(1):
        yield InProcess(announcer)


def complaint(run_url: str, data_url: str) -> str:
    """Return why this process cannot open a run or its data; empty if it can."""
    try:
        RunFolder.open(run_url)
        DataSet.open(data_url)
    except InputError as error:
        return str(error)
    return ""


def named_complaint(run_url: str, data_url: str) -> dict[str, str]:
    """Return what `complaint` says on the worker that this task runs on, by its address."""
    from distributed import get_worker

    return {get_worker().address: complaint(run_url, data_url)}
