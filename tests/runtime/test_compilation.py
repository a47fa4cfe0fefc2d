"""It is told that Numba compiles where it does, and only there."""

from __future__ import annotations

import numba

from dcsvm_dask.runtime.compilation import first_compiled, warm_up


def test_that_something_is_compiled_is_told_once() -> None:
    told: list[str] = []

    @numba.njit
    def once(x):
        return x + 1

    with first_compiled(lambda: told.append("compiling")):
        assert not told
        once(1)
        once(1.0)
    assert told == ["compiling"]
    once(1j)
    assert told == ["compiling"]


def test_what_is_there_already_is_not_compiled() -> None:
    warm_up()
    told: list[str] = []
    warm_up(lambda: told.append("compiling"))
    assert told == []
