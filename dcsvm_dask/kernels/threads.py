"""Independent pieces of work side by side: compiled work lets go of Python's lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, TypeVar

Item = TypeVar("Item")
_NOTHING = object()
_here = threading.local()


def for_each(
    work: Callable[[Item], object],
    items: Iterable[Item],
    threads: int,
    *,
    most: int | None = None,
    after: float = 0.0,
    pool: Executor | None = None,
) -> None:
    """Call `work` on every item, on so many threads; what it raises is raised here.

    Threads that find no item left help those that still have one: where `work` calls this function
    in turn, they take some of its items.

    Parameters
    ----------
    work : callable
    items : iterable
    threads : int
        This one among them.
    most : int, optional
        Items that may be worked on at a time; by default as many as there are threads. Where it is
        1, calls from within `work` may have the threads themselves.
    after : float, default 0.0
        Seconds after which other threads than this one join in, looked at between two items. Many
        pieces that take less than that together are done sooner by one.
    pool : Executor, optional
        One of `threads` - 1 threads, which stay; by default threads are started and ended.
    """
    items = list(items)
    most = min(threads, len(items), threads if most is None else most)
    left, threads = iter(items), threads if 1 < most < threads else most
    begun = perf_counter()
    if threads > 1 and after > 0.0:
        for item in left:
            work(item)
            if perf_counter() - begun >= after:
                break
        else:
            return
    outer: _Crew | None = getattr(_here, "crew", None)
    if len(items) <= 1 or (threads <= 1 and outer is None):
        for item in left:
            work(item)
        return
    crew = _Crew() if outer is None else outer
    job = _Job(work, left, most if outer is None else len(items))
    take_part = crew.serve if outer is None else crew.take_part
    with _helpers(threads - 1) if pool is None else nullcontext(pool) as helpers:
        crew.begin(job)
        others = [helpers.submit(take_part, job) for _ in range(threads - 1)]
        try:
            take_part(job)
            crew.await_end(job)
        finally:
            crew.end(job, for_good=outer is None)
            wait([other for other in others if not other.cancel()])
    if job.error is not None:
        raise job.error


def _helpers(threads: int) -> AbstractContextManager[Any]:
    return ThreadPoolExecutor(threads) if threads > 0 else nullcontext()


class _Job:
    """The items of one call, and the threads that take some.

    Attributes
    ----------
    most : int
        Threads that may take part at a time.
    inside : int
        Those that do now.
    is_open : bool
        Whether there may be items that nobody has taken.
    error : BaseException or None
        What was raised first.
    """

    def __init__(self, work: Callable[[Any], object], left: Iterator[Any], most: int) -> None:
        self.work, self.left, self.most = work, left, most
        self.inside = 0
        self.is_open = True
        self.error: BaseException | None = None

    @property
    def is_over(self) -> bool:
        return not self.is_open and self.inside == 0


class _Crew:
    """Threads that work on the items of one call, and on those of the calls from within it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: list[_Job] = []
        self._is_over = False

    def begin(self, job: _Job) -> None:
        """Let threads that have nothing else to do take items of a call."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()

    def end(self, job: _Job, *, for_good: bool) -> None:
        """Let nobody take a further item, or wait for any; `for_good`: of any call."""
        with self._changed:
            self._close(job)
            self._is_over = self._is_over or for_good
            self._changed.notify_all()

    def await_end(self, job: _Job) -> None:
        """Return when nobody is at an item of it any more."""
        with self._changed:
            while not (job.is_over or self._is_over):
                self._changed.wait()

    def serve(self, first: _Job) -> None:
        """Take items of a call, else of those from within it, until it is over."""
        while (job := self._enter_any(first)) is not None:
            self._work_on(job)

    def take_part(self, job: _Job) -> None:
        """Take items of a call until none is left."""
        with self._changed:
            job.inside += 1
        self._work_on(job)

    def _enter_any(self, first: _Job) -> _Job | None:
        with self._changed:
            while not (first.is_over or self._is_over):
                for job in self._jobs:
                    if job.inside < job.most:
                        job.inside += 1
                        return job
                self._changed.wait()
        return None

    def _work_on(self, job: _Job) -> None:
        before = getattr(_here, "crew", None)
        _here.crew = self
        try:
            while (item := self._next(job)) is not _NOTHING:
                job.work(item)
        except BaseException as error:  # noqa: BLE001 - raised where the call came from
            with self._changed:
                self._close(job)
                if job.error is None:
                    job.error = error
        finally:
            _here.crew = before
            with self._changed:
                job.inside -= 1
                self._changed.notify_all()

    def _next(self, job: _Job) -> Any:
        with self._changed:
            item = next(job.left, _NOTHING) if job.is_open else _NOTHING
            if item is _NOTHING:
                self._close(job)
            return item

    def _close(self, job: _Job) -> None:
        if job.is_open:
            job.is_open = False
            self._jobs.remove(job)
            self._changed.notify_all()
