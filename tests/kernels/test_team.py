"""Large pieces of work, whose small ones are shared with threads that have none."""

from __future__ import annotations

import gc
import signal
import threading
import time
from collections.abc import Callable

import pytest

from dcsvm_dask.kernels.team import Ended, current, for_each_large
from dcsvm_dask.kernels.threads import for_each


def test_who_has_nothing_left_helps_the_others() -> None:
    together = threading.Barrier(2, timeout=30)  # passed only while two threads are inside
    done: list[int] = []

    def inner(item: int) -> None:
        if item < 2:
            together.wait()
        done.append(item)

    def outer(item: int) -> None:
        if item == 1:
            for_each(inner, range(40), 1)

    for_each_large(outer, range(2), 2, 2)
    assert sorted(done) == list(range(40))
    assert current() is None


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_no_more_are_worked_on_at_a_time(threads: int, most: int) -> None:
    lock = threading.Lock()
    inside, done = [0, 0], [0]

    def inner(_: int) -> None:
        time.sleep(0.001)
        with lock:
            done[0] += 1

    def outer(_: int) -> None:
        with lock:
            inside[0] += 1
            inside[1] = max(inside)
        for_each(inner, range(5), 1)
        with lock:
            inside[0] -= 1

    for_each_large(outer, range(7), threads, most)
    assert inside[1] <= min(threads, most)
    assert done[0] == 35


@pytest.mark.parametrize("where", [0, 37])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_what_is_raised_within_comes_out_of_the_call_it_was_in(threads: int, where: int) -> None:
    caught: list[int] = []

    def inner(item: int) -> None:
        if item == where:
            raise ValueError(str(item))

    def outer(item: int) -> None:
        try:
            for_each(inner, range(40), 1)
        except ValueError:
            caught.append(item)
        if item == 3:
            raise KeyError(item)

    with pytest.raises(KeyError):
        for_each_large(outer, range(4), threads, 2)
    assert 3 in caught


def interrupted(call: Callable[[], object], after: float) -> float:
    """Interrupt the main thread; return the seconds that the call takes to end then."""
    gc.disable()  # an interrupt in one of its callbacks, as Hypothesis has one, would be lost
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, after)
    begun = time.monotonic()
    try:
        call()
    except KeyboardInterrupt:
        return time.monotonic() - begun - after
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        gc.enable()
    raise AssertionError("it was not interrupted")


def test_an_interrupt_ends_what_others_are_at() -> None:
    """The main thread has nothing to do, or helps: nobody goes on with what is left."""
    ended: list[BaseException] = []
    main, begun = threading.current_thread(), threading.Event()

    def inner(_: int) -> None:
        time.sleep(0.005)

    def outer(_: int) -> None:
        if threading.current_thread() is main:
            begun.wait(30)
            return
        begun.set()
        try:
            for_each(inner, range(100_000), 1)
        except BaseException as error:
            ended.append(error)
            raise

    assert interrupted(lambda: for_each_large(outer, range(2), 2, 2), 0.2) < 5.0
    (error,) = ended
    assert isinstance(error, Ended | KeyboardInterrupt)


def in_a_team() -> None:
    def outer(_: int) -> None:
        for _ in range(1000):
            for_each(abs, range(3), 1)

    for_each_large(outer, range(10_000), 3, 3)


def one_after_the_other() -> None:
    while True:
        for_each(abs, range(5), 3)


@pytest.mark.parametrize("call", [in_a_team, one_after_the_other])
def test_interrupts_at_any_moment_end_it(call: Callable[[], None]) -> None:
    try:
        for number in range(60):
            assert interrupted(call, 0.01 + 0.0007 * number) < 10.0
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    assert current() is None
