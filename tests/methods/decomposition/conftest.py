"""Real rows, and runs of parallel decomposition over several shares of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.solvers.parallel import solve
from tests.methods.decomposition.runs import HERE, ROWS, SHARE_ROWS, SIZE


@pytest.fixture(autouse=True)
def _several_shares(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let few rows have three shares."""
    monkeypatch.setattr(solve, "SHARE_ROWS", SHARE_ROWS)
    return


def some(shared_data: Callable[[str], Any], name: str, n: int) -> tuple[Any, Any]:
    file = shared_data(name)
    index = np.random.default_rng(0).permutation(len(file["X_train"]))[:n]
    return file["X_train"][index].astype(np.float64), file["y_train"][index].astype(np.float64)


@pytest.fixture(scope="session")
def magic(shared_data: Callable[[str], Any]) -> tuple[Any, Any]:
    """Give rows of two classes, a few of them twice, and 200 more to score."""
    X, y = some(shared_data, "magic", ROWS + 200)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    X[ROWS - 60 : ROWS], y[ROWS - 60 : ROWS] = X[:60], y[:60]
    return X, np.where(y == y.max(), 1, -1)


@pytest.fixture(scope="session")
def a9a(shared_data: Callable[[str], Any]) -> tuple[Any, Any]:
    """Give sparse rows of two classes."""
    X, y = some(shared_data, "a9a", ROWS)
    return sparse.csr_array(X.astype(np.float32)), y.astype(int)


@pytest.fixture(scope="session")
def cadata(shared_data: Callable[[str], Any]) -> tuple[Any, Any]:
    """Give rows with real targets."""
    X, z = some(shared_data, "cadata", ROWS)
    return ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32), (z - z.mean()) / z.std()


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., api.Run]:
    """Return a function that ingests rows once by their task, and trains on them."""

    def call(rows: Any, name: str = "run", **how: Any) -> api.Run:
        words: dict[str, Any] = {"method": "decomposition", "gamma": 0.1, "C": 4.0, **how}
        task = words.get("task", "classification")
        if task == "one-class" or (task == "classification" and words.get("svm_type") == "nu"):
            del words["C"]
        if words["method"] == "decomposition":
            words = {"size": SIZE, **words}
        weights, place = words.pop("weights", None), tmp_path / words.pop("data", "data")
        if not place.exists():
            api.ingest(rows, place, task=task, weights=weights)
        execution = words.pop("execution", HERE)
        return api.train(place, tmp_path / name, execution=execution, quiet=True, **words)

    return call
