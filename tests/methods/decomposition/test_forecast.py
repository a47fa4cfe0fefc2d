"""What a plan says of parallel decomposition, beside what its shares take."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.kernels import Kernel, is_sparse
from dcsvm_dask.methods.decomposition.options import Decomposition
from dcsvm_dask.methods.decomposition.plan import held_bytes
from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.measured import TYPICAL, Measured, usual_value_seconds
from dcsvm_dask.methods.plan import Plan, plan
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.runtime.compilation import parts_of_run, warm_up
from dcsvm_dask.solvers.parallel import ShareRows
from dcsvm_dask.tasks import Classification
from tests.typical import GOALS
from tests.typical import SETTINGS as TYPICAL_SETTINGS

SETTINGS = replace(
    TYPICAL_SETTINGS, kernel=Kernel("rbf", 0.03), clusters=(), method="decomposition"
)
N, CACHE = 3000, 8.0


def a9a(shared_data: Callable[[str], Any]) -> Any:
    return sparse.csr_array(shared_data("a9a")["X_train"][:N].astype(np.float32))


def mnist(shared_data: Callable[[str], Any]) -> Any:
    return shared_data("mnist")["X_train"][:N].astype(np.float32) / np.float32(255)


@pytest.mark.parametrize("rows", [a9a, mnist])
@pytest.mark.parametrize("shares", [1, 4])
def test_shares_take_what_is_planned(
    rows: Callable[..., Any], shares: int, shared_data: Callable[[str], Any]
) -> None:
    X = rows(shared_data)
    n_bytes = 4 * X.size
    if is_sparse(X):
        n_bytes = 8 * X.nnz + 8 * N
    sizes = Forecast(SETTINGS, Shape(N, N, n_bytes, n_features=X.shape[1]), TYPICAL)
    planned = held_bytes(sizes, Decomposition(cache=CACHE), shares)
    dual = Classification().dual(np.where(np.arange(N) % 2, 1.0, -1.0), np.ones(N))
    ends = [N * part // shares for part in range(shares + 1)]
    Z, index, w = X[:1000], np.arange(1000), np.ones(1000)
    needed = parts_of_run(sparse=is_sparse(X), bias=False, kinks=False)
    warm_up(
        [*needed, "parallel_sparse" if is_sparse(X) else "parallel"]
    )  # whose memory is not that of shares
    gc.collect()
    tracemalloc.start()
    held = [
        ShareRows(SETTINGS.kernel, X[a:b], dual[a:b], a, cache_bytes=int(CACHE * 2**20))
        for a, b in pairwise(ends)
    ]
    for _ in range(3):
        for one in held:
            one.product(index, Z, w)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert taken <= planned
    assert taken >= 0.5 * planned


SHAPE = Shape(60_000, 60_000, 60_000 * 784 * 4, n_features=784)


def of(shape: Shape = SHAPE, measured: Measured = TYPICAL, **options: Any) -> Plan:
    return plan(replace(SETTINGS, options=options), GOALS, shape, measured)


def test_a_smaller_cache_takes_less_and_few_rows_cannot_fill_it() -> None:
    less = of().most_bytes() - of(cache=56.0).most_bytes()
    assert less == pytest.approx(200 * 2**20, rel=0.01)
    few = replace(SHAPE, n_rows=1000, n_variables=1000, n_bytes=1000 * 784 * 4)
    assert of(few).most_bytes() == of(few, cache=64.0).most_bytes()
    # Rows of few features are not kept as columns.
    narrow = replace(SHAPE, n_bytes=60_000 * 54 * 4, n_features=54)
    assert of(narrow).most_bytes() == of(narrow, cache=0.0).most_bytes()


def test_a_local_kernel_takes_longer_and_the_time_of_a_value_counts() -> None:
    smooth, local = (of(measured=Measured(smooth=smooth)) for smooth in (True, False))
    assert local.seconds(1) > 4.0 * smooth.seconds(1)
    assert smooth.seconds(1) < of(measured=Measured(smooth=True, value_seconds=2e-7)).seconds(1)
    for workers in (2, 8):
        assert of().seconds(1) / workers < of().seconds(workers) < of().seconds(1)


@pytest.mark.parametrize("n", [2, 100, 5000])
def test_few_rows_have_a_plan(n: int) -> None:
    found = of(replace(SHAPE, n_rows=n, n_variables=n, n_bytes=n * 784 * 4))
    assert found.seconds(1) > 0.0
    assert found.most_bytes() >= found.worker_bytes > 0


def test_the_command_measures_the_rows(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    X = draw.random((3000, 3), dtype=np.float32)
    y = np.where(X[:, 0] > 0.5, 1, -1)
    api.ingest((X, y), tmp_path / "data.zarr")
    for gamma, smooth in ((0.1, True), (4000.0, False)):
        found = api.plan(tmp_path / "data.zarr", method="decomposition", gamma=gamma)
        assert found.measured.smooth is smooth
        assert found.measured.value_seconds != usual_value_seconds(3, 3)
