"""Parallel calls of functions with a bounded number pending and results in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from dcsvm_dask.errors import DcsvmError
from dcsvm_dask.runtime.failures import tasks_failed

Call = tuple[Callable[..., Any], tuple[Any, ...]]

CALLS_PER_WORKER = 3
"""Pending calls for each worker: one runs, the others wait."""


class Pool(Protocol):
    """A pool that runs calls."""

    width: int
    """Number of calls that run at the same time."""

    def submit(self, number: int, call: Call) -> Any:
        """Begin a call; return an object with ``result()`` and ``cancel()``."""


def results(pool: Pool, calls: Iterable[tuple[Call, Any]]) -> Iterator[tuple[Any, Any]]:
    """Yield the result of every call with the object given beside it, in order.

    Calls are drawn only as results are taken, so that memory stays bounded.
    """
    waiting: deque[tuple[Any, Any]] = deque()
    try:
        for number, (call, beside) in enumerate(calls):
            waiting.append((pool.submit(number, call), beside))
            if len(waiting) >= CALLS_PER_WORKER * pool.width:
                future, beside = waiting.popleft()
                yield future.result(), beside
        while waiting:
            future, beside = waiting.popleft()
            yield future.result(), beside
    finally:
        for future, _ in waiting:
            future.cancel()


class ThreadCalls:
    """Runs calls on threads of this process."""

    def __init__(self, pool: ThreadPoolExecutor, width: int) -> None:
        self._pool = pool
        self.width = width

    def submit(self, number: int, call: Call) -> Any:
        """Begin a call."""
        del number
        function, arguments = call
        return self._pool.submit(function, *arguments)


class ClusterCalls:
    """Runs calls on the workers of a Dask cluster."""

    def __init__(self, client: Any, name: str) -> None:
        from dask.base import tokenize

        self._client = client
        self._name = f"{name}-{tokenize(os.urandom(16))[:12]}"
        self.width = max(1, sum(client.nthreads().values()))

    def submit(self, number: int, call: Call) -> Any:
        """Begin a call."""
        function, arguments = call
        future = self._client.submit(
            function, *arguments, key=f"{self._name}-{number}", pure=False, retries=2
        )
        return _Future(future)


class _Future:
    def __init__(self, future: Any) -> None:
        self._future = future

    def result(self) -> Any:
        try:
            return self._future.result()
        except DcsvmError:
            raise
        except Exception as error:
            raise tasks_failed(error) from error
        finally:
            self._future.release()

    def cancel(self) -> None:
        self._future.cancel()
