"""Features whose products are too large for linear methods are refused, with row and feature."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators import LinearDCSVC, LinearDCSVR
from dcsvm_dask.kernels.rows import largest_value
from dcsvm_dask.solvers import solve_cutting
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.tasks import Classification
from tests.methods.linear.runs import HERE

ROW, FEATURE = 37, 2


def rows(value: float = -1e30) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[ROW, FEATURE] = value
    return X, y


@pytest.mark.parametrize("as_csr", [False, True])
def test_the_largest_value_has_its_row_and_feature(as_csr: bool) -> None:
    X, _ = rows()
    found = largest_value(sparse.csr_array(X) if as_csr else X)
    assert found == (ROW, FEATURE, float(np.float32(-1e30)))
    assert largest_value(X[:0]) is None


@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        {},
        {"fit_intercept": True},
        {"method": "dcd"},
        {"method": "ocas"},
        {"method": "cpa", "fit_intercept": True},
    ],
)
def test_a_run_does_not_begin(as_csr: bool, words: dict[str, Any], tmp_path: Path) -> None:
    X, y = rows()
    # Of arrays only features of sparse rows are looked at one by one.
    warned = pytest.warns(DcsvmWarning, match="so far from the others")
    with warned if as_csr else nullcontext():
        api.ingest((sparse.csr_array(X) if as_csr else X, y), tmp_path / "data")
    said = rf"data/train: feature {FEATURE} of row {ROW} is -1e\+30; .* scale the features"
    with pytest.raises(InputError, match=said):
        api.train(
            tmp_path / "data",
            tmp_path / "run",
            kernel="linear",
            execution=HERE,
            quiet=True,
            **words,
        )
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match=said):
        api.plan(tmp_path / "data", kernel="linear", execution=HERE, **words)


def test_scaled_rows_are_taken(tmp_path: Path) -> None:
    data = api.ingest(rows(), tmp_path / "data", scale="minmax")
    assert data.largest is not None
    assert abs(data.largest[2]) <= 1.0
    words: dict[str, Any] = {"kernel": "linear", "execution": HERE, "quiet": True}
    assert api.train(data.place.url, tmp_path / "run", **words).status()["state"] == "complete"


@pytest.mark.one_quick
@pytest.mark.parametrize("words", [{}, {"parts": 2}, {"chunks": 3}, {"method": "ocas"}])
def test_a_data_set_that_does_not_say_is_refused_where_it_is_read(
    words: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.ingest(rows(), tmp_path / "data")
    opened: Callable[..., DataSet] = DataSet.open.__func__  # type: ignore[attr-defined]

    def call(cls: type[DataSet], place: Any) -> DataSet:
        return replace(opened(cls, place), largest=None)

    monkeypatch.setattr(DataSet, "open", classmethod(call))
    how = {"kernel": "linear", "method": "dcd", "fit_intercept": True, **words}
    with pytest.raises(Exception, match=f"feature {FEATURE} of row {ROW} is"):
        api.train(tmp_path / "data", tmp_path / "run", execution=HERE, quiet=True, **how)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    "svm",
    [
        LinearDCSVC(loss="hinge"),
        LinearDCSVC(dual=False),
        LinearDCSVC(penalty="l1", dual=False),
        LinearDCSVC(loss="hinge", intercept_scaling=np.inf),
        LinearDCSVR(dual=True),
    ],
)
def test_estimators_refuse_them(svm: Any) -> None:
    X, y = rows()
    with pytest.raises(InputError, match=rf"X: feature {FEATURE} of row {ROW} is -1e\+30"):
        svm.fit(X, y)


def test_cutting_planes_refuse_them() -> None:
    X, y = rows()
    with pytest.raises(InputError, match=rf"X: feature {FEATURE} of row {ROW} is -1e\+30"):
        solve_cutting(X, Classification().dual(y, np.ones(len(y))))
