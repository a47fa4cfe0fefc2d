"""It is told that Numba compiles where it does, and only there."""

from __future__ import annotations

from pathlib import Path

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.runtime import compilation
from dcsvm_dask.runtime.compilation import first_compiled, warm_up
from tests.svc import solve_online


def test_that_something_is_compiled_is_told_once() -> None:
    told: list[str] = []

    @numba.njit
    def once(x):
        return x + 1

    @numba.njit
    def of_others(x):
        return x - 1

    once.py_func.__module__ = "dcsvm_dask.solvers"
    with first_compiled(lambda: told.append("compiling")):
        of_others(1)
        assert not told
        once(1)
        once(1.0)
    assert told == ["compiling"]
    once(1j)
    assert told == ["compiling"]


@pytest.mark.one_quick
@pytest.mark.parametrize("sparse", [False, True])
def test_the_online_solver_finds_all_compiled(sparse: bool) -> None:
    warm_up(online=True)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3)).astype(np.float32)
    y = np.sign(rng.standard_normal(600))
    told: list[str] = []
    with first_compiled(lambda: told.append("compiling")):
        for equality in (False, True):
            found = solve_online(
                Kernel("rbf", 1.0),
                csr_array(X) if sparse else X,
                y,
                10.0,
                equality=equality,
                cache_bytes=100_000,
            )
            assert found.fetched > 0
    assert told == []


def test_what_is_there_already_is_not_compiled() -> None:
    warm_up()
    told: list[str] = []
    warm_up(lambda: told.append("compiling"))
    assert told == []


@pytest.mark.parametrize(("current", "left"), [(False, 0), (True, 3)])
def test_compiled_code_of_other_sources_is_not_used(
    current: bool, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it lies beside the sources: Numba does not see that a called function has changed."""
    folder = tmp_path / "kernels" / "__pycache__"
    folder.mkdir(parents=True)
    mark = compilation._mark_name() if current else "dcsvm-compiled-0123456789abcdef"
    for name in ("f-1.py311.nbi", "f-1.py311.1.nbc", mark):
        (folder / name).touch()
    (folder / "f.cpython-311.pyc").touch()
    monkeypatch.setattr(compilation, "ROOT", tmp_path)
    monkeypatch.setattr(compilation, "_mark_name", lambda: mark if current else "other")
    monkeypatch.setattr(compilation, "cache_folder", lambda: folder)
    compilation._drop_outdated()
    assert len(list(folder.iterdir())) == left + 1
