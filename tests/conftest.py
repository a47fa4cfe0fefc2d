"""Fixtures for every room: real data where it is at hand, one BLAS thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dcsvm_dask.runtime.compilation import use_own_cache

# Before anything imports Numba: this process and the commands that it starts share what they
# compile.
use_own_cache()

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Any]:
    """Return a loader of the real data sets beside the checkout; the test skips where absent."""

    def load(name: str) -> Any:
        path = SHARED / f"{name}.npz"
        if not path.exists():
            if os.environ.get("DCSVM_REQUIRE_SHARED_DATA"):
                pytest.fail(f"the data set {name}.npz is required here and absent")
            pytest.skip(f"needs the data set {name}.npz in ../shared/data, which is absent")
        return np.load(path)

    return load


@pytest.fixture(autouse=True, scope="session")
def _one_blas_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield
