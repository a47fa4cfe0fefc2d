"""Standardised categories are solved as the sparse rows that they are, with the same answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from dcsvm_dask.estimators import DCSVC, DCSVR
from dcsvm_dask.kernels import Kernel, solved_rows

TOL = 1e-6


@pytest.fixture(scope="module")
def standardised(shared_data: Callable[[str], Any]) -> tuple[np.ndarray, np.ndarray]:
    data = shared_data("a9a")
    X = StandardScaler().fit_transform(data["X_train"][:3000])
    return np.asarray(X, np.float32), data["y_train"][:3000]


@pytest.mark.parametrize(("ours", "peer"), [(DCSVC, SVC), (DCSVR, SVR)])
def test_the_answer_is_that_of_the_rows(standardised: Any, ours: Any, peer: Any) -> None:
    X, y = standardised
    assert sparse.issparse(solved_rows(Kernel("rbf", gamma=1 / X.shape[1]), X))
    how = {"C": 2.0, "gamma": 1 / X.shape[1], "tol": TOL}
    found, expected = ours(**how).fit(X, y), peer(**how).fit(X.astype(np.float64), y)
    decided = [
        one.decision_function(X) if hasattr(one, "decision_function") else one.predict(X)
        for one in (found, expected)
    ]
    np.testing.assert_allclose(decided[0], decided[1], atol=2e-5)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=2e-5)
    np.testing.assert_array_equal(found.support_vectors_, X[found.support_])
