"""SVMs of unscaled features, whose rows do not see each other, are not trained without a word."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    CascadeSVC,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
)
from tests.marks import long

X, Y = load_diabetes(return_X_y=True, scaled=False)
X, Y = X[:200] * 10.0, Y[:200]
KINDS = [DCSVC, long(DCSVR), long(DCNuSVC), long(DCNuSVR), long(DCQuantileSVR)]


@pytest.mark.parametrize("kind", [*KINDS, long(DCOneClassSVM), long(CascadeSVC)])
def test_estimators_warn(kind: Any) -> None:
    y = np.where(np.median(Y) < Y, 1, -1) if kind in (DCSVC, DCNuSVC, CascadeSVC) else Y
    said = "is 0 between different rows .* scale the features"
    with pytest.warns(DcsvmWarning, match=said) as reported:
        kind(gamma=1.0).fit(X, y)
    assert kind is CascadeSVC or reported[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", DcsvmWarning)
        kind(gamma=0.1).fit((X - X.mean(axis=0)) / X.std(axis=0), y)


@pytest.mark.long
def test_runs_warn_at_their_end_and_when_they_go_on(tmp_path: Any) -> None:
    how: dict[str, Any] = {"execution": api.Execution(workers=0), "quiet": True, "report": False}
    tasks: dict[str, dict[str, Any]] = {
        "regression": {"svm_type": "nu"},
        "quantile": {"quantile": (0.1, 0.9)},
    }
    for task, words in tasks.items():
        data = api.ingest((X, Y), tmp_path / f"{task}.zarr", task=task)
        with pytest.warns(DcsvmWarning, match="is 0 between different rows"):
            run = api.train(data.url, tmp_path / task, gamma=1.0, task=task, **words, **how)
        with pytest.warns(DcsvmWarning, match="is 0 between different rows"):
            api.resume(run.url, tol=1e-4, **how)
