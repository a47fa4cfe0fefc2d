"""Runs of linear SVMs on real rows, and what tests read from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.node import Attempt
from tests.left import KilledError

ROWS, C, TOL = 600, 1.0, 1e-6
HERE = Execution(workers=0)
SQUARED = "squared_hinge"
Rows = tuple[Any, np.ndarray]


def rows_of(shared_data: Callable[[str], Any], name: str, n: int = ROWS) -> Rows:
    """Return n random rows of a real data set, in float32, and their targets in float64."""
    found = shared_data(name)
    index = np.random.default_rng(0).permutation(len(found["X_train"]))[:n]
    return found["X_train"][index], found["y_train"][index].astype(np.float64)


def model_of(run: api.Run) -> dict[str, Any]:
    stages = run.status()["stages"]
    return next(record for name, record in stages.items() if name.startswith("model"))


def weights_of(run: api.Run, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return w and the bias of each SVM, from decision values."""
    rows = np.concatenate([np.zeros((1, n_features)), np.eye(n_features)]).astype(np.float32)
    is_of_classes = run.folder.header["settings"]["task"] == "classification"
    decide = run.decision_function if is_of_classes else run.predict
    values = decide(rows, precision="float64", execution=HERE)
    values = values.reshape(len(rows), -1)
    return (values[1:] - values[0]).T, values[0]


def primal(
    X: Any, y: np.ndarray, w: np.ndarray, b: float, *, squared: bool, cost: Any = C
) -> float:
    short = np.maximum(0.0, 1.0 - y * (X @ w + b)) ** (2 if squared else 1)
    return float(0.5 * (w @ w + b * b) + np.sum(cost * short))


class Killing:
    """Lets the process die at its n-th commit."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
        self.count, commit = 0, Attempt.commit

        def call(attempt: Attempt, record: dict[str, Any]) -> bool:
            self.count += 1
            if self.count == number:
                monkeypatch.setattr(Attempt, "commit", commit)
                raise KilledError
            return commit(attempt, record)

        monkeypatch.setattr(Attempt, "commit", call)


class KillingAt:
    """Lets the process die at the commit of a node of a stage."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stage: str, node: str) -> None:
        commit = Attempt.commit

        def call(attempt: Attempt, record: dict[str, Any]) -> bool:
            if {stage, f"{node}.json"} <= {*str(attempt.commit_object).split("/")}:
                monkeypatch.setattr(Attempt, "commit", commit)
                raise KilledError
            return commit(attempt, record)

        monkeypatch.setattr(Attempt, "commit", call)
