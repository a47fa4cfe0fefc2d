"""Real rows, and runs of linear SVMs over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import api
from tests.methods.linear.runs import HERE, TOL, C, Rows, rows_of


@pytest.fixture(scope="session")
def classes(shared_data: Callable[[str], Any]) -> Rows:
    X, y = rows_of(shared_data, "a9a")
    return sparse.csr_array(X), y


@pytest.fixture(scope="session")
def targets(shared_data: Callable[[str], Any]) -> Rows:
    X, z = rows_of(shared_data, "cadata")
    X = X.astype(np.float64)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32), z / z.std() + 5.0


@pytest.fixture
def train_linear(tmp_path: Path) -> Callable[..., api.Run]:
    def call(rows: Rows, name: str = "run", **how: Any) -> api.Run:
        words: dict[str, Any] = {"kernel": "linear", "C": C, "tol": TOL, **how}
        weights = words.pop("weights", None)
        place = tmp_path / "data"
        if not place.exists():
            task = words.get("task", "classification")
            api.ingest(rows, place, task=task, weights=weights)
        execution = words.pop("execution", HERE)
        return api.train(place, tmp_path / name, execution=execution, quiet=True, **words)

    return call
