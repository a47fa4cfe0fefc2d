"""Other methods as estimators: the models of their runs."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import (
    BaggingSVC,
    CascadeSVC,
    FourierSVC,
    GreedySVC,
    LtpuSVC,
    NystromSVC,
    OnlineSVC,
)
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.tasks import Classification

ESTIMATORS = [
    CascadeSVC(leaves=4, decide="mean"),
    BaggingSVC(members=3, vote="sign"),
    NystromSVC(rank=30, loss="squared_hinge"),
    FourierSVC(outputs=400, structured=True),
    LtpuSVC(centres=30),
    GreedySVC(basis=20),
    OnlineSVC(passes=2),
]


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    return X, np.array(["malignant", "benign"])[y]


@pytest.mark.one_quick
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.method)
def test_the_model_is_that_of_its_run(estimator: Any, rows: Any, tmp_path: Path) -> None:
    X, y = rows
    model = clone(estimator).set_params(
        C=2.0, gamma=0.05, class_weight="balanced", run=tmp_path / "run"
    )
    model.fit(X[:400], y[:400])
    run = api.open_run(tmp_path / "run")
    np.testing.assert_allclose(
        model.decision_function(X), run.decision_function(X, precision="float64"), atol=1e-6
    )
    assert np.mean(model.predict(X[400:]) == y[400:]) > 0.9
    settings = run.folder.header["settings"]
    assert settings["class_weight"] == pytest.approx(model.class_weight_.tolist())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    model.fit(X[:400], y[:400])  # the run is complete: it is read


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.method)
def test_a_method_s_parameters_and_their_defaults_are_those_of_the_command(estimator: Any) -> None:
    own = METHODS[estimator.method].options().of_task(Classification()).to_json()
    defaults = type(estimator)().get_params()
    known = {name: value for name, value in own.items() if name != "chunks"}
    if isinstance(estimator, CascadeSVC | BaggingSVC):  # theirs is the loss of the task
        known["loss"] = "hinge"
    assert {name: defaults[name] for name in estimator.own()} == known


def test_a_converged_cascade_is_svc(rows: Any) -> None:
    X, y = rows
    cascade = CascadeSVC(leaves=4, C=2.0, gamma=0.05, tol=1e-5).fit(X, y)
    svc = SVC(C=2.0, gamma=0.05, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(cascade.decision_function(X), svc.decision_function(X), atol=1e-3)


def test_many_classes_are_for_scikit_learn_s_own_scheme() -> None:
    X, y = load_digits(n_class=3, return_X_y=True)
    with pytest.raises(InputError, match=r"Only binary classification.*OneVsOneClassifier"):
        NystromSVC().fit(X, y)
    model = OneVsOneClassifier(NystromSVC(rank=50)).fit(X[:300], y[:300])
    assert np.mean(model.predict(X[300:]) == y[300:]) > 0.97


def test_in_scikit_learn_s_company(rows: Any) -> None:
    X, y = rows
    found = cross_val_score(make_pipeline(StandardScaler(), NystromSVC(rank=30)), X, y, cv=3)
    assert found.min() > 0.9


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (CascadeSVC(leaves=3), "leaves must be .*, got 3"),
        (BaggingSVC(vote="loud"), "vote must be .*, got 'loud'"),
        (NystromSVC(kernel="sigmoid"), "kernel must be .*, got 'sigmoid'"),
        (FourierSVC(outputs=3), "outputs must be .*, got 3"),
        (OnlineSVC(C=-1), "C must be a positive number, got -1"),
        (GreedySVC(tol=0), "tol must be a positive number, got 0"),
    ],
)
def test_what_cannot_be_is_refused(estimator: Any, said: str, rows: Any) -> None:
    X, y = rows
    with pytest.raises(InputError, match=said):
        estimator.fit(X, y)
