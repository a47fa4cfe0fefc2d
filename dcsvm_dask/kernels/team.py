"""Large pieces of work side by side: threads that have none help with the small ones within.

An interrupt may come at any moment: locks are those of C, which `with` takes and gives back without
Python code in between, and threads that wait look again and again, also at whether all is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from dcsvm_dask.kernels.helpers import Ending, Helpers

Item = TypeVar("Item")
WAITING = 0.0005
"""Seconds after which one of the threads that have nothing to do looks again."""
_NOTHING = object()
_here = threading.local()


class Ended(BaseException):
    """Raised in threads whose results nobody waits for any more."""


def current() -> Team | None:
    """Return the threads that help this one; None without any."""
    return getattr(_here, "team", None)


@contextmanager
def working_for(ending: Ending) -> Iterator[None]:
    """Let `end_if_given_up` look at how a call ends, in this thread."""
    before, _here.ending = getattr(_here, "ending", None), ending
    try:
        yield
    finally:
        _here.ending = before


def end_if_given_up() -> None:
    """Raise `Ended` where nobody waits for the results of this thread any more.

    Long work calls it now and then, so that an interrupt need not wait for the other threads.
    """
    team, ending = current(), getattr(_here, "ending", None)
    if (team is not None and team.is_over) or (ending is not None and ending.is_given_up):
        raise Ended


def for_each_large(
    work: Callable[[Item], object], items: Iterable[Item], threads: int, most: int
) -> None:
    """Call `work` on every item, on so many threads; what it raises is raised here.

    Threads without an item of their own take some of those of `for_each`, where `work` calls it
    with one thread.

    Parameters
    ----------
    work : callable
    items : iterable
    threads : int
        This one among them.
    most : int
        Items that may be worked on at a time, as for their memory. With 1 this thread works alone,
        and calls from within `work` may have the threads.
    """
    items = list(items)
    most = min(most, threads, len(items))
    if most <= 1:
        for item in items:
            work(item)
        return
    team, job = Team(threads), Job(work, iter(items), most)
    team.jobs.append(job)
    helpers = Helpers()
    try:
        for _ in range(threads - 1):
            helpers.start(lambda: team.serve(job))
        team.serve(job)
    finally:
        job.is_open, team.is_over = False, True
        helpers.wait()
    if job.error is not None:
        raise job.error


class Job:
    """The items of one call, of which several threads take some.

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
        self.turn = threading.Lock()
        self.inside, self.is_open = 0, True
        self.error: BaseException | None = None

    def next(self) -> Any:
        """Return an item that nobody has taken; `_NOTHING` after the last one."""
        with self.turn:
            item = next(self.left, _NOTHING) if self.is_open else _NOTHING
            if item is _NOTHING:  # else it stays as it is: another thread may have closed it
                self.is_open = False
            return item


class Team:
    """A team of threads, as OpenMP's: they work on the items of one call, and of calls from within.

    Attributes
    ----------
    jobs : list of Job
        Of all calls that have not returned, the outermost first.
    is_over : bool
        Whether the outermost call ends.
    """

    def __init__(self, threads: int) -> None:
        self.jobs: list[Job] = []
        self.is_over = False
        self._waiting = WAITING * threads

    def serve(self, first: Job) -> None:
        """Take items of any call, the outermost first, until that one has none."""
        while not self.is_over and (first.is_open or first.inside):
            if not any(self.take_part(job) for job in list(self.jobs)):
                time.sleep(self._waiting)

    def share(self, work: Callable[[Any], object], items: list[Any]) -> None:
        """Call `work` on every item of a call from within, with whoever has nothing to do."""
        job = Job(work, iter(items), len(items))
        self.jobs.append(job)
        try:
            self.take_part(job)
            while job.inside and not self.is_over:
                time.sleep(WAITING)
        finally:
            job.is_open = False
            self.jobs.remove(job)
        if job.error is not None:
            raise job.error
        if self.is_over:  # some items may be left
            raise Ended

    def take_part(self, job: Job) -> bool:
        """Take items of a call until none is left; return whether there was one.

        What an item raises is raised by the call that it belongs to, and what is no error, as an
        interrupt, here as well.
        """
        with job.turn:
            if not job.is_open or job.inside >= job.most:
                return False
            job.inside += 1
        before, _here.team, took = current(), self, False
        try:
            while (item := job.next()) is not _NOTHING:
                took = True
                job.work(item)
                if self.is_over:
                    raise Ended
        except BaseException as error:
            job.is_open, job.error = False, job.error or error
            if not isinstance(error, Exception):
                raise
        finally:
            _here.team = before
            with job.turn:
                job.inside -= 1
        return took
