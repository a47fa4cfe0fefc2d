"""Locally-tuned units by their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from dcsvm_dask.errors import InputError
from dcsvm_dask.features import Ltpu
from dcsvm_dask.kernels import Kernel


def squared(X: Any, C: Any) -> Any:
    C = C.toarray() if sparse.issparse(C) else C
    return cdist(X.astype(np.float64), C.astype(np.float64), "sqeuclidean")


@pytest.mark.parametrize("gamma", [0.5, 32.0])
def test_one_width_for_all(gamma: float, rows: Any, covtype: Any) -> None:
    made = Ltpu.fit(Kernel("rbf", gamma), rows, 50, np.random.default_rng(0))
    assert made.n_outputs == 50
    wanted = np.exp(-gamma * squared(covtype, made.centres))
    np.testing.assert_allclose(made.transform(rows), wanted - made.means, atol=1e-5)
    np.testing.assert_allclose(made.means, wanted.mean(axis=0), atol=1e-5)


@pytest.mark.parametrize("neighbours", [1, 2, 49])
def test_a_width_by_the_nearest_centres(neighbours: int, rows: Any, covtype: Any) -> None:
    rng = np.random.default_rng(0)
    made = Ltpu.fit(Kernel("rbf"), rows, 50, rng, neighbours=neighbours)
    between = np.sort(squared(made.centres.toarray() if sparse.issparse(made.centres)
                              else made.centres, made.centres), axis=1)  # fmt: skip
    widths = np.sqrt(between[:, 1 : neighbours + 1].mean(axis=1))
    np.testing.assert_allclose(made.gammas, 1 / widths**2, rtol=1e-10)
    wanted = np.exp(-squared(covtype, made.centres) / widths**2)
    Z = made.transform(rows)
    np.testing.assert_allclose(Z, wanted - made.means, atol=1e-6)


def test_wide_offsets_do_not_spoil_widths(covtype: Any) -> None:
    far = covtype + np.float32(1000)
    made = Ltpu.fit(Kernel("rbf"), far, 20, np.random.default_rng(0), neighbours=2)
    wanted = np.exp(-squared(far, made.centres) * made.gammas)
    np.testing.assert_allclose(made.transform(far), wanted - made.means, atol=1e-6)


def test_what_it_cannot_do_is_refused(covtype: Any) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="not for laplacian"):
        Ltpu.fit(Kernel("laplacian"), covtype, 5, rng)
    for neighbours in (0, 5):
        with pytest.raises(InputError, match="from 1 to 4"):
            Ltpu.fit(Kernel("rbf"), covtype, 5, rng, neighbours=neighbours)
