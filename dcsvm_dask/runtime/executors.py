"""Executors of graphs, and that of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from dcsvm_dask.errors import DcsvmError
from dcsvm_dask.methods import resources
from dcsvm_dask.methods.graph import COMMIT, Graph, Stage
from dcsvm_dask.methods.probe import resident_bytes
from dcsvm_dask.runtime.announcer import Announcer, Message
from dcsvm_dask.runtime.calls import Pool, ThreadCalls
from dcsvm_dask.runtime.capacity import Share
from dcsvm_dask.runtime.failures import step_failed
from dcsvm_dask.runtime.loop_here import LoopsHere
from dcsvm_dask.runtime.tasks import HERE, listen, perform
from dcsvm_dask.storage.run import RunFolder

WAIT_SECONDS = 0.2


class Executor(Protocol):
    """Runs graphs."""

    description: str
    memory: int | None
    """Bytes that a task and the process around it may use; None: checked before."""

    dashboard: str | None
    """Address of Dask's dashboard, if there is one."""

    def side_by_side(self) -> int:
        """Return the number of tasks that may run at a time."""

    def process_bytes(self) -> int | None:
        """Return the memory of the largest process that runs tasks, as it is now; None: unknown."""

    def report(self, message: Message) -> None:
        """Report a message to the callbacks and on the scheduler."""

    def log(self, message: Message) -> None:
        """Log a message on the scheduler, if there is one."""

    def refuse_blind(self, run_url: str, data_url: str) -> None:
        """Raise an `InputError` if a worker does not see a run or its data."""

    def expect(self, check_room: Callable[[Share], None]) -> None:
        """Set the check of later workers, which raises if they have too little memory."""

    def run(self, run: RunFolder, graph: Graph, check: Callable[[], None]) -> None:
        """Run the stages of a graph that are not committed.

        Parameters
        ----------
        run : RunFolder
        graph : Graph
        check : callable
            Called often; an exception that it raises stops the run.
        """

    def forget(self) -> None:
        """Let go of what loops keep in memory from one stage to the next: the run has ended."""

    def calls(self, name: str) -> AbstractContextManager[Pool]:
        """Open a pool for other calls, whose tasks are named ``dcsvm_<name>``."""


class InProcess:
    """Runs nodes in this process, without distributed: those of a layer on several threads.

    The number of threads is that of `resources.side_by_side`.
    """

    description = "this process"
    memory: int | None = None
    dashboard: str | None = None

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer
        self._threads = resources.side_by_side()
        self._loops = LoopsHere()

    def side_by_side(self) -> int:
        """Return the number of threads."""
        return self._threads

    def process_bytes(self) -> int:
        """Return the memory of this process."""
        return resident_bytes()

    def report(self, message: Message) -> None:
        """Report a message to the callbacks."""
        self._announcer.send(message)
        self._announcer.drain()

    def log(self, message: Message) -> None:
        """Do nothing: there is no scheduler."""

    def refuse_blind(self, run_url: str, data_url: str) -> None:
        """Do nothing: this process has opened the run and its data."""

    def expect(self, check_room: Callable[[Share], None]) -> None:
        """Do nothing: no other process will join."""

    def run(self, run: RunFolder, graph: Graph, check: Callable[[], None]) -> None:
        """Run the layers one after the other.

        Parameters
        ----------
        run : RunFolder
        graph : Graph
        check : callable
            Called at each message; an exception that it raises stops the run.
        """
        url, owner = run.place.url, run.owner

        def send(message: Message) -> None:  # `check` may stop the node
            self._announcer.send(message)
            check()

        def receive(message: Message) -> None:
            self._receive(message)
            check()

        try:
            for stage in graph:
                more = self._reached(run, stage, check) if stage.loop else {}
                for layer in stage.layers:
                    calls = [
                        (
                            url,
                            owner,
                            stage.name,
                            layer.name,
                            node.name,
                            node.step,
                            {**node.arguments, **more},
                        )
                        for node in layer.nodes
                    ]
                    width = min(self._threads, len(calls))
                    if width > 1:
                        listen(send, check)
                        self._run_in_parallel(calls, width)
                        continue
                    listen(receive, check)
                    for call in calls:
                        perform(*call)
        finally:
            listen(None)

    def forget(self) -> None:
        """Let go of the rows of loops."""
        self._loops.forget()

    @contextmanager
    def calls(self, name: str) -> Iterator[Pool]:
        """Open a pool of threads."""
        with ThreadPoolExecutor(self._threads, f"dcsvm_{name}") as threads:
            try:
                yield ThreadCalls(threads, self._threads)
            finally:
                threads.shutdown(wait=True, cancel_futures=True)

    def _reached(self, run: RunFolder, stage: Stage, check: Callable[[], None]) -> dict[str, Any]:
        """Run the loop of a stage; return what its node gets."""

        def report(record: dict[str, Any]) -> None:
            check()
            about = {"run": run.place.url, "stage": stage.name, "node": COMMIT, "worker": HERE}
            self.report({"kind": "set", **about, "number": record["steps"], "record": record})

        check()
        try:
            return {"reached": self._loops.run(run, stage, report)}
        except DcsvmError:
            raise
        except Exception as error:
            raise step_failed(run.place.url, stage.name, "a step", error) from error

    def _run_in_parallel(self, calls: list[tuple[Any, ...]], width: int) -> None:
        """Start nodes on threads in their order; callbacks are called in this thread meanwhile."""

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
                pool.shutdown(wait=False, cancel_futures=True)  # running nodes are waited for
                raise

    def _receive(self, message: Message) -> None:
        """Process a message of the only running node; callbacks are called between nodes."""
        if message["kind"] == "task":
            self.report(message)
        else:
            self._announcer.send(message)


@contextmanager
def in_process(announcer: Announcer) -> Iterator[Executor]:
    """Open an executor in this process, with one BLAS thread as on workers."""
    with threadpool_limits(1):
        yield InProcess(announcer)
