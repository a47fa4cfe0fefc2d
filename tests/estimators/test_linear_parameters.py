"""All that LinearSVC can be asked for: penalties, duals, schemes, against its own answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC, LinearSVR

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC, DCSVR, LinearDCSVC, LinearDCSVR

Problem = Callable[[str], Any]
TIGHT: Any = {"tol": 1e-8, "max_iter": 10**6}


@pytest.mark.one_quick
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"penalty": "l1", "dual": False, "C": 0.3},
        {"penalty": "l1", "fit_intercept": False, "class_weight": {1: 3.0}},
        {"multi_class": "crammer_singer", "class_weight": {1: 3.0}},
        {"multi_class": "crammer_singer", "fit_intercept": False, "loss": "hinge", "dual": True},
        {"dual": False, "intercept_scaling": 7.0, "class_weight": {0: 2.0}},
        {"dual": True},
        {"loss": "hinge"},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_the_class_name_can_be_swapped(how: dict[str, Any], name: str, problem: Problem) -> None:
    X, y = problem(name)
    weight = np.random.default_rng(0).choice([0.5, 1.0, 2.0], len(y))
    svc = LinearSVC(**TIGHT, random_state=0, **how).fit(X.astype(np.float64), y, weight)
    ours = LinearDCSVC(**TIGHT, random_state=0, **how).fit(sparse.csr_array(X), y, weight)
    assert ours.coef_.shape == svc.coef_.shape
    largest = np.abs(svc.coef_).max()
    np.testing.assert_allclose(ours.coef_, svc.coef_, rtol=0, atol=1e-4 * largest)
    np.testing.assert_allclose(ours.intercept_, svc.intercept_, rtol=0, atol=1e-4 * largest)
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
    if how.get("penalty") == "l1":
        np.testing.assert_array_equal(ours.coef_ == 0.0, svc.coef_ == 0.0)
    assert (ours.violation_ <= ours.tol).all()
    assert (np.abs(ours.gap_) <= 1e-5 * np.abs(ours.objective_)).all()


@pytest.mark.long
@pytest.mark.parametrize(
    "how", [{}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}, {"loss": "hinge"}], ids=str
)
def test_limits_and_classes_without_weight(how: dict[str, Any], problem: Problem) -> None:
    X, y = problem("wine")
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        few = LinearDCSVC(max_iter=1, tol=1e-9, **how).fit(X, y)
    assert few.n_iter_ == 1
    assert few.violation_.max() > few.tol
    for weights in ({0: 0.0, 1: 0.0}, {1: 0.0}):
        with pytest.raises(InputError, match="Only one class has rows of a weight above 0"):
            LinearDCSVC(class_weight=weights, **how).fit(X[y < 2], y[y < 2])


@pytest.mark.parametrize(
    ("ours", "peer"), [(LinearDCSVC, LinearSVC), (LinearDCSVR, LinearSVR)], ids=["SVC", "SVR"]
)
def test_parameters_are_those_of_scikit_learn(ours: Any, peer: Any) -> None:
    mine, theirs = (inspect.signature(kind).parameters for kind in (ours, peer))
    for name, one in theirs.items():
        assert (mine[name].default, mine[name].kind) == (one.default, one.kind), name
    assert {*mine} - {*theirs} <= {"n_jobs"}
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for names in (mine, theirs):
        first = [name for name, one in names.items() if one.kind is positional]
        assert first == (["penalty", "loss"] if ours is LinearDCSVC else [])


@pytest.mark.long
def test_auto_takes_the_dual_problem_of_few_rows(problem: Problem) -> None:
    X, y = problem("breast_cancer")
    for rows, dual in ((slice(0, 29), True), (slice(0, 30), False)):
        auto, named, other = (
            LinearDCSVC(dual=dual, C=0.1).fit(X[rows], y[rows]) for dual in ("auto", dual, not dual)
        )
        np.testing.assert_array_equal(auto.coef_, named.coef_)
        assert not np.array_equal(auto.coef_, other.coef_)
        np.testing.assert_allclose(auto.coef_, other.coef_, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"penalty": "l1", "loss": "hinge"}, 'loss must be squared_hinge with penalty="l1"'),
        ({"penalty": "l1", "dual": True}, 'dual must be False or "auto" with penalty="l1"'),
        ({"loss": "hinge", "dual": False}, 'dual must be True or "auto" with .*loss="hinge"'),
    ],
    ids=str,
)
def test_what_has_no_solver_is_refused(how: dict[str, Any], said: str, problem: Problem) -> None:
    with pytest.raises(ValueError, match="nsupported"):
        LinearSVC(**how).fit(*problem("wine"))
    with pytest.raises(InputError, match=said):
        LinearDCSVC(**how).fit(*problem("wine"))


@pytest.mark.long
def test_verbose_prints_progress(problem: Problem, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = problem("wine")
    for how in ({}, {"dual": True}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}):
        LinearDCSVC(verbose=1, C=0.01, **how).fit(X, y)
        printed = capsys.readouterr().out
        assert "iterations, violation" in printed
        assert ("SVM 3:" in printed) == ("multi_class" not in how)
        LinearDCSVC(C=0.01, **how).fit(X, y)
        assert capsys.readouterr().out == ""


@pytest.mark.parametrize("scale", [1e-10, 1e-13, 1e-30])
def test_tiny_values_are_solved_where_the_objective_does_not_show_it(scale: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    how: Any = {"fit_intercept": False, "tol": 1e-8, "max_iter": 100}
    dual = LinearSVC(dual=True, random_state=0, **how).fit(scale * X, y)
    for rows in (scale * X, sparse.csr_array(scale * X)):
        ours = LinearDCSVC(dual=False, **how).fit(rows, y)
        np.testing.assert_allclose(ours.coef_, dual.coef_, rtol=1e-5)
        assert (ours.violation_ <= 1e-8).all()


def test_a_cost_that_overflows_is_refused_or_solved() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y, targets = (X[:, 0] > 0).astype(int), X[:, 0] + 0.1 * rng.standard_normal(60)
    why = "C times the weights is so large that squares of the gradient overflow"
    svr: Any = {"loss": "squared_epsilon_insensitive", "dual": False}
    with np.errstate(over="raise"):
        for C in (1e160, 1e300):
            with pytest.raises(InputError, match=why):
                LinearDCSVC(C=C).fit(X, y)
            with pytest.raises(InputError, match=why):
                LinearDCSVR(C=C, **svr).fit(X, targets)
            with pytest.warns(ConvergenceWarning, match="raise max_iter"):
                assert LinearDCSVC(C=C, dual=True, max_iter=200).fit(X, y).score(X, y) == 1.0
        assert LinearDCSVC(C=1e150).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize(
    "how", [{"dual": True}, {"dual": False}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}]
)
def test_a_cost_whose_products_with_weights_overflow_is_refused(how: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.integers(0, 2, 40)
    why = r"C is 1e\+300, and its products with the weights of rows and classes overflow"
    weights = np.full(40, 1e50)
    with np.errstate(over="raise"):
        with pytest.raises(InputError, match=why):
            LinearDCSVC(C=1e300, class_weight={1: 1e100}, **how).fit(X, y)
        with pytest.raises(InputError, match=why):
            LinearDCSVC(C=1e300, **how).fit(X, y, weights)
        with pytest.raises(InputError, match=why):
            DCSVC(C=1e300, class_weight={1: 1e100}).fit(X, y)
        with pytest.raises(InputError, match=why):
            LinearDCSVR(C=1e300).fit(X, y, weights)
        with pytest.raises(InputError, match=why):
            DCSVR(C=1e300).fit(X, y, weights)
