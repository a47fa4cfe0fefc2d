"""What must not change a model: the order of rows, rows given twice, rows of no weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcsvm_dask.estimators import DCSVC, LinearDCSVC

# C is a power of two, so that C w and C added up w times are the same number.
ESTIMATORS = [
    DCSVC(gamma=0.3, tol=1e-6, decision_function_shape="ovo"),
    DCSVC(gamma=0.3, C=128.0, fit_intercept=False, decision_function_shape="ovo"),
    DCSVC(kernel="poly", gamma=0.2, coef0=1.0, decision_function_shape="ovo"),
    DCSVC(kernel="linear", C=0.125, class_weight={0: 2.0}, decision_function_shape="ovo"),
    LinearDCSVC(),
    LinearDCSVC(loss="hinge", C=0.125, tol=1e-6),
]
EXAMPLES = 25


@st.composite
def problems(draw: Any) -> Any:
    """Rows of two to four classes with whole weights; some rows are equal, some weigh nothing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes, d = draw(st.integers(2, 4)), draw(st.integers(1, 5))
    n = draw(st.integers(3 * n_classes, 60))
    X = rng.standard_normal((n, d)).astype(np.float32)
    if draw(st.booleans()):
        X = np.round(X)  # so that rows repeat, with labels of their own
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    weight = rng.integers(0, 4, n).astype(np.float64)
    weight[:n_classes] = 1.0
    is_sparse = draw(st.booleans())
    return X, y, weight, (sparse.csr_array if is_sparse else np.asarray), rng


def decisions(estimator: Any, form: Any, X: Any, y: Any, weight: Any, at: Any) -> Any:
    """Return decision values of a fitted copy at some rows."""
    fitted = type(estimator)(**estimator.get_params()).fit(form(X), y, sample_weight=weight)
    return fitted.decision_function(form(at))


def check_same(one: Any, other: Any) -> None:
    """Sums of support vectors may go in another order; nothing else may differ."""
    np.testing.assert_allclose(other, one, rtol=0, atol=1e-11 * max(1.0, np.abs(one).max()))


@pytest.mark.one_quick
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@given(problem=problems())
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_order_of_rows(estimator: Any, problem: Any) -> None:
    X, y, weight, form, rng = problem
    order = rng.permutation(len(y))
    check_same(
        decisions(estimator, form, X, y, weight, X),
        decisions(estimator, form, X[order], y[order], weight[order], X),
    )


@pytest.mark.one_quick
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@given(problem=problems())
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_weight_is_a_row_given_so_often(estimator: Any, problem: Any) -> None:
    X, y, weight, form, _ = problem
    often = np.repeat(np.arange(len(y)), weight.astype(int))
    check_same(
        decisions(estimator, form, X, y, weight, X),
        decisions(estimator, form, X[often], y[often], None, X),
    )


@pytest.mark.one_quick
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@given(problem=problems())
@settings(max_examples=EXAMPLES, deadline=None)
def test_rows_of_no_weight_are_as_if_absent(estimator: Any, problem: Any) -> None:
    X, y, weight, form, rng = problem
    weight = np.where(weight == 0.0, -rng.random(len(y)), weight)  # below 0 is none too
    kept = weight > 0.0
    check_same(
        decisions(estimator, form, X, y, weight, X),
        decisions(estimator, form, X[kept], y[kept], weight[kept], X),
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_thousands_of_rows_in_another_order(kernel: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 6)).astype(np.float32)
    y = (X[:, 0] + 0.5 * rng.standard_normal(3000) > 0).astype(int)
    X, y = np.concatenate([X, X[:500]]), np.concatenate([y, y[:500]])
    order = rng.permutation(len(y))
    estimator = DCSVC(kernel=kernel, gamma=0.1)
    one = decisions(estimator, np.asarray, X, y, None, X)
    check_same(one, decisions(estimator, np.asarray, X[order], y[order], None, X))
    weight = np.where(np.arange(3000) < 500, 2.0, 1.0)
    check_same(one, decisions(estimator, np.asarray, X[:3000], y[:3000], weight, X))


def test_standardised_categories_in_another_order() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((2500, 90)) < 0.08).astype(np.float64)
    X[:, :3] = rng.random((2500, 3)) < 0.5  # either value may be the most common one of a sample
    y = (X[:, :10].sum(axis=1) + rng.standard_normal(2500) > 2).astype(int)
    X = np.asarray((X - X.mean(axis=0)) / X.std(axis=0), np.float32)
    estimator = DCSVC(gamma=0.01)
    one = decisions(estimator, np.asarray, X, y, None, X)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        check_same(one, decisions(estimator, np.asarray, X[order], y[order], None, X))


def test_equal_rows_share_by_their_weights() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), np.arange(50) % 2
    X[4] = X[8] = X[0]  # of one class, and all of them wrong or near the border
    weight = np.ones(50)
    weight[4] = 3.0
    fitted = DCSVC(gamma=0.5).fit(X, y, sample_weight=weight)
    alpha = np.zeros(50)
    alpha[fitted.support_] = np.abs(fitted.dual_coef_[0])
    assert alpha[0] > 0.0
    assert alpha[4] == pytest.approx(3.0 * alpha[0])
    assert alpha[8] == pytest.approx(alpha[0])
