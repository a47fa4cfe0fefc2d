"""Ctrl-C while Numba compiles is KeyboardInterrupt, wherever in the compiler it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numba
import pytest

from dcsvm_dask.runtime.interrupts import raised_between_passes

COMPILING = """
from dcsvm_dask.runtime.compilation import warm_up
try:
    warm_up(["dense"], lambda: print("compiling", flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("seconds", [0.3, 1.7, pytest.param(4.1, marks=pytest.mark.long)])
def test_ctrl_c_while_compiling_is_an_interrupt(tmp_path, seconds: float) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", COMPILING],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == "compiling\n"
        time.sleep(seconds)
        child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "interrupted\n"
        assert child.stderr.read() == ""


def test_a_signal_at_the_end_of_the_block_is_handled_there() -> None:
    seen = []

    def work() -> None:
        with raised_between_passes():
            signal.raise_signal(signal.SIGINT)
            seen.append("went on")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert seen == ["went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_next_pass_of_the_compiler_raises() -> None:
    @numba.njit
    def one(x):
        return x + 1

    def work() -> None:
        with raised_between_passes():
            signal.raise_signal(signal.SIGINT)
            one(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert one(1) == 2


def test_other_threads_leave_signals_alone() -> None:
    seen = []

    def work() -> None:
        with raised_between_passes():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
