"""scikit-learn's contract of estimators."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    BaggingSVC,
    BudgetedSVC,
    BudgetedSVR,
    CascadeSVC,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
    DCSVMSearchCV,
    FourierSVC,
    GreedySVC,
    LinearDCSVC,
    LinearDCSVR,
    LtpuSVC,
    NystromSVC,
    OnlineSVC,
)
from tests.marks import soak

ESTIMATORS = [
    DCSVC(),
    DCSVC(gamma=0.5),
    DCSVC(fit_intercept=False),
    DCSVC(kernel="linear"),
    DCSVC(multiclass="ovr"),
    LinearDCSVC(),
    LinearDCSVC(loss="hinge"),
    LinearDCSVR(),
    LinearDCSVR(loss="squared_epsilon_insensitive", epsilon=0.1),
    DCSVR(),
    DCSVR(gamma=0.5),
    DCSVR(kernel="linear", fit_intercept=False),
    DCQuantileSVR(quantile=0.3),
    DCNuSVC(nu=0.3),
    DCNuSVR(),
    DCOneClassSVM(),
    BudgetedSVC(epochs=5, table_size=100),
    BudgetedSVR(epochs=5),
    DCSVMSearchCV(DCSVC(gamma=0.5), {"C": [0.5, 5.0]}, cv=2),
    DCSVMSearchCV(DCSVR(gamma=0.5), {"C": [0.5, 5.0]}, cv=2),
]
LINEAR = [
    LinearDCSVC(dual=True),
    LinearDCSVC(penalty="l1"),
    LinearDCSVC(multi_class="crammer_singer"),
    LinearDCSVR(loss="squared_epsilon_insensitive", dual=True),
]
METHODS = [
    CascadeSVC(leaves=2),
    BaggingSVC(members=2),
    NystromSVC(rank=20),
    FourierSVC(outputs=40),
    LtpuSVC(centres=20),
    GreedySVC(basis=20),
    OnlineSVC(),
]


def expected_failures(estimator: Any) -> dict[str, str]:
    check = "check_sample_weight_equivalence_on_{}_data"
    if isinstance(estimator, BudgetedSVC | BudgetedSVR):
        reason = "a row that comes twice is two random steps, and one of weight 2 is one"
        return {check.format(kind): reason for kind in ("dense", "sparse")}
    if isinstance(estimator, DCNuSVC):
        allowed = "weights of 1000 and 0.0001 allow no nu of 0.3: its bound is that of two classes"
        return {"check_class_weight_classifiers": allowed, **_by_gamma(estimator)}
    return _by_gamma(estimator)


def _by_gamma(estimator: Any) -> dict[str, str]:
    check = "check_sample_weight_equivalence_on_{}_data"
    known = isinstance(estimator, DCSVC | DCSVR | DCQuantileSVR | DCNuSVC | DCNuSVR | DCOneClassSVM)
    if not known or estimator.kernel != "rbf" or estimator.gamma != "scale":
        return {}
    reason = 'gamma="scale" is that of SVC: by the variance of X, whatever the weights of rows'
    return {check.format(kind): reason for kind in ("dense", "sparse")}


def expected_of_methods(estimator: Any) -> dict[str, str]:
    if isinstance(estimator, BaggingSVC):  # takes no weights
        return {}
    reason = 'rows are drawn at random, or taken in an order; and gamma="scale" knows no weights'
    check = "check_sample_weight_equivalence_on_{}_data"
    return {check.format(kind): reason for kind in ("dense", "sparse")}


# Older versions of scikit-learn are strict about nothing.
_WORDS = inspect.signature(parametrize_with_checks).parameters
STRICT: dict[str, Any] = {"xfail_strict": True} if "xfail_strict" in _WORDS else {}


# Some checks have rows that are not scaled, or labels that are noise.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures, **STRICT)
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(LINEAR, **STRICT)
def test_scikit_learn_checks_of_linear_solvers(estimator: Any, check: Any) -> None:
    check(estimator)


def checks_of_methods() -> Any:
    """Return the checks of `METHODS`; those which show the same as another soak.

    Sparse matrices are taken as sparse arrays are, these by all as by one method that draws rows
    and one that divides them, and rows that are mapped from a file as others.
    """
    made = parametrize_with_checks(METHODS, expected_failed_checks=expected_of_methods, **STRICT)
    names, cases = made.args
    marked = []
    for case in cases:
        estimator, check = getattr(case, "values", case)
        same = check.func.__name__ == "check_estimator_sparse_matrix"
        same = same or "readonly_memmap" in check.keywords
        if check.func.__name__ == "check_estimator_sparse_array":
            same = not isinstance(estimator, CascadeSVC | NystromSVC)
        marked.append(soak(estimator, check) if same else case)
    return pytest.mark.parametrize(names, marked, **made.kwargs)


@pytest.mark.long
@checks_of_methods()
def test_scikit_learn_checks_of_methods(estimator: Any, check: Any) -> None:
    check(estimator)
