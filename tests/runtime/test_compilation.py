"""Compilation is reported where Numba compiles, and only there."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array

from dcsvm_dask.clustering import choose_partition
from dcsvm_dask.kernels import Kernel, counted_kernel_matrix, kernel_product
from dcsvm_dask.kernels.kinds import KERNELS, L1_DISTANCE, SQUARED_DISTANCE
from dcsvm_dask.runtime import compilation
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.compilation import (
    COMPILING,
    DENSE,
    announced,
    first_compiled,
    parts_of_run,
    warm_up,
)
from dcsvm_dask.solvers import solve_inner
from dcsvm_dask.tasks import Classification, Regression
from tests.callbacks import Heard
from tests.svc import solve_online


def test_compilation_is_reported_once() -> None:
    reported: list[str] = []

    @numba.njit
    def once(x):
        return x + 1

    @numba.njit
    def of_others(x):
        return x - 1

    once.py_func.__module__ = "dcsvm_dask.solvers"
    with first_compiled(lambda: reported.append("compiling")):
        of_others(1)
        assert not reported
        once(1)
        once(1.0)
    assert reported == ["compiling"]
    once(1j)
    assert reported == ["compiling"]


@pytest.mark.one_quick
@pytest.mark.parametrize("sparse", [False, True])
def test_the_online_solver_finds_all_compiled(sparse: bool) -> None:
    warm_up([*parts_of_run(sparse=sparse, bias=True, kinks=False), "box", "online"])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3)).astype(np.float32)
    y = np.sign(rng.standard_normal(600))
    reported: list[str] = []
    with first_compiled(lambda: reported.append("compiling")):
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
    assert reported == []


def test_compilation_is_announced_at_once_by_the_thread_that_waits_for_it() -> None:
    heard = Heard()
    announcer = Announcer("run", [heard])

    def compile_one() -> None:
        @numba.njit
        def once(x):
            return x + 2

        once.py_func.__module__ = "dcsvm_dask.solvers"
        once(1)

    with announced(announcer):
        compile_one()
        assert heard.said == [COMPILING]
    with announced(announcer):
        other = threading.Thread(target=compile_one)
        other.start()
        other.join()
        assert heard.said == [COMPILING]  # callbacks are called by one thread
        announcer.drain()
    assert heard.said == [COMPILING, COMPILING]


LATER = """
import sys
from contextlib import contextmanager
from numba.core.dispatcher import Dispatcher
from dcsvm_dask import api
from dcsvm_dask.prediction import run_prediction
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.execution import Execution

def compiled():
    modules = [module for name, module in sys.modules.items() if name.startswith("dcsvm_dask")]
    found = {id(f): f for m in modules for f in list(vars(m).values()) if isinstance(f, Dispatcher)}
    return {(f.py_func.__qualname__, str(s)) for f in found.values() for s in f.signatures}

class Watch(Callback):
    def on_begin(self, event):
        self.before = compiled()
    def on_end(self, event):
        assert self.before
        print(*sorted({name for name, _ in compiled() - self.before}))

what, data, run = sys.argv[1:]
watch = Watch()
if what == "train":
    api.train(data, run, C=1000.0, gamma=10.0, holdout=data + "/test", quiet=True, report=False,
              execution=Execution(workers=0), callbacks=[watch])
else:
    open_pool = run_prediction.open_pool
    @contextmanager
    def watched(*args):
        watch.on_begin(None)
        with open_pool(*args) as pool:
            yield pool
    run_prediction.open_pool = watched
    api.open_run(run).evaluate(data + "/test", quiet=True)
    watch.on_end(None)
"""


@pytest.mark.long
def test_what_a_run_of_one_set_and_its_evaluation_need_is_there_before_they_begin(
    demo_rows: Callable[..., Path], tmp_path: Path
) -> None:
    data = demo_rows(3000, test_fraction=0.5)
    for what in ("train", "evaluate"):
        words = [sys.executable, "-c", LATER, what, str(data), str(tmp_path / "run")]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [], what


@pytest.mark.one_quick
@pytest.mark.parametrize("bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("kinks", [False, True], ids=["classes", "targets"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("l1", [False, True], ids=["l2", "l1"])
def test_what_a_run_needs_is_what_is_compiled_for_it(
    bias: bool, kinks: bool, sparse: bool, l1: bool, shared_data: Callable[[str], Any]
) -> None:
    """Blocks of covtype's rows: clusters, kernel matrices and products, and steps."""
    warm_up(parts_of_run(sparse=sparse, bias=bias, kinks=kinks, l1=l1))
    X = shared_data("covtype")["X_train"][:1200].astype(np.float32)
    X /= np.abs(X).max(axis=0).clip(1)
    rows = csr_array(X) if sparse else X
    y = np.where(shared_data("covtype")["y_train"][:1200] == 1, 1.0, -1.0)
    argument = L1_DISTANCE if l1 else SQUARED_DISTANCE
    kernel = Kernel(next(name for name, kind in KERNELS.items() if kind.argument == argument))
    task = Regression(0.1) if kinks else Classification()
    dual = task.dual(y, np.ones(len(y)))
    reported: list[str] = []
    with first_compiled(lambda: reported.append("compiling")):
        partition, _ = choose_partition(
            Kernel("rbf", 1.0), rows, n_clusters=4, n_rows=500, cap=400, seed=0
        )
        partition.assign(rows)
        K, _ = counted_kernel_matrix(kernel, rows, least=1e-9)
        found = solve_inner(K, dual, equality=bias, tol=1e-2)
        solve_inner(K, dual.with_bias(0.1), tol=1e-2)  # a block of a level
        kernel_product(kernel, rows, rows, found.beta, budget=1e-6, tol=1e-4)
    assert reported == []


def test_what_is_there_already_is_not_compiled() -> None:
    warm_up(DENSE)
    reported: list[str] = []
    warm_up(DENSE, lambda: reported.append("compiling"))
    assert reported == []


@pytest.mark.parametrize(("current", "left"), [(False, 0), (True, 3)])
def test_compiled_code_of_other_sources_is_not_used(
    current: bool, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it lies beside the sources: Numba does not see that a called function has changed."""
    folder = tmp_path / "kernels" / "__pycache__"
    folder.mkdir(parents=True)
    mark = compilation._mark("dense") if current else "dcsvm-compiled-0123456789abcdef-dense"
    for name in ("f-1.py311.nbi", "f-1.py311.1.nbc", mark):
        (folder / name).touch()
    (folder / "f.cpython-311.pyc").touch()
    monkeypatch.setattr(compilation, "ROOT", tmp_path)
    monkeypatch.setattr(compilation, "cache_folder", lambda: folder)
    compilation._drop_outdated.__wrapped__()
    assert len(list(folder.iterdir())) == left + 1
