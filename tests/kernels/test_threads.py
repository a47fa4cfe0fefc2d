"""Pieces of work side by side: each is done once, and what one raises is raised."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from dcsvm_dask.kernels.team import Ended, end_if_given_up
from dcsvm_dask.kernels.threads import for_each


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("after", [0.0, 0.01])
@pytest.mark.parametrize("count", [0, 1, 3, 400])
def test_each_is_done_once(threads: int, after: float, count: int) -> None:
    done: list[int] = []
    for_each(done.append, range(count), threads, after=after)
    assert sorted(done) == list(range(count))


def test_others_join_in_when_it_takes_longer() -> None:
    here = threading.get_ident()
    seen: set[int] = set()

    def work(_: int) -> None:
        seen.add(threading.get_ident())
        if len(seen) < 3:  # until all are there, however long that takes them
            time.sleep(0.01)

    for_each(work, range(3), 3, after=60.0)
    assert seen == {here}
    for_each(work, range(6000), 3, after=0.02)
    assert len(seen) == 3


@pytest.mark.parametrize("after", [0.0, 0.02])
@pytest.mark.parametrize("who", [0, 20])
def test_what_is_raised_ends_it(after: float, who: int) -> None:
    done: list[int] = []

    def work(item: int) -> None:
        if item == who:
            raise ValueError("as it happens")
        time.sleep(0.005)
        done.append(item)

    with pytest.raises(ValueError, match="as it happens"):
        for_each(work, range(2000), 3, after=after)
    if after:
        assert len(done) < 1000


@pytest.mark.parametrize("at_work", [True, False])
def test_an_interrupt_ends_the_long_work_of_others(at_work: bool) -> None:
    here, inside, ended = threading.get_ident(), threading.Event(), threading.Event()

    def work(_: int) -> None:
        if threading.get_ident() == here:
            assert inside.wait(30)
            if at_work:
                raise KeyboardInterrupt
            timer.start()  # finds this thread waiting for the other
            return
        inside.set()
        until = time.monotonic() + 30
        try:
            while time.monotonic() < until:
                end_if_given_up()
                time.sleep(0.001)
        except Ended:
            ended.set()
            raise

    timer = threading.Timer(0.2, signal.pthread_kill, [here, signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):
        for_each(work, range(2), 2)
    assert ended.is_set()
    end_if_given_up()  # another call has nothing to do with it
