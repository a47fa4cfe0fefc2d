"""What scikit-learn's users have of SVC and LinearSVC, beyond the model itself."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC, DCSVR, DCNuSVC, DCSVMSearchCV, LinearDCSVC

Problem = Callable[[str], Any]

SIX = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], dtype=np.float64)
LABELS = [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(("mine", "peer"), [(DCSVC, svm.SVC), (LinearDCSVC, svm.LinearSVC)])
def test_every_parameter_of_the_peer_is_one(mine: Any, peer: Any) -> None:
    ours, theirs = (
        {name: (one.default, one.kind) for name, one in inspect.signature(kind).parameters.items()}
        for kind in (mine, peer)
    )
    assert theirs.keys() <= ours.keys()
    different = {name for name in theirs if theirs[name] != ours[name]}
    if theirs.get("probability", [""])[0] is False:  # scikit-learn below 1.9
        different.remove("probability")
    assert different == ({"cache_size"} if mine is DCSVC else set())


@pytest.mark.parametrize(
    "words",
    [
        {"kernel": "linear"},
        {"kernel": "precomputed"},
        {"kernel": "linear", "C": np.inf},
        {"kernel": "linear", "tol": 0.1},
        {"kernel": lambda X, Z: np.dot(X, Z.T)},
    ],
    ids=["linear", "precomputed", "hard margin", "loose tolerance", "function"],
)
def test_what_six_rows_lead_to_is_exact(words: dict[str, Any]) -> None:
    X = SIX @ SIX.T if words["kernel"] == "precomputed" else SIX
    model = DCSVC(**words).fit(X, LABELS)
    np.testing.assert_allclose(model.dual_coef_, [[-0.25, 0.25]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, [0.0], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.support_, [1, 3])


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_coefficients_are_exact_where_free_ones_are_few(name: str, problem: Problem) -> None:
    X, y = problem(name)
    mine = DCSVC(gamma=0.02).fit(X, y)
    theirs = svm.SVC(gamma=0.02, tol=1e-10).fit(X.astype(np.float64), y)
    assert np.array_equal(mine.support_, theirs.support_)
    # LIBSVM's kernel values are in float32.
    np.testing.assert_allclose(mine.dual_coef_, theirs.dual_coef_, rtol=0, atol=5e-6)
    assert (mine.violation_ < 1e-12).all()
    if len(mine.classes_) > 2:
        return
    X, signs = X.astype(np.float64), np.where(y == mine.classes_[1], 1.0, -1.0)
    beta = np.zeros(len(y))
    beta[mine.support_] = mine.dual_coef_[0]
    gradient = rbf_kernel(X, gamma=0.02) @ beta - signs + mine.intercept_[0]
    assert np.abs(gradient[(np.abs(beta) > 0.0) & (np.abs(beta) < 1.0)]).max() < 1e-11
    assert abs(beta.sum()) < 1e-11


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("words", [{"gamma": 0.5}, {"kernel": "poly"}])
def test_an_infinite_cost_is_a_very_large_one(
    words: dict[str, Any], form: Any, problem: Problem
) -> None:
    X, y = problem("breast_cancer")
    mine = DCSVC(C=np.inf, **words).fit(form(X), y)
    theirs = svm.SVC(C=np.inf, **words, tol=1e-6).fit(X.astype(np.float64), y)
    expected = theirs.decision_function(X)
    np.testing.assert_allclose(
        mine.decision_function(form(X)), expected, rtol=0, atol=2e-3 * expected.std()
    )
    assert np.array_equal(mine.predict(form(X)), y)
    weight = np.where(np.arange(len(y)) % 5, 2.0, 0.0)
    weighted = DCSVC(C=np.inf, class_weight="balanced", **words).fit(form(X), y, weight)
    assert np.array_equal(weighted.predict(form(X))[weight > 0], y[weight > 0])


def test_an_infinite_cost_elsewhere(problem: Problem) -> None:
    X, y = problem("breast_cancer")
    mine = DCSVR(C=np.inf, gamma=0.5, epsilon=0.1).fit(X, y)
    assert (np.abs(mine.predict(X) - y) < 0.1 + 2e-3).all()
    search = DCSVMSearchCV(DCSVC(gamma=0.02), {"C": [1.0, np.inf]}, cv=3).fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["param_C"], [1.0, np.inf])
    for refused in (LinearDCSVC(C=np.inf), DCSVC(C=np.inf, stop_at=1), DCSVC(C=-np.inf)):
        with pytest.raises(InputError, match="C must be a positive number, got"):
            refused.fit(X, y)


def test_what_cannot_be_separated_ends_with_a_warning() -> None:
    with pytest.warns(ConvergenceWarning, match="1 of 1 SVMs are not solved"):
        DCSVC(C=np.inf).fit(np.r_[SIX, SIX[:1]], [*LABELS, 2])


def test_shrinking_changes_nothing(problem: Problem) -> None:
    X, y = problem("wine")
    with_, without = DCSVC().fit(X, y), DCSVC(shrinking=False).fit(X, y)
    assert np.array_equal(with_.dual_coef_, without.dual_coef_)


@pytest.mark.parametrize(("name", "rows"), [("wine", 178), ("usps", 2500), ("usps", 5000)])
def test_verbose_prints_and_changes_nothing(name: str, rows: int, problem: Problem) -> None:
    X, y = problem(name)
    X, y = X[:rows], y[:rows] if name == "wine" else y[:rows] % 2
    printed = {}
    models = {}
    for verbose in (0, 1):
        with redirect_stdout(io.StringIO()) as out:
            models[verbose] = DCSVC(verbose=verbose).fit(X, y)
        printed[verbose] = out.getvalue()
    count = len(models[0].intercept_)
    assert printed[0] == ""
    assert f"{count} of {count} SVMs solved" in printed[1].splitlines()[-1]
    assert np.array_equal(models[0].dual_coef_, models[1].dual_coef_)
    assert np.array_equal(models[0].n_iter_, models[1].n_iter_)


def test_verbose_runs_print_progress(problem: Problem, capfd: Any) -> None:
    X, y = problem("breast_cancer")
    for verbose in (False, True):
        DCSVC(time_budget=600.0, verbose=verbose).fit(X, y)
        out, error = capfd.readouterr()
        assert bool(out + error) == verbose


def test_bad_values_of_the_new_parameters() -> None:
    for word, value, said in (
        ("verbose", -1, "verbose must be True, False or a whole number"),
        ("shrinking", "yes", "shrinking is 'yes'; give True or False"),
    ):
        with pytest.raises(InputError, match=said):
            DCSVC(**{word: value}).fit(SIX, LABELS)


@pytest.mark.parametrize("kind", [DCSVC, DCNuSVC])
def test_ties_cannot_be_broken_between_pairs(kind: Any, problem: Problem) -> None:
    X, y = problem("wine")
    model = kind(break_ties=True, decision_function_shape="ovo").fit(X, y)
    assert model.decision_function(X).shape == (len(X), 3)
    with pytest.raises(ValueError, match="break_ties must be False when decision_function_shape"):
        model.predict(X)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kind", [DCSVC, DCNuSVC, DCSVR])
def test_weights_that_are_computed_are_not_written_to(kind: Any, form: Any) -> None:
    model = kind(kernel="linear").fit(form(SIX), LABELS)
    weights = model.coef_.data if sparse.issparse(model.coef_) else model.coef_
    with pytest.raises(ValueError, match="read-only"):
        weights[...] = 1.0
    with pytest.raises(AttributeError):
        model.coef_ = np.ones((1, 2))


def test_gamma_of_a_fit(problem: Problem) -> None:
    X, y = problem("wine")
    X = X.astype(np.float64)
    for words in ({}, {"gamma": "auto"}, {"gamma": 0.3}):
        assert DCSVC(**words).fit(X, y)._gamma == pytest.approx(svm.SVC(**words).fit(X, y)._gamma)
    assert DCSVC(kernel="precomputed").fit(X @ X.T, y)._gamma == 0.0


@pytest.mark.parametrize("weight", [[0] * 6, [-0.5] * 6, [0.0, 0.0, 0.0, -1.0, -1.0, 0.0]])
@pytest.mark.parametrize("kind", [DCSVC, DCSVR, LinearDCSVC])
def test_weights_that_leave_no_row(kind: Any, weight: Any) -> None:
    with pytest.raises(InputError, match="Invalid input - all samples have zero or negative weig"):
        kind().fit(SIX, LABELS, sample_weight=weight)


def test_steps_that_were_not_enough(problem: Problem) -> None:
    X, y = problem("usps")
    said = r"Solver terminated early \(max_iter=7\).  Consider pre-processing your data with"
    with pytest.warns(ConvergenceWarning, match=f"{said} .* raise max_iter"):
        assert (DCSVC(max_iter=7).fit(X[:500], y[:500]).n_iter_ == 7).any()
