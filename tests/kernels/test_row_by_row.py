"""Kernel rows that are computed when they are asked for, against scikit-learn in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.kernels.row_by_row import KernelRows, ask


def test_values_are_those_of_the_matrix(kernel: Kernel, covtype: Any, exact: Any) -> None:
    X = covtype[:1100]  # more than the values that are computed at a time
    rows = KernelRows(kernel, X, 3)
    every = np.arange(len(X))
    expected = exact(kernel, X, X)
    bound = 1e-14 * max(1, abs(expected).max())
    for row in (700, 0, 1099):
        found = rows.block(np.array([row]), every)
        np.testing.assert_allclose(found[0], expected[row], rtol=0, atol=bound)
    assert rows.rows.tolist() == [700, 0, 1099]
    np.testing.assert_allclose(rows.diagonal, np.diag(expected), rtol=1e-14)
    np.testing.assert_array_equal(rows.K[range(3), rows.rows], rows.diagonal[rows.rows])


def test_sparse_rows_have_the_same_values(kernel: Kernel, a9a: Any, exact: Any) -> None:
    X, some = a9a[:600], np.array([599, 3])
    found = KernelRows(kernel, X, 2).block(some, np.arange(600))
    np.testing.assert_allclose(found, exact(kernel, X, X)[some], rtol=0, atol=1e-13)


def test_a_row_is_computed_once_and_no_more_than_there_is_room_for(covtype: Any) -> None:
    rows = KernelRows(Kernel("rbf", 1.0), covtype[:100], 2)
    first = rows.block(np.array([5, 9]), np.array([9, 5, 1]))
    rows.K[0, 1] = 7.0  # another value would be computed
    again = rows.block(np.array([9, 5]), np.array([9, 5, 1]))
    assert again[1, 2] == 7.0
    assert first[0, 0] == again[1, 0] == again[0, 1]
    assert len(rows) == 2
    with pytest.raises(MemoryError, match="no room"):
        rows.block(np.array([5, 6]), np.array([0]))
    assert len(rows) == 2


def test_of_a_whole_matrix_every_row_is_where_it_is() -> None:
    assert [ask(np.eye(3), None, row) for row in range(3)] == [0, 1, 2]
