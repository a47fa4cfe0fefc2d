"""Margins that the tolerance does not resolve are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from dcsvm_dask import Execution, api
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.estimators import DCOneClassSVM
from dcsvm_dask.methods.narrow import margins_of, narrow_margins_warning
from dcsvm_dask.tasks import NuClassification, NuRegression, OneClass


@pytest.mark.parametrize(
    ("task", "record", "margins"),
    [
        (OneClass(nu=0.1), {"bias": -3.0}, [3.0]),
        (OneClass(nu=0.1), {"offset": -3.0}, []),  # a level
        (NuClassification(nu=0.1), {"bias": 1.0, "multiplier": 0.5}, [0.5]),
        (NuClassification(nu=0.1), {"of_pairs": {"multiplier": [0.5, 2.0]}}, [0.5, 2.0]),
        (NuRegression(nu=0.1), {"bias": 1.0, "multiplier": 0.0}, []),  # no margin, but a tube
    ],
)
def test_margins_are_those_of_each_svm(task: Any, record: Any, margins: list[float]) -> None:
    assert margins_of(record, task) == margins


def test_how_many_are_below_the_tolerance() -> None:
    assert narrow_margins_warning([0.5, 2.0], 0.1) is None
    said = narrow_margins_warning([0.05, 2.0], 0.1)
    assert said is not None
    assert "1 of 2 SVMs is below tol=0.1 (the smallest is 0.05)" in said


@pytest.mark.long
def test_one_class_estimator_warns(wine: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.warns(ConvergenceWarning, match="The margin rho of 1 of 1 SVMs"):
        DCOneClassSVM(nu=1e-7).fit(wine[0])


@pytest.mark.long
def test_run_warns(wine: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    data = tmp_path / "d.zarr"
    api.ingest((wine[0], None), data, task="one-class")
    how = {"nu": 1e-7, "gamma": 0.1, "execution": Execution(workers=0), "report": False}
    with pytest.warns(DcsvmWarning, match="the margin rho of 1 of 1 SVMs"):
        api.train(data, tmp_path / "run", **how)
