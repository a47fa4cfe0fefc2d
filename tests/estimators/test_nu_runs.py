"""nu-SVMs and the one-class SVM as runs: scikit-learn's solutions, kept and gone on with."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import NuSVC, NuSVR, OneClassSVM

import dcsvm_dask
from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC, DCNuSVC, DCNuSVR, DCOneClassSVM, DCSVMSearchCV
from dcsvm_dask.pipeline import levels as training_levels
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.topic import TOPIC
from tests.marks import long

WORDS: dict[str, Any] = {"gamma": 0.2, "tol": 1e-6, "nu": 0.3}
KINDS = [DCNuSVC(**WORDS), DCNuSVR(**WORDS, C=2.0), DCOneClassSVM(**WORDS)]
PEERS = [NuSVC(**WORDS), NuSVR(**WORDS, C=2.0), OneClassSVM(**WORDS)]
PAIRS = list(zip(KINDS, PEERS, strict=True))
LOCAL = 10.0
"""A gamma with which levels pay."""
IDS = ["classes", "targets", "novelty"]


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return a loader of standardised rows, 40 of them twice, and labels or targets.

    The last 200 are for predictions.
    """

    def load(estimator: Any) -> Any:
        name = "cadata" if isinstance(estimator, DCNuSVR) else "magic"
        file = shared_data(name)
        some = np.random.default_rng(0).permutation(len(file["X_train"]))[:1200]
        some = np.concatenate([some[:40], some])
        X, y = file["X_train"][some].astype(np.float64), file["y_train"][some]
        X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
        return X, (y - y.mean()) / y.std() + 3.0 if name == "cadata" else y.astype(np.int64)

    return load


