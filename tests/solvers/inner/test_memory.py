"""What inner solvers take beside the kernel matrix is no more than is planned."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import INNER_SOLVERS, solve_inner
from dcsvm_dask.solvers.inner.memory import SPARE, bytes_beside
from dcsvm_dask.tasks import Classification
from tests.marks import long


@pytest.mark.parametrize(
    "inner", ["interior-point", *(long(one) for one in INNER_SOLVERS if one != "interior-point")]
)
def test_what_is_taken_is_within_the_plan(inner: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5)).astype(np.float32)
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=len(X)))
    dual = Classification(squared=True).dual(y, np.full(len(y), 100.0))
    K = kernel_matrix(Kernel("rbf", 0.2), X)
    tracemalloc.start()
    found = solve_inner(K, dual, inner=inner, equality=True, tol=1e-4)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.converged
    assert peak <= bytes_beside(inner, len(K)) + (1 << 20)  # and vectors


def test_auto_takes_no_more_than_any_process_has_to_spare() -> None:
    assert bytes_beside("auto", 1000) == bytes_beside("interior-point", 1000)
    assert bytes_beside("auto", 8192) == bytes_beside("smo", 8192) + SPARE
