"""A block-diagonal kernel matrix times a vector against dense float64 products of its blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, block_diagonal_product
from dcsvm_dask.kernels.columns import ROWS

# Of four blocks the second has no rows and the third no columns; seven rows are in no block.
BORDERS, OFFSETS = np.array([0, 20, 20, 60, 260]), np.array([0, 250, 300, 300, 580])


def blocks_of(n: int) -> list[tuple[Any, slice]]:
    """Rows and columns of every block, the rows in no order."""
    members = np.random.default_rng(0).permutation(n)
    return [
        (members[BORDERS[g] : BORDERS[g + 1]], slice(OFFSETS[g], OFFSETS[g + 1]))
        for g in range(len(OFFSETS) - 1)
    ]


def product(kernel: Kernel, X: Any, Z: Any, v: Any) -> Any:
    members = np.concatenate([rows for rows, _ in blocks_of(X.shape[0])])
    return block_diagonal_product(kernel, X, members, BORDERS, Z, OFFSETS, v)


@pytest.mark.one_quick
def test_every_row_meets_the_columns_of_its_block(kernel: Kernel, rows: Any, exact: Any) -> None:
    X, Z = rows[:267], rows[-580:] if rows.shape[0] > 580 else rows[np.arange(580) % 300]
    v = np.random.default_rng(1).uniform(-32, 32, 580)
    expected, size, K = np.zeros(267), np.zeros(267), exact(kernel, X, Z)
    for some, own in blocks_of(267):
        expected[some] = K[some, own] @ v[own]
        size[some] = abs(K[some, own]) @ abs(v[own])
    found = product(kernel, X, Z, v)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * size.max())


@pytest.mark.parametrize("features", [5, 40, 90])
@pytest.mark.parametrize("spread", [0.05, 60.0], ids=["narrow", "wide"])
def test_wide_blocks_are_as_precise(features: int, spread: float, exact: Any) -> None:
    """Blocks too wide for inner products in float32, of few features and of many."""
    rng = np.random.default_rng(2)
    X = (300 + spread * rng.standard_normal((267, features))).astype(np.float32)
    Z = (X[rng.integers(267, size=580)] + 0.05 * rng.standard_normal((580, features))).astype("f4")
    kernel, v = Kernel("rbf", 2.0), rng.uniform(-1, 1, 580)
    found, K = product(kernel, X, Z, v), exact(kernel, X, Z)
    for some, own in blocks_of(267):
        error = 5 * 2.0**-18 * np.linalg.norm(v[own])
        np.testing.assert_allclose(found[some], K[some, own] @ v[own], rtol=0, atol=error)


def test_blocks_of_several_tiles(covtype: Any, exact: Any) -> None:
    n, kernel, v = 2 * ROWS + 3, Kernel("rbf", 32.0), np.linspace(-1, 1, 600)
    X, Z = covtype[:n], covtype[:600]
    members, borders = np.arange(n)[::-1].copy(), np.array([0, ROWS + 1, n])
    found = block_diagonal_product(kernel, X, members, borders, Z, np.array([0, 300, 600]), v)
    K = exact(kernel, X, Z)
    expected = np.concatenate([K[: ROWS + 2, 300:] @ v[300:], K[ROWS + 2 :, :300] @ v[:300]])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_bad_rows_are_refused(is_sparse: bool) -> None:
    X = np.random.default_rng(0).random((267, 5), dtype=np.float32)
    Z, v = np.ones((580, 5), dtype=np.float32), np.ones(580)
    X[blocks_of(267)[3][0][0], 2] = np.nan
    kind: Any = sparse.csr_array if is_sparse else np.asarray
    with pytest.raises(InputError, match="not finite"), np.errstate(invalid="ignore"):
        product(Kernel("rbf", 1.0), kind(X), kind(Z), v)
    with pytest.raises(InputError, match="features"):
        product(Kernel("rbf", 1.0), kind(X), kind(Z[:, :4]), v)
