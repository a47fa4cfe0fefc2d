"""Runs whose models come from scikit-learn's SVC, so that prediction is tested without training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from dcsvm_dask.clustering import InputPartition
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.models import Rule
from dcsvm_dask.prediction.predictor import Predictor
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.preparation import keep_preparation
from dcsvm_dask.storage.run import RunFolder


class HandRun(Predictor):
    """A run folder with the methods of a run."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder


@dataclass
class Made:
    """A run made by hand, and what it was made of."""

    run: HandRun
    svc: SVC
    data: DataSet
    X: Any
    X_test: Any
    y_test: np.ndarray
    machines: list[SVC]
    """One for each block of level 2."""
    partition: InputPartition


def two_moons(n: int, seed: int, labels: Any = (-1, 1)) -> tuple[np.ndarray, np.ndarray]:
    """Return two noisy half circles with two more features, on unequal scales."""
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, n)
    t = np.pi * rng.random(n)
    x = np.where(side == 1, 1 - np.cos(t), np.cos(t))
    z = np.where(side == 1, 0.5 - np.sin(t), np.sin(t))
    X = np.stack([x, z, rng.random(n), np.zeros(n)], axis=1)
    X[:, :3] += 0.15 * rng.standard_normal((n, 3))
    # Some labels are wrong, so that every cluster has both.
    side = np.where(rng.random(n) < 0.1, 1 - side, side)
    return (X * [1, 10, 0.1, 1] + [0, 3, -2, 5]).astype(np.float32), np.array(labels)[side]


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Made]:
    """Return a maker of runs with an exact model and a level 2 of a few blocks."""
    return maker(tmp_path)


@pytest.fixture(scope="session")
def kept_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Made]:
    """Return a maker of runs that tests share; they must not change them."""
    made: dict[Any, Made] = {}

    def make(kernel: Kernel | None = None, **how: Any) -> Made:
        key = (kernel, *sorted(how.items()))
        if key not in made:
            made[key] = maker(tmp_path_factory.mktemp("run"))(kernel, **how)
        return made[key]

    return make


def maker(home: Path) -> Callable[..., Made]:
    """Return a maker of runs below a folder."""

    def make(
        kernel: Kernel | None = None,
        *,
        labels: Any = (-1, 1),
        scale: str = "minmax",
        is_sparse: bool = False,
        n: int = 200,
        n_blocks: int = 3,
        repeats: bool = False,
        exact: bool = True,
        level: bool = True,
        place: str | Path = "",
    ) -> Made:
        kernel = kernel or Kernel("rbf", gamma=2.0)
        X, y = two_moons(n, 0, labels)
        X_test, y_test = two_moons(100, 1, labels)
        if repeats:
            X[n // 2 :], y[n // 2 :] = X[: n - n // 2], y[: n - n // 2]
        home_place = Location.of(place or home)
        source = (sparse.csr_array(X), y) if is_sparse else (X, y)
        test = (sparse.csr_array(X_test), y_test) if is_sparse else (X_test, y_test)
        data = ingest(source, home_place / "data.zarr", test=test, scale=scale)
        settings = Settings(
            kernel, 10.0, True, (n_blocks,), True, 100, 1000, 1000, 0.01, 0.001, 0, 4096
        )
        header = {
            "settings": settings.to_json(),
            "goals": {"tol": 1e-3, "stop_at": 0, "max_rounds": 10},
            "data": {"url": data.url, "fingerprint": data.fingerprint},
            "versions": {},
        }
        folder = RunFolder.create(home_place / "run", header)
        keep_preparation(folder, data)
        rows = data.rows.read(0, data.n_rows)
        svc = fit(kernel, rows, y, C=10.0)
        if exact:
            write_exact(folder, data, svc, repeats)
        machines, partition = write_level(folder, data, kernel, y, n_blocks, commit=level)
        return Made(HandRun(folder), svc, data, X, X_test, y_test, machines, partition)

    return make


def fit(kernel: Kernel, rows: Any, y: np.ndarray, C: float) -> SVC:
    """Return scikit-learn's SVC with the same kernel."""
    svc = SVC(C=C, kernel=kernel.name, gamma=kernel.gamma, degree=kernel.degree, coef0=kernel.coef0)
    return svc.fit(rows, y)


def write_exact(folder: RunFolder, data: DataSet, svc: SVC, repeats: bool) -> None:
    """Commit an SVC as the exact model, equal rows merged."""
    n = data.n_rows
    representative = np.arange(n)
    if repeats:
        representative[n // 2 :] = np.arange(n - n // 2)
    attempt = folder.attempt("arrange", "commit")
    attempt.write("representative", representative)
    attempt.commit({"rows": n, "variables": len(np.unique(representative))})
    signed = np.zeros(n)
    signed[svc.support_] = dense(svc.dual_coef_)[0]
    merged = np.zeros(n)
    np.add.at(merged, representative, signed)
    alpha = (
        np.abs(merged[representative]) / np.bincount(representative, minlength=n)[representative]
    )
    attempt = folder.attempt("model-conquer-003", "commit")
    attempt.write("alpha", alpha[None, :])
    support = np.flatnonzero(merged)
    record = write_model(
        attempt,
        [data.rows.take(support)],
        merged[None, support],
        np.array([[len(support)]]),
        np.asarray(svc.intercept_, dtype=np.float64)[None, :],
        n_features=data.n_features,
        sparse=data.is_sparse,
    )
    attempt.commit({"began": 1.0, "violation": 5e-4, **record})


def write_level(
    folder: RunFolder, data: DataSet, kernel: Kernel, y: np.ndarray, n_blocks: int, commit: bool
) -> tuple[list[SVC], InputPartition]:
    """Commit an SVC for each block as level 2."""
    rows = data.rows.read(0, data.n_rows)
    partition = InputPartition.fit(rows, n_blocks, np.random.default_rng(3))
    blocks = partition.assign(rows)
    machines = [fit(kernel, rows[blocks == b], y[blocks == b], 10.0) for b in range(n_blocks)]
    if commit:
        attempt = folder.attempt("level-2", "commit")
        counts = [len(m.support_) for m in machines]
        index = [np.flatnonzero(blocks == b)[m.support_] for b, m in enumerate(machines)]
        record = write_model(
            attempt,
            [data.rows.take(i) for i in index],
            np.concatenate([dense(m.dual_coef_) for m in machines], axis=1),
            np.array(counts, dtype=np.int64)[:, None],
            np.array([m.intercept_ for m in machines]),
            n_features=data.n_features,
            sparse=data.is_sparse,
            rule=Rule(partition, np.arange(n_blocks, dtype=np.int64)),
        )
        attempt.commit({"began": 0.5, "violation": 5e-4, **record})
    return machines, partition


def dense(matrix: Any) -> np.ndarray:
    """Return a dense array."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)
