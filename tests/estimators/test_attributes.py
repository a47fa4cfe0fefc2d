"""Learned attributes have the shapes and types of those of scikit-learn's SVMs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_iris

from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    LinearDCSVC,
    LinearDCSVR,
)
from dcsvm_dask.kernels import Kernel

RBF: dict[str, Any] = {}
LINEAR = {"kernel": Kernel("linear").name}
PAIRS = [
    (svm.SVC, DCSVC, RBF, (2, 3)),
    (svm.SVC, DCSVC, LINEAR, (2, 3)),
    (svm.NuSVC, DCNuSVC, RBF, (2, 3)),
    (svm.NuSVC, DCNuSVC, LINEAR, (2, 3)),
    (svm.LinearSVC, LinearDCSVC, {}, (2, 3)),
    (svm.SVR, DCSVR, RBF, (0,)),
    (svm.SVR, DCSVR, LINEAR, (0,)),
    (svm.NuSVR, DCNuSVR, RBF, (0,)),
    (svm.LinearSVR, LinearDCSVR, {}, (0,)),
    (svm.OneClassSVM, DCOneClassSVM, RBF, (0,)),
    (svm.OneClassSVM, DCOneClassSVM, LINEAR, (0,)),
]
SUPPORT_VECTORS = {"support_", "support_vectors_", "dual_coef_"}
"""Their number may be another, within the tolerance."""

DEPRECATED = {"probA_", "probB_"}


def described(name: str, value: Any) -> tuple[Any, ...]:
    """Return kind, axes and type of an attribute."""
    if sparse.issparse(value):
        kind = "sparse"
    elif isinstance(value, np.ndarray):
        kind = "array"
    else:
        return (type(value), len(value) if isinstance(value, tuple) else None)
    shape = value.shape
    if name in SUPPORT_VECTORS:
        shape = tuple("n" if k > 3 else k for k in shape)
    # Rows are stored in float32, whatever they come in (`docs/estimators.md`).
    dtype = np.dtype(np.float64) if name == "support_vectors_" else value.dtype
    return (kind, shape, dtype)


@pytest.mark.parametrize("form", ["array", "sparse", "frame"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("theirs", "ours", "words", "n_classes"),
    [(*pair, n) for *pair, counts in PAIRS for n in counts],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_attributes_are_those_of_scikit_learn(
    theirs: Any, ours: Any, words: dict[str, Any], n_classes: int, dtype: Any, form: str
) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[::2, :3].astype(dtype), y[::2]  # few rows: 75
    if n_classes == 2:
        X, y = X[y > 0], np.array(["no", "yes", "maybe"])[y[y > 0]]
    elif n_classes == 0:
        y = X[:, 1] * 2.0
    rows = X
    if form == "sparse":
        if ours in (LinearDCSVC, LinearDCSVR) and dtype == np.float32:
            rows = X.astype(np.float64)  # scikit-learn does not take it
        rows = sparse.csr_array(rows)
    elif form == "frame":
        rows = pd.DataFrame(X, columns=["a", "b", "c"])
    known, found = theirs(**words).fit(rows, y), ours(**words).fit(rows, y)
    public = {name for name in dir(known) if name.endswith("_") and not name.startswith("_")}
    names = {name for name in public - DEPRECATED if hasattr(known, name)}
    assert {"n_features_in_", "intercept_"} <= names
    reported = {name: described(name, getattr(found, name)) for name in names}
    assert reported == {name: described(name, getattr(known, name)) for name in names}
    assert found.predict(rows).dtype == known.predict(rows).dtype
    if hasattr(known, "decision_function"):
        values, same = (one.decision_function(rows) for one in (known, found))
        assert (values.shape, values.dtype) == (same.shape, same.dtype)
