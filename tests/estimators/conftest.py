"""Real problems of two classes and many, in rows that float32 holds exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets


@pytest.fixture(scope="session")
def problem(shared_data: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a loader of (X, y) by name; the test skips where the set is absent.

    "wine", "breast_cancer" are standardised, "raw_wine" is not.
    """
    loaded: dict[str, Any] = {}

    def make(name: str) -> Any:
        if name == "usps":
            data = shared_data(name)
            return data["X_train"], data["y_train"].astype(np.int64)
        if name == "mnist":
            data = shared_data(name)
            return data["X_train"][:3000] / np.float32(255), data["y_train"][:3000]
        if name.startswith("news20"):
            data = shared_data("news20_tfidf")
            values, indices, indptr = (
                data[f"X_train_{part}"] for part in ("data", "indices", "indptr")
            )
            # SVC takes 32-bit indices only.
            parts = values, indices.astype(np.int32), indptr.astype(np.int32)
            X = sparse.csr_array(parts, shape=tuple(map(int, data["X_train_shape"])))
            rows = int(name.split("-")[1])
            return X[:rows], data["y20_train"][:rows]
        X, y = getattr(datasets, f"load_{name.removeprefix('raw_')}")(return_X_y=True)
        if name in ("wine", "breast_cancer"):
            X = (X - X.mean(axis=0)) / X.std(axis=0)
        return X, y

    def load(name: str) -> Any:
        if name not in loaded:
            X, y = make(name)
            loaded[name] = X.astype(np.float32), y
        return loaded[name]

    return load
