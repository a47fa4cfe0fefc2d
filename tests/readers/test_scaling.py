"""Scaling: what scikit-learn's scalers do, learned block by block, dense or sparse."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler, normalize

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.scaling import Scaling
from dcsvm_dask.readers.statistics import ScalingStatistics

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6)).astype(np.float32) * [1, 10, 100, 1, 1e4, 1] + [0, 5, -900, 0, 1e6, 3]
X = X.astype(np.float32)
X[:, 5] = 3.3  # constant
S = sparse.random_array((400, 30), density=0.2, format="csr", dtype=np.float32, rng=RNG)
S.data -= np.float32(0.3)


def learn(kind: str, rows: Any, cuts: tuple[int, ...] = (0, 1, 50, 51, 400)) -> ScalingStatistics:
    statistics = ScalingStatistics(kind)
    for start, stop in itertools.pairwise(cuts):
        statistics.update(rows[start:stop])
    return statistics


def close(mine: Any, theirs: Any) -> None:
    mine = mine.toarray() if sparse.issparse(mine) else mine
    theirs = theirs.toarray() if sparse.issparse(theirs) else theirs
    assert mine.dtype == np.float64
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_minmax() -> None:
    scaling = learn("minmax", X).finish(6, is_sparse=False)
    assert scaling is not None
    later = X[:20] * 1.5
    wanted = MinMaxScaler().fit(X.astype(np.float64))
    close(scaling.apply(X), wanted.transform(X.astype(np.float64)))
    varied = slice(0, 5)
    close(scaling.apply(later)[:, varied], wanted.transform(later.astype(np.float64))[:, varied])
    assert not scaling.apply(later)[:, 5].any()  # constant in training


def test_standard() -> None:
    scaling = learn("standard", X).finish(6, is_sparse=False)
    assert scaling is not None
    wanted = StandardScaler().fit_transform(X.astype(np.float64))
    np.testing.assert_allclose(scaling.apply(X)[:, :5], wanted[:, :5], rtol=1e-5, atol=1e-5)
    assert not scaling.apply(X)[:, 5].any()


def test_unit_rows() -> None:
    rows = X.copy()
    rows[3] = 0
    scaling = learn("unit", rows).finish(6, is_sparse=False)
    assert scaling is not None
    close(scaling.apply(rows), normalize(rows.astype(np.float64)))
    close(scaling.apply(S), normalize(S.astype(np.float64)))


def test_sparse_minmax_divides_by_the_largest_absolute_value() -> None:
    scaling = learn("minmax", S).finish(30, is_sparse=True)
    assert scaling is not None
    scaled = scaling.apply(S)
    assert scaled.nnz == S.nnz
    close(scaled, MaxAbsScaler().fit_transform(S.astype(np.float64)))


def test_sparse_standard_does_not_centre() -> None:
    scaling = learn("standard", S).finish(30, is_sparse=True)
    assert scaling is not None
    scaled = scaling.apply(S)
    assert scaled.nnz == S.nnz
    wanted = StandardScaler(with_mean=False).fit_transform(S.astype(np.float64))
    close(scaled, wanted)


@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_sparse_rows_that_are_stored_dense(kind: str) -> None:
    scaling = learn(kind, S).finish(30, is_sparse=False)
    dense = learn(kind, S.toarray()).finish(30, is_sparse=False)
    assert scaling is not None
    assert dense is not None
    np.testing.assert_allclose(scaling.apply(S.toarray()), dense.apply(S.toarray()), rtol=1e-6)


@pytest.mark.parametrize("kind", ["minmax", "standard"])
def test_features_may_grow_and_be_shifted(kind: str) -> None:
    # Raw svmlight columns: the first stands for no feature, the last come late.
    raw = sparse.hstack([sparse.csr_array((400, 1), dtype=np.float32), S], format="csr")
    statistics = ScalingStatistics(kind)
    widths = {0: 10, 100: 22, 200: 31}
    for start, width in widths.items():
        block = raw[start : start + 100, :width] if start < 200 else raw[start:]
        statistics.update(block)
    cut = S.copy().tolil()
    cut[:100, 9:] = 0
    cut[100:200, 21:] = 0
    plain = learn(kind, sparse.csr_array(cut)).finish(30, is_sparse=True)
    grown = statistics.finish(30, is_sparse=True, first=1)
    assert grown is not None
    assert plain is not None
    np.testing.assert_allclose(grown.factor, plain.factor, rtol=1e-12)


def test_scaling_survives_being_taken_apart() -> None:
    scaling = learn("minmax", X).finish(6, is_sparse=False)
    assert scaling is not None
    again = Scaling.from_arrays(*scaling.to_arrays())
    assert again.equals(scaling)
    np.testing.assert_array_equal(again.apply(X), scaling.apply(X))


def test_rows_that_do_not_fit_are_refused() -> None:
    scaling = learn("minmax", X).finish(6, is_sparse=False)
    assert scaling is not None
    with pytest.raises(InputError, match=r"must have the 6 features .* got 5"):
        scaling.apply(X[:, :5])
    with pytest.raises(InputError, match="give dense rows"):
        scaling.apply(sparse.csr_array(X))
    with pytest.raises(InputError, match=r"scale must be one of .*, got 'max'"):
        ScalingStatistics("max")
