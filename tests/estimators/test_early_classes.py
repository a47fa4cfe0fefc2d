"""DCSVC by an early model of many classes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.pipeline import training
from tests.marks import long

WORDS: dict[str, Any] = {"C": 5.0, "gamma": 0.1}


@pytest.mark.long
@pytest.mark.parametrize("multiclass", [long("ovo"), "ovr"])
@pytest.mark.parametrize("is_sparse", [False, long(True)], ids=["dense", "csr"])
def test_an_early_model_goes_on_to_the_exact_one(
    is_sparse: bool,
    multiclass: str,
    digits: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training, "LEAST_ROWS_FOR_LEVELS", 200)
    X, y = digits
    X = sparse.csr_array(X) if is_sparse else X
    words = WORDS | {"multiclass": multiclass}
    early = DCSVC(**words, stop_at=1, run=tmp_path / "run").fit(X[:1200], y[:1200])
    assert early.level_ == 1
    assert not hasattr(early, "dual_coef_")
    assert early.score(X[1200:], y[1200:]) > 0.9
    run = api.open_run(tmp_path / "run")
    told = run.decision_function(X[1200:], precision="float64")
    np.testing.assert_allclose(early.decision_function(X[1200:]), told, atol=1e-6)
    np.testing.assert_array_equal(early.predict(X[1200:]), run.predict(X[1200:]))
    assert early.support_vectors_.shape == (run.status()["n_support"], 64)
    again = pickle.loads(pickle.dumps(early))
    np.testing.assert_array_equal(again.predict(X[1200:]), early.predict(X[1200:]))
    exact = clone(early).set_params(stop_at=0).fit(X[:1200], y[:1200])
    svc: Any = SVC(**WORDS) if multiclass == "ovo" else OneVsRestClassifier(SVC(**WORDS))
    svc.fit(X[:1200], y[:1200])
    np.testing.assert_array_equal(exact.predict(X[1200:]), svc.predict(X[1200:]))