@pytest.fixture
def trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have some hundred rows make a tree of a level."""
    monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 500)


def values(model: Any, X: Any) -> Any:
    decides = hasattr(model, "decision_function")
    return model.decision_function(X) if decides else model.predict(X)


def told(run: Path, model: Any, X: Any) -> Any:
    """Return what a run decides by."""
    opened = api.open_run(run)
    decides = opened.predict if isinstance(model, DCNuSVR) else opened.decision_function
    return np.squeeze(decides(X, precision="float64"))


def objective(model: Any, y: Any) -> float:
    """Return the dual objective, of nu-SVC before the division by rho, in float64."""
    beta, Z = (
        part.toarray() if sparse.issparse(part) else part
        for part in (model.dual_coef_, model.support_vectors_)
    )
    found = 0.5 * beta[0] @ rbf_kernel(np.asarray(Z, np.float64), gamma=model.gamma) @ beta[0]
    return float(found - (beta[0] @ y[model.support_] if isinstance(model, NuSVR) else 0.0))


@pytest.mark.one_quick
@pytest.mark.parametrize(("estimator", "peer"), PAIRS, ids=IDS)
@pytest.mark.parametrize("gamma", [LOCAL, long(0.2)])
@pytest.mark.parametrize("is_sparse", [False, long(True)], ids=["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_run_ends_in_scikit_learn_s_solution(
    rows: Any,
    tmp_path: Path,
    trees: None,
    estimator: Any,
    peer: Any,
    gamma: float,
    is_sparse: bool,
    weighted: bool,
) -> None:
    X, y = rows(estimator)
    X = sparse.csr_array(np.where(np.abs(X) < 0.3, 0.0, X).astype(np.float32)) if is_sparse else X
    every, X, y = X, X[:-200], y[:-200]
    weight = np.random.default_rng(1).choice([0.25, 1.0, 3.5], len(y)) if weighted else None
    run = clone(estimator).set_params(run=tmp_path / "run", gamma=gamma)
    run.fit(X, y, sample_weight=weight)
    has_levels = api.open_run(tmp_path / "run").folder.find("level-1", "commit") is not None
    assert has_levels == (gamma == LOCAL)  # with a smooth kernel they do not pay
    Z = X.astype(np.float64)
    theirs = clone(peer).set_params(gamma=gamma).fit(Z, y, sample_weight=weight)
    expected, best = values(theirs, every.astype(np.float64)), objective(theirs, y)
    np.testing.assert_allclose(values(run, every), expected, rtol=0, atol=1e-4 * np.std(expected))
    ours = float(np.squeeze(run.objective_))
    if isinstance(run, DCNuSVC):
        # The division by rho makes an error of the tolerance one of 2 tol / rho.
        total = run.nu * (len(y) if weight is None else weight.sum())
        rho = total / np.abs(theirs.dual_coef_).sum()
        assert run.rho_[0] == pytest.approx(rho, rel=1e-5)
        ours, best = ours * run.rho_[0] ** 2, best * rho**2
    assert ours == pytest.approx(best, rel=1e-6)
    if isinstance(run, DCOneClassSVM):
        np.testing.assert_allclose(run.offset_, theirs.offset_, rtol=1e-5)
        np.testing.assert_allclose(run.score_samples(X), theirs.score_samples(Z), rtol=1e-4)
    # A fit in memory learns the same.
    here = clone(estimator).set_params(gamma=gamma).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(run.objective_, here.objective_, rtol=1e-5)
    np.testing.assert_allclose(run.intercept_, here.intercept_, rtol=1e-4, atol=1e-5)
    assert len(np.setxor1d(run.support_, here.support_)) <= 0.01 * len(here.support_)
    assert (run.fit_status_, here.level_, here.early_model_) == (0, 0, None)
    learned = {name for name in vars(here) if name.endswith("_")}
    assert learned == {name for name in vars(run) if name.endswith("_")}
    again = type(run).from_run(tmp_path / "run")
    np.testing.assert_array_equal(values(again, X), values(run, X))
    assert again.nu == run.nu


@pytest.mark.one_quick
@pytest.mark.parametrize("levels", [False, long(True)], ids=["one set", "a tree"])
def test_many_classes_have_a_nu_svc_for_each_pair(
    levels: bool, digits: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if levels:
        monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 100)
    X, y = digits[0][:600], digits[1][:600] % 4
    weight = np.random.default_rng(1).choice([0.0, 0.25, 1.0, 3.5], len(y))
    words: dict[str, Any] = {"nu": 0.2, "gamma": 0.1, "tol": 1e-6}
    words["decision_function_shape"] = "ovo"
    run = DCNuSVC(**words, run=tmp_path / "run").fit(X, y, sample_weight=weight)
    theirs = NuSVC(**words).fit(X.astype(np.float64), y, sample_weight=weight)
    expected = theirs.decision_function(X.astype(np.float64))
    np.testing.assert_allclose(run.decision_function(X), expected, atol=1e-4 * np.std(expected))
    here = DCNuSVC(**words).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(run.rho_, here.rho_, rtol=1e-4)
    np.testing.assert_allclose(run.objective_, here.objective_, rtol=1e-5)
    again = DCNuSVC.from_run(tmp_path / "run").set_params(decision_function_shape="ovo")
    np.testing.assert_array_equal(again.decision_function(X), run.decision_function(X))


@pytest.mark.parametrize("estimator", KINDS, ids=IDS)
def test_an_interrupted_run_ends_in_the_same_bits(
    rows: Any, tmp_path: Path, trees: None, estimator: Any
) -> None:
    X, y = rows(estimator)
    estimator = clone(estimator).set_params(gamma=LOCAL)
    whole = clone(estimator).set_params(run=tmp_path / "whole").fit(X, y)
    stopped = clone(estimator).set_params(run=tmp_path / "stopped", stop_at=1).fit(X, y)
    assert stopped.level_ == 1
    assert not {"rho_", "epsilon_", "dual_coef_"} & set(vars(stopped))
    np.testing.assert_allclose(
        values(stopped, X), told(tmp_path / "stopped", stopped, X), atol=1e-9
    )
    if isinstance(estimator, DCOneClassSVM):
        difference = stopped.score_samples(X) - stopped.decision_function(X)
        np.testing.assert_allclose(difference, stopped.offset_[0])
    again = pickle.loads(pickle.dumps(stopped))
    np.testing.assert_array_equal(values(again, X), values(stopped, X))
    stopped.set_params(stop_at=0).fit(X, y)
    late = clone(estimator).set_params(run=tmp_path / "late", time_budget=1e-6)
    with pytest.raises(InputError, match="has no model yet"):
        late.fit(X, y)
    late.set_params(time_budget=None).fit(X, y)
    for model in (stopped, late):
        for name in ("dual_coef_", "intercept_", "rho_", "epsilon_", "offset_", "objective_"):
            if hasattr(whole, name):
                np.testing.assert_array_equal(getattr(model, name), getattr(whole, name))


@pytest.mark.one_quick
@pytest.mark.parametrize("estimator", KINDS, ids=IDS)
def test_a_run_of_train_is_read_and_gone_on_with(rows: Any, tmp_path: Path, estimator: Any) -> None:
    X, y = rows(estimator)
    X, y = X[:400], y[:400]
    words = {name: getattr(estimator, name) for name in ("nu", "gamma")}
    task = {DCNuSVC: "classification", DCNuSVR: "regression"}.get(type(estimator), "one-class")
    words |= {"task": task, "svm_type": "c" if task == "one-class" else "nu"}
    words |= {"C": estimator.C} if task == "regression" else {}
    y = None if task == "one-class" else y
    how: dict[str, Any] = {"quiet": True, "execution": Execution(workers=0), "report": False}
    dcsvm_dask.train(X, y, tmp_path / "run", tol=1e-2, **words, **how)
    found = type(estimator).from_run(tmp_path / "run")
    np.testing.assert_allclose(values(found, X), told(tmp_path / "run", found, X), atol=1e-9)
    found.set_params(tol=estimator.tol).fit(X, y)
    here = clone(estimator).fit(X, y)
    assert found.violation_ <= estimator.tol
    np.testing.assert_allclose(values(found, X), values(here, X), atol=1e-4 * values(here, X).std())


def test_runs_that_an_estimator_cannot_be_are_refused(rows: Any, tmp_path: Path) -> None:
    X, y = rows(DCNuSVC())
    X, y = X[:300], y[:300]
    how: dict[str, Any] = {"quiet": True, "execution": Execution(workers=0), "report": False}
    how |= {"svm_type": "nu", "nu": 0.2, "gamma": 0.2}
    three = np.where(X[:, 0] > 0.3, 2, y)
    dcsvm_dask.train(X, three, tmp_path / "rest", multiclass="ovr", **how)
    with pytest.raises(InputError, match="with multiclass='ovr', which DCNuSVC does not have"):
        DCNuSVC.from_run(tmp_path / "rest")
    with pytest.raises(InputError, match="is one of task nu-classification, not classification"):
        DCSVC.from_run(tmp_path / "rest")
    with pytest.raises(InputError, match="is one of task nu-classification, not one-class"):
        DCOneClassSVM.from_run(tmp_path / "rest")


@pytest.mark.parametrize("estimator", KINDS, ids=IDS)
def test_what_a_run_cannot_do_is_refused(rows: Any, tmp_path: Path, estimator: Any) -> None:
    X, y = rows(estimator)
    X, y = X[:200], y[:200]
    for words, said in (
        ({"run": "r", "max_iter": 5}, "max_iter is not possible with run"),
        ({"stop_at": 4}, "there is no level 4"),
        ({"client": "tcp://here"}, "must be a distributed.Client, got"),
        ({"callbacks": 5}, "give a list of dcsvm_dask.Callback"),
    ):
        with pytest.raises(InputError, match=said):
            clone(estimator).set_params(**words).fit(X, y)
    model = clone(estimator).set_params(run=tmp_path / "run", tol=1e-2).fit(X, y)
    with pytest.raises(InputError, match="begun with other parameters"):
        clone(model).set_params(nu=0.2).fit(X, y)
    with pytest.raises(InputError, match="begun with other data"):
        clone(model).fit(X[:-1], y[:-1])


def test_a_nu_that_classes_do_not_allow_is_refused_before_the_run(
    rows: Any, tmp_path: Path
) -> None:
    X, y = rows(DCNuSVC())
    with pytest.raises(InputError, match=r"nu must be at most .*, which the classes .* allow"):
        DCNuSVC(nu=0.95, run=tmp_path / "run").fit(X, y)
    assert not list(tmp_path.iterdir())


def test_classes_without_a_margin_are_refused_as_in_memory() -> None:
    X, y = np.zeros((40, 2), np.float32), np.repeat([0, 1], 20)
    for callbacks in (None, [dcsvm_dask.Callback()]):
        with pytest.raises(InputError, match=r"nu is 0\.5, with which no margin"):
            DCNuSVC(nu=0.5, kernel="linear", gamma=1.0, callbacks=callbacks).fit(X, y)


@pytest.mark.parametrize("kind", [DCNuSVC, DCOneClassSVM])
def test_a_narrow_margin_is_told_of_once_as_from_memory(
    kind: Any, rows: Any, tmp_path: Path
) -> None:
    X, y = rows(kind())
    X, y = X[:200], y[:200]
    messages = []
    for run in (None, tmp_path / "run"):
        model = kind(gamma=0.2, nu=0.1, tol=50.0, run=run)
        with pytest.warns(ConvergenceWarning, match="The margin rho of 1 of 1 SVMs is") as caught:
            model.fit(X, y)
        assert [one.category for one in caught] == [ConvergenceWarning]
        assert caught[0].filename == __file__
        messages.append(str(caught[0].message).split("(")[0])
    assert messages[0] == messages[1]


@pytest.mark.parametrize("estimator", KINDS, ids=IDS)
def test_after_a_run_a_fit_begins_at_its_solution(
    rows: Any, tmp_path: Path, estimator: Any
) -> None:
    X, y = rows(estimator)
    warm = clone(estimator).set_params(run=tmp_path / "run", warm_start=True).fit(X, y)
    warm.set_params(run=None).fit(X, y)
    cold = clone(estimator).fit(X, y)
    assert np.sum(warm.n_iter_) < 0.3 * np.sum(cold.n_iter_)
    np.testing.assert_allclose(warm.objective_, cold.objective_, rtol=1e-5)


@pytest.mark.one_quick
@pytest.mark.parametrize("estimator", KINDS, ids=IDS)
def test_a_search_trains_the_best_one_alone_as_a_run(
    rows: Any, tmp_path: Path, estimator: Any
) -> None:
    X, y = rows(estimator)
    X, y = X[:240], y[:240]
    y = np.where(y == y.max(), 1, -1) if isinstance(estimator, DCOneClassSVM) else y
    base = clone(estimator).set_params(run=tmp_path / "run", tol=1e-3)
    search = DCSVMSearchCV(base, {"nu": [0.2, 0.4]}, cv=2).fit(X, y)
    again = type(estimator).from_run(tmp_path / "run")
    assert search.best_params_["nu"] == again.nu
    np.testing.assert_array_equal(again.predict(X), search.predict(X))


class Faults(dcsvm_dask.Callback):
    """Counts steps that are run again."""

    def __init__(self) -> None:
        self.count = 0

    def on_fault(self, event: Any) -> None:
        """Count one."""
        del event
        self.count += 1


def three_classes() -> Any:
    """Return rows of three classes, of which only the first two overlap."""
    drawn = np.random.default_rng(0)
    X, y = drawn.normal(size=(300, 3)), drawn.integers(0, 3, 300)
    return X + 6.0 * (y == 2)[:, None], np.array(["ham", "jam", "egg"])[y]


SAID = r"no margin separates the classes 'ham' and 'jam', since they overlap: give a larger nu"


def test_classes_that_overlap_are_named_and_not_tried_again(tmp_path: Path) -> None:
    X, y = three_classes()
    faults = Faults()
    kinds: list[dict[str, Any]] = [{}, {"run": tmp_path / "run", "callbacks": [faults]}]
    for more in kinds:
        with pytest.raises(InputError, match=SAID):
            DCNuSVC(nu=0.05, kernel="linear", **more).fit(X, y)
    assert not faults.count


@pytest.mark.long
def test_classes_that_overlap_are_not_tried_again_on_a_cluster(two_workers: Execution) -> None:
    X, y = three_classes()
    faults = Faults()
    with Client(two_workers.scheduler) as client:
        model = DCNuSVC(nu=0.05, kernel="linear", client=client, callbacks=[faults])
        with pytest.raises(InputError, match=SAID):
            model.fit(X, y)
        # Of two classes it is the last task that finds it.
        with pytest.raises(InputError, match="no margin separates the classes, since"):
            model.fit(X[y != "egg"], y[y != "egg"])
        events = [event for _, event in client.get_events(TOPIC)]
    assert [event["kind"] for event in events].count("refused") == 2
    assert not faults.count


@pytest.mark.long
def test_a_client_s_cluster_trains(
    rows: Any, tmp_path: Path, trees: None, two_workers: Execution
) -> None:
    with Client(two_workers.scheduler) as client:
        for estimator in KINDS:
            X, y = rows(estimator)
            here, there = (tmp_path / type(estimator).__name__ / name for name in "ab")
            alone = clone(estimator).set_params(run=here).fit(X, y)
            helped = clone(estimator).set_params(run=there, client=client).fit(X, y)
            np.testing.assert_array_equal(values(helped, X), values(alone, X))
