"""Pieces of work side by side: each is done once, and what one raises is raised."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dcsvm_dask.kernels.threads import for_each


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("after", [0.0, 0.01])
@pytest.mark.parametrize("count", [0, 1, 3, 400])
def test_each_is_done_once(threads: int, after: float, count: int) -> None:
    done: list[int] = []
    for_each(done.append, range(count), threads, after=after)
    assert sorted(done) == list(range(count))


def test_the_threads_of_a_pool_stay() -> None:
    here = threading.get_ident()
    seen: set[int] = set()

    def work(_: int) -> None:
        seen.add(threading.get_ident())
        time.sleep(0.01)

    with ThreadPoolExecutor(1) as pool:
        for _ in range(5):
            for_each(work, range(4), 2, pool=pool)
            with pytest.raises(ZeroDivisionError):
                for_each(lambda item: 1 / item, [1, 0], 2, pool=pool)
    assert here in seen
    assert len(seen) == 2


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


def test_who_has_nothing_left_helps_the_others() -> None:
    whole = threading.Barrier(2, timeout=30)  # passed only while two threads are inside
    done: list[int] = []

    def inner(item: int) -> None:
        if item < 2:
            whole.wait()
        done.append(item)

    def outer(item: int) -> None:
        if item == 1:
            for_each(inner, range(40), 1)

    for_each(outer, range(2), 2)
    assert sorted(done) == list(range(40))


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_no_more_are_worked_on_at_a_time(threads: int, most: int) -> None:
    lock = threading.Lock()
    inside: list[int] = []
    largest, done = [0], []

    def inner(item: int) -> None:
        time.sleep(0.001)
        with lock:
            done.append(item)

    def outer(item: int) -> None:
        with lock:
            inside.append(item)
            largest[0] = max(largest[0], len(inside))
        for_each(inner, range(5), 1)
        with lock:
            inside.remove(item)

    for_each(outer, range(7), threads, most=most)
    assert largest[0] <= min(threads, most)
    assert sorted(done) == sorted(list(range(5)) * 7)


@pytest.mark.parametrize("where", [0, 37])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_what_is_raised_within_comes_out_of_the_call_it_was_in(threads: int, where: int) -> None:
    caught: list[int] = []

    def inner(item: int) -> None:
        if item == where:
            raise ValueError(str(item))

    def outer(item: int) -> None:
        try:
            for_each(inner, range(40), threads)
        except ValueError:
            caught.append(item)
        if item == 3:
            raise KeyError(item)

    with pytest.raises(KeyError):
        for_each(outer, range(4), 2)
    assert 3 in caught


def test_an_interrupt_ends_calls_within_calls() -> None:
    """The main thread is interrupted, whatever it is at: nobody waits for it."""

    def inner(_: int) -> None:
        time.sleep(0.002)

    def outer(item: int) -> None:
        for_each(inner, range(200 if item else 1), 1)

    interrupt = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    interrupt.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for_each(outer, range(40), 2)
    assert time.monotonic() - begun < 10
