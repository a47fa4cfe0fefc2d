"""Kernel values with rows that are kept: those of scikit-learn, whatever was kept before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import pairwise_kernels

from dcsvm_dask.kernels import KeptRows, Kernel, columns, kept, tiled

KERNELS = [Kernel("rbf", 0.5), Kernel("laplacian", 0.2), Kernel("poly", 0.3, degree=2, coef0=1.0)]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_values_are_scikit_learns_whatever_was_kept_before(
    kernel: Kernel, sparse: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiled, "WIDTH", 32)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 5)).astype(np.float32)
    words: dict[str, Any] = {"gamma": kernel.gamma}
    if kernel.name == "poly":
        words |= {"degree": 2, "coef0": 1.0}
    K = pairwise_kernels(X.astype(np.float64), metric=kernel.name, **words)
    rows = KeptRows(kernel, csr_array(X) if sparse else X, threads=2)
    out = np.zeros((16, 250), np.float32)
    kept_rows = rng.permutation(200)[:100]
    more = np.append(kept_rows, rng.permutation(200)[:40])
    other = kept_rows.copy()
    other[50] = 7
    for now in (kept_rows, kept_rows, more, kept_rows[:33], other, kept_rows[:0]):
        some = rng.permutation(200)[:9]
        assert rows.values(some, now, out) == 9 * len(now)
        np.testing.assert_allclose(out[:9, : len(now)], K[np.ix_(some, now)], rtol=1e-4, atol=1e-5)


def test_only_tiles_that_have_changed_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiled, "WIDTH", 10)
    made: list[int] = []
    original = columns.row_tile

    def counting(kernel: Kernel, X: Any, dtype: Any, **how: Any) -> Any:
        made.append(X.shape[0])
        return original(kernel, X, dtype, **how)

    monkeypatch.setattr(kept, "row_tile", counting)
    X = np.random.default_rng(0).standard_normal((60, 3)).astype(np.float32)
    rows, out = KeptRows(Kernel("rbf"), X), np.zeros((1, 60), np.float32)
    rows.values(np.array([0]), np.arange(35), out)
    assert made == [10, 10, 10, 5]
    rows.values(np.array([1]), np.arange(37), out)
    assert made[4:] == [7]
    rows.values(np.array([1]), np.where(np.arange(37) == 12, 50, np.arange(37)), out)
    assert made[5:] == [10]
