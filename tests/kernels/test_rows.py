"""The storage in which kernel values cost least."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.kernels import stored_for_speed


@pytest.mark.parametrize(
    ("features", "share", "from_dense", "from_sparse"),
    [
        (50, 0.02, "dense", "dense"),
        (100, 0.05, "sparse", "sparse"),
        (100, 0.3, "dense", "sparse"),
        (100, 0.7, "dense", "dense"),
    ],
)
def test_few_values_are_sparse_and_many_dense(
    features: int, share: float, from_dense: str, from_sparse: str
) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((400, features)).astype(np.float32)
    X[rng.random(X.shape) >= share] = 0
    for given, how in ((X, from_dense), (sparse.csr_array(X), from_sparse)):
        found = stored_for_speed(given)
        assert ("sparse" if sparse.issparse(found) else "dense") == how
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found.toarray() if sparse.issparse(found) else found, X)
        if sparse.issparse(given) == sparse.issparse(found):
            assert found is given
