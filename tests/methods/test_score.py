"""Held-out rows that are stored otherwise than those that are trained on: CSR beside dense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dcsvm_dask import api
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.marks import long

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

HERE = Execution(workers=0)
METHODS: list[Any] = [
    ("dcsvm", {"clusters": (4,), "committee": True}),
    long("bagging", {}),
    long("nystrom", {"rank": 40}),
    long("fourier", {"outputs": 64}),
    long("ltpu", {"centres": 40}),
    long("greedy", {"basis": 20}),
]


def stored(place: Path, train: Any, test: Any) -> None:
    """Store both parts dense in one data set, and as CSR in another one."""
    for name in ("dense", "sparse"):
        api.ingest(train, place / f"{name}.zarr", test=test, sparse=name == "sparse")


@pytest.fixture(scope="module")
def demo(demo_rows: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    data, place = DataSet.open(demo_rows(600)), tmp_path_factory.mktemp("demo")
    X, y = np.asarray(data.rows.read(0, 600)), data.read_codes(0, 600)
    stored(place, (X[:450], y[:450]), (X[450:], y[450:]))
    return place


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = load_digits(return_X_y=True)
    X, place = (X / 16).astype(np.float32), tmp_path_factory.mktemp("digits")
    stored(place, (X[:500], y[:500]), (X[500:700], y[500:700]))
    return place


def scores(data: Path, out: Path, trained: str, held: str, **how: Any) -> dict[str, float]:
    run = api.train(
        data / f"{trained}.zarr",
        out / f"{trained}-{held}",
        holdout=data / f"{held}.zarr" / "test",
        execution=HERE,
        quiet=True,
        report=False,
        **how,
    )
    found = run.status()
    assert found["state"] == "complete"
    return {
        name: stage["accuracy"]
        for name, stage in found["stages"].items()
        if name.startswith("score-")
    }


def check(data: Path, out: Path, **how: Any) -> None:
    for trained, held in (("dense", "sparse"), ("sparse", "dense")):
        wanted = scores(data, out, trained, trained, **how)
        assert wanted
        assert scores(data, out, trained, held, **how) == pytest.approx(wanted, abs=0.011)


@pytest.mark.long
@pytest.mark.parametrize(("method", "how"), METHODS)
def test_methods_score_rows_that_are_stored_otherwise(
    method: str, how: dict[str, Any], demo: Path, tmp_path: Path
) -> None:
    check(demo, tmp_path, method=method, gamma=8.0, C=4.0, **how)


@pytest.mark.long
def test_many_classes_score_rows_that_are_stored_otherwise(digits: Path, tmp_path: Path) -> None:
    check(digits, tmp_path, gamma=0.1, C=4.0, clusters=(3,))
