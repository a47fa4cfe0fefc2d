"""Small real data that many tests use; `tests/conftest.py` makes the fixtures known everywhere."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

from dcsvm_dask import api


@pytest.fixture(scope="session")
def magic_rows(shared_data: Callable[[str], Any]) -> Callable[[int], tuple[Any, Any]]:
    """Return a maker of standardised rows of magic, in an order drawn once, and their labels."""
    file = shared_data("magic")
    order = np.random.default_rng(0).permutation(len(file["X_train"]))

    def make(n: int) -> tuple[Any, Any]:
        X = file["X_train"][order[:n]].astype(np.float64)
        return (X - X.mean(axis=0)) / X.std(axis=0), file["y_train"][order[:n]]

    return make


@pytest.fixture(scope="session")
def demo_rows(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a maker of data sets from the first rows of the demo's data."""
    made: dict[tuple[int, str], Path] = {}

    def make(n: int, **how: Any) -> Path:
        key = (n, repr(sorted(how.items())))
        if key not in made:
            source = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
            made[key] = tmp_path_factory.mktemp("data") / "rows.zarr"
            api.ingest(
                str(source),
                made[key],
                label="lodgepole_pine",
                scale="minmax",
                rows=(0, n),
                **how,
            )
        return made[key]

    return make


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Give handwritten digits, in [0, 1], and which they are."""
    X, y = load_digits(return_X_y=True)
    return (X / 16).astype(np.float32), y


@pytest.fixture(scope="module")
def wine() -> tuple[np.ndarray, np.ndarray]:
    """Give measures of wines, standardised, and their three kinds."""
    X, y = load_wine(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32), y
