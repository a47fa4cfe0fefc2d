"""Estimators take what their peers in scikit-learn take, with the same defaults."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV

from dcsvm_dask import estimators
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVR, DCNuSVC, DCNuSVR, DCOneClassSVM, DCQuantileSVR

PEERS = {
    "DCSVC": svm.SVC,
    "DCSVR": svm.SVR,
    "DCNuSVC": svm.NuSVC,
    "DCNuSVR": svm.NuSVR,
    "DCOneClassSVM": svm.OneClassSVM,
    "LinearDCSVC": svm.LinearSVC,
    "LinearDCSVR": svm.LinearSVR,
    "DCSVMSearchCV": GridSearchCV,
}
WITHOUT_PEER = {
    "BaggingSVC", "BudgetedSVC", "BudgetedSVR", "CascadeSVC", "DCQuantileSVR", "FourierSVC",
    "GreedySVC", "LtpuSVC", "NystromSVC", "OnlineSVC",
}  # fmt: skip
OTHER_DEFAULTS = {
    "cache_size": "memory is larger than it was when 200 MB were chosen",
    "estimator": "DCSVC()",
    "param_grid": "refused where it is missing",
    "n_jobs": "all cores, as of all estimators here",
}
# scikit-learn 1.9 deprecates it with the default that is ours; before, it was False there.
PROBABILITY_IS_DEPRECATED = svm.SVC().probability is not False
NOT_TAKEN = {"DCSVMSearchCV": {"verbose", "pre_dispatch", "error_score", "return_train_score"}}
KERNEL_MACHINES = [DCSVR(), DCNuSVC(nu=0.2), DCNuSVR(), DCOneClassSVM(), DCQuantileSVR()]


def parameters(kind: Any) -> dict[str, Any]:
    return {one.name: one.default for one in inspect.signature(kind).parameters.values()}


@pytest.fixture(scope="module")
def rows() -> Any:
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def test_every_estimator_has_a_peer_or_is_known_to_have_none() -> None:
    kinds = {name for name in estimators.__all__ if inspect.isclass(getattr(estimators, name))}
    assert kinds == {*PEERS} | WITHOUT_PEER


@pytest.mark.parametrize("name", PEERS)
def test_parameters_are_those_of_the_peer(name: str) -> None:
    own, others = parameters(getattr(estimators, name)), parameters(PEERS[name])
    assert others.keys() - own.keys() == NOT_TAKEN.get(name, set())
    differing = {
        key for key, value in others.items() if key in own and own[key] not in (value, None)
    }
    if not PROBABILITY_IS_DEPRECATED:
        differing.discard("probability")
    assert differing <= {*OTHER_DEFAULTS}


@pytest.mark.parametrize("model", KERNEL_MACHINES, ids=lambda model: type(model).__name__)
def test_shrinking_and_verbose_are_taken(model: Any, rows: Any, capsys: Any) -> None:
    X, y = rows[0][:200], rows[1][:200]
    plain = type(model)(**model.get_params()).fit(X, y)
    assert capsys.readouterr().out == ""
    other = type(model)(**model.get_params()).set_params(shrinking=False, verbose=2).fit(X, y)
    np.testing.assert_array_equal(plain.dual_coef_, other.dual_coef_)
    assert capsys.readouterr().out.startswith("1 of 1 SVMs solved (")
    with pytest.raises(InputError, match="shrinking is 'no'"):
        type(model)(shrinking="no").fit(X, y)
    with pytest.raises(InputError, match="verbose must be True, False or a whole number"):
        type(model)(verbose=-1).fit(X, y)


@pytest.mark.parametrize("model", KERNEL_MACHINES, ids=lambda model: type(model).__name__)
def test_larger_fits_say_how_far_they_are(
    model: Any, rows: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcsvm_dask.estimators.fit_lines.FOLLOWED_ABOVE", 100)
    monkeypatch.setattr("dcsvm_dask.estimators.fit_lines.INTERVAL", 0.0)
    monkeypatch.setattr("dcsvm_dask.solvers.nu.SMALL", 100)
    monkeypatch.setattr("dcsvm_dask.solvers.whole.SMALL", 100)
    X, y = rows
    type(model)(**model.get_params()).set_params(verbose=True, cache_size=0.6).fit(X, y)
    assert "0 of 1 SVMs solved; one is at" in capsys.readouterr().out


def test_class_weights_are_factors_of_the_weights_of_rows(rows: Any, tmp_path: Any) -> None:
    X, y = rows
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    factors = {0: 3.0, 1: 0.5}
    found = DCNuSVC(nu=0.2, tol=1e-6, class_weight=factors).fit(X, y, weight)
    each = weight * np.where(y == 0, 3.0, 0.5)
    wanted = svm.NuSVC(nu=0.2, tol=1e-6).fit(X, y, each)
    assert found.class_weight_.tolist() == [3.0, 0.5]
    close: dict[str, Any] = {"rtol": 0, "atol": 1e-3}
    values = wanted.decision_function(X)
    np.testing.assert_allclose(found.decision_function(X), values, **close)
    run = tmp_path / "run"
    trained = DCNuSVC(nu=0.2, tol=1e-6, class_weight=factors, run=run).fit(X, y, weight)
    np.testing.assert_allclose(trained.decision_function(X), values, **close)
    assert DCNuSVC.from_run(run).class_weight == factors
    with pytest.raises(InputError, match="nu must be at most"):
        DCNuSVC(nu=0.9).fit(X, y)
    assert DCNuSVC(nu=0.9, class_weight="balanced").fit(X, y).score(X, y) > 0.9


def test_a_nu_svc_has_probabilities(rows: Any) -> None:
    X, y = rows
    nu = 2 * min(np.bincount(y)) / len(y)  # a fold may allow less
    for model in (DCNuSVC(nu=nu, probability=True), DCNuSVC(nu=0.2, probability=True)):
        with pytest.warns(FutureWarning, match=r"CalibratedClassifierCV\(DCNuSVC\(\)"):
            model.fit(X, y)
        found = model.predict_proba(X)
        assert np.mean((found[:, 1] > 0.5) == y) > 0.9
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
    with pytest.warns(FutureWarning) if PROBABILITY_IS_DEPRECATED else nullcontext():
        wanted = svm.NuSVC(nu=0.2, probability=True, random_state=0).fit(X, y).predict_proba(X)
    assert np.mean(np.abs(found - wanted)) < 0.05
    assert not hasattr(DCNuSVC(), "predict_proba")
