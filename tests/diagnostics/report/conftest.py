"""Small real runs that reports are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.reporting import Reporting
from dcsvm_dask.methods import sizes
from dcsvm_dask.runtime.execution import Execution
from tests.callbacks import StopAt

N, HELD_OUT = 700, 150
SETTINGS: dict[str, Any] = {"gamma": 8.0, "C": 8.0, "clusters": (4, 2), "block_cap": 128}


def blobs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two features in four clusters, with classes that overlap."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.1, 0.1], [0.9, 0.2], [0.2, 0.9], [0.8, 0.8]])
    X = centres[rng.integers(4, size=n)] + rng.normal(scale=0.12, size=(n, 2))
    y = np.where(X[:, 0] + 0.3 * np.sin(9 * X[:, 1]) + rng.normal(scale=0.1, size=n) > 0.5, 1, -1)
    return X.astype(np.float32), y


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("data") / "blobs.zarr"
    api.ingest(blobs(N, 0), place, test=blobs(HELD_OUT, 1))
    return place


@pytest.fixture(scope="session")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """Give a run with two levels, rounds, and rows held out."""
    place = tmp_path_factory.mktemp("runs") / "tree"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "SLOT_ROWS", 128)
        return train(data, place, holdout=data / "test", **SETTINGS)


@pytest.fixture(scope="session")
def biased(data: Path, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """Give a run with a level and a bias."""
    place = tmp_path_factory.mktemp("runs") / "bias"
    return train(data, place, fit_intercept=True, gamma=8.0, C=8.0, clusters=(4,))


@pytest.fixture(scope="session")
def stopped(data: Path, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    """Give a run that was ended after its bottom level; copy it before you change it."""
    stop = StopAt("level-2", api.StopRun("enough"))
    return train(data, tmp_path_factory.mktemp("runs") / "cut", callbacks=[stop], **SETTINGS)


def train(data: Path, place: Path, **parameters: Any) -> api.Run:
    """Train inside this process."""
    return api.train(data, place, execution=Execution(workers=0), quiet=True, **parameters)


WRITE = Reporting.write  # before tests/conftest.py switches it off


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs end with their reports."""
    monkeypatch.setattr(Reporting, "write", WRITE)
