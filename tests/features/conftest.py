"""Real rows: the demo's Covertype, min-max scaled, dense and sparse."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse


@pytest.fixture(scope="session")
def covtype() -> NDArray[np.float32]:
    """1,200 rows of 54 features, 44 of them binary."""
    with resources.as_file(resources.files("dcsvm_dask.demo") / "covtype.csv.xz") as path:
        X = np.loadtxt(path, delimiter=",", skiprows=1, max_rows=1200)[:, :-1]
    low, high = X.min(axis=0), X.max(axis=0)
    return ((X - low) / np.where(high > low, high - low, 1)).astype(np.float32)


@pytest.fixture(scope="session", params=["dense", "sparse"])
def rows(request: pytest.FixtureRequest, covtype: NDArray[np.float32]) -> Any:
    return covtype if request.param == "dense" else sparse.csr_array(covtype)
