"""Small whole numbers stay in float32 where others go to float64, and lose nothing by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dcsvm_dask.kernels import ColumnCache, Kernel, kernel_matrix
from dcsvm_dask.kernels.columns import row_tile
from dcsvm_dask.kernels.whole_numbers import LARGEST, small_whole_numbers, whole_rows
from tests.kernels.test_bounds import WEIGHTS, check

SHARP = Kernel("rbf", 4.0)


@pytest.fixture(params=["dense", "sparse"])
def words(request: pytest.FixtureRequest, shared_data: Callable[[str], Any]) -> Any:
    """1,500 rows of w8a, zeros and ones."""
    X = shared_data("w8a")["X_train"][:1500].astype(np.float32)
    return sparse.csr_array(X) if request.param == "sparse" else X


@pytest.mark.parametrize("gamma", [4.0, 300.0])
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_values_are_those_of_scikit_learn(words: Any, name: str, gamma: float, exact: Any) -> None:
    K = kernel_matrix(Kernel(name, gamma), words)
    expected = exact(Kernel(name, gamma), words, words)
    # Roundings of gamma, of the exponent and of the exponential; nothing is below 2^-100.
    units = 2 - 2 * np.log(np.maximum(expected, 2.0**-100))
    assert np.all(abs(K - expected) <= 2.0**-24 * units * expected + 2.0**-100)


def test_tiles_that_meet_other_numbers_are_not_exact(words: Any) -> None:
    def is_exact(X: Any, **how: Any) -> Any:
        return row_tile(SHARP, X, np.float32, **how).exact

    assert not is_exact(words[:512])
    assert not is_exact(words[:512], whole=lambda: False)
    assert is_exact(words[:512], whole=lambda: True)
    assert not is_exact((words * 0.3)[:512], whole=lambda: True)


@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_the_bound_on_rounding_holds(words: Any, kind: str) -> None:
    # Equal rows, of which there are many here, have no error and are counted.
    check(SHARP, words[:512], words, kind, 30_000)


def test_kept_columns_do_not_depend_on_the_others(words: Any) -> None:
    X = words[:700]
    Z = (X.toarray() if sparse.issparse(X) else X.copy())[:40]
    Z[::3] *= np.float32(0.7)
    Z = sparse.csr_array(Z) if sparse.issparse(X) else Z
    index, one = np.arange(40), np.zeros(40)
    together, alone = (ColumnCache(SHARP, X, 1 << 20) for _ in range(2))
    for j in range(40):
        one[:] = np.arange(40) == j
        expected = alone.product(index[[j]], Z[[j]], np.ones(1))
        np.testing.assert_array_equal(together.product(index, Z, one), expected)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1.0, -7.0, 0.5, 1500.0, 2900.0]), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_rows_of_small_whole_numbers_are_found(rows: list[list[float]]) -> None:
    X = np.array(rows, np.float32)
    expected = [
        all(x == int(x) for x in row) and sum(x * x for x in row) <= LARGEST for row in rows
    ]
    for stored in (X, sparse.csr_array(X)):
        assert whole_rows(stored).tolist() == expected
        assert small_whole_numbers(stored) == all(expected)
