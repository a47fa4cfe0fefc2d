"""Decision values of models in memory: by parts and as stored, they are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import DCSVC, DCSVR
from dcsvm_dask.estimators.deciding import FEW_VALUES, decided, stored_to_decide
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models.model import Model


def model_of(rng: np.random.Generator, storage: Any, share: float = 1.0) -> Model:
    """Return a model of 60 support vectors, so many of whose values are not zero."""
    Z = rng.standard_normal((60, 10)) * (rng.random((60, 10)) < share)
    return Model.of_sum(
        Kernel("rbf", 0.1), storage(Z.astype(np.float32)), rng.standard_normal(60), 0.5
    )


@pytest.mark.parametrize("n", [0, 1, 511, 3000, 9000])
def test_threads_change_no_bit(n: int) -> None:
    rng = np.random.default_rng(0)
    model = model_of(rng, np.asarray)
    X = rng.standard_normal((n, 10)).astype(np.float32)
    expected = decided(model, X, "exact", 1)
    for threads in (2, 3, 8):
        assert np.array_equal(decided(model, X, "exact", threads), expected)


def test_sparse_rows_with_few_zeros_are_decided_as_dense_ones() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 10)).astype(np.float32)
    rows = sparse.csr_array(X)
    model = model_of(rng, sparse.csr_array)
    dense, stored = stored_to_decide(model, rows)
    assert np.array_equal(stored, X)
    assert np.array_equal(decided(model, rows, "exact", 2), decided(dense, X, "exact", 1))


def test_rows_with_many_zeros_or_too_many_for_memory_stay_sparse() -> None:
    rng = np.random.default_rng(0)
    few = model_of(rng, sparse.csr_array, share=0.2)
    rows = sparse.csr_array((3, 10), dtype=np.float32)
    assert stored_to_decide(few, rows) == (few, rows)
    many = sparse.csr_array((FEW_VALUES // 10 + 1, 10), dtype=np.float32)
    model = model_of(rng, sparse.csr_array)
    assert stored_to_decide(model, many) == (model, many)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_predictions_of_sparse_and_dense_rows_agree(n_classes: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 6)).astype(np.float32)
    made: Any = DCSVR() if n_classes == 1 else DCSVC(decision_function_shape="ovo")
    y = X[:, 0] if n_classes == 1 else np.digitize(X[:, 0], [0.0, 0.7][: n_classes - 1])
    fitted = made.fit(sparse.csr_array(X), y)
    decide = fitted.predict if n_classes == 1 else fitted.decision_function
    np.testing.assert_allclose(decide(sparse.csr_array(X)), decide(X), rtol=0, atol=1e-10)
