"""Parameters that cannot be used are refused with what to give; limits are reported."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    BudgetedSVC,
    CascadeSVC,
    DCNuSVC,
    DCSVMSearchCV,
    LinearDCSVC,
)
from dcsvm_dask.estimators.run_parameters import given_run_parameters


@pytest.fixture
def noise() -> Any:
    """Rows of three classes without reason."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((200, 4)).astype(np.float32), rng.integers(0, 3, 200)


BAD: list[Any] = [
    ("C", 0.0, "must be a (positive )?number, got"),
    ("C", -1, "must be a (positive )?number, got"),
    ("C", np.nan, "must be a (positive )?number, got"),
    ("C", -np.inf, "must be a (positive )?number, got"),
    ("C", "1", "must be a (positive )?number, got"),
    ("C", True, "must be a (positive )?number, got"),
    ("tol", 0.0, "must be a (positive )?number, got"),
    ("tol", None, "must be a (positive )?number, got"),
    ("max_iter", 0, "give a whole number from 1"),
    ("max_iter", 1.5, "give a whole number from 1"),
    ("max_iter", None, "give a whole number from 1"),
    ("max_iter", True, "give a whole number from 1"),
]
BAD_SVC: list[Any] = [
    ("kernel", "cosine", "choose one of rbf, poly, linear, sigmoid, laplacian"),
    ("kernel", 5, "choose one of rbf"),
    ("gamma", "wide", 'give "scale", "auto" or a number above 0'),
    ("gamma", 0.0, "give a finite number above 0"),
    ("gamma", -1.0, "give a finite number above 0"),
    ("gamma", None, "give a finite number above 0"),
    ("degree", 0, "give a whole number from 1"),
    ("degree", 2.5, "give a whole number from 1"),
    ("coef0", np.nan, "give a finite number"),
    ("decision_function_shape", "all", "give one of ovr, ovo"),
    ("cache_size", 0, "give MB, above 0"),
    ("cache_size", None, "give MB, above 0"),
    ("max_iter", -2, "or -1 for the usual limit"),
]
BAD_LINEAR: list[Any] = [
    ("C", np.inf, "must be a positive number, got"),
    ("loss", "log", "give one of hinge, squared_hinge"),
    ("penalty", "l0", "give one of l2, l1"),
    ("multi_class", "ovo", "give one of ovr, crammer_singer"),
    ("dual", "yes", 'must be True, False or "auto"'),
    ("verbose", -1, "must be True, False or a whole number"),
    ("intercept_scaling", 0.0, "give a number above 0"),
    ("intercept_scaling", "1", "give a number above 0"),
    ("max_iter", -1, "give a whole number from 1"),
]


@pytest.mark.parametrize(
    ("kind", "name", "value", "what_to_do"),
    [
        *((kind, *bad) for kind in (DCSVC, LinearDCSVC) for bad in BAD),
        *((DCSVC, *bad) for bad in BAD_SVC),
        *((LinearDCSVC, *bad) for bad in BAD_LINEAR),
    ],
)
def test_a_bad_parameter_is_refused_by_name(
    kind: Any, name: str, value: Any, what_to_do: str, noise: Any
) -> None:
    with pytest.raises(ValueError, match=what_to_do) as refusal:
        kind(**{name: value}).fit(*noise)
    assert isinstance(refusal.value, InputError)
    assert str(refusal.value).startswith(name)
    assert repr(value)[:20] in str(refusal.value)


PAIR = np.array([1, 2])


@pytest.mark.parametrize(
    ("kind", "name", "value", "what_to_do"),
    [
        *((DCSVC, name, PAIR, "give True or False") for name in ("break_ties", "warm_start")),
        *((kind, "fit_intercept", PAIR, "give True or False") for kind in (DCSVC, LinearDCSVC)),
        *((kind, "max_iter", PAIR, "give a whole number") for kind in (DCSVC, LinearDCSVC)),
        *((kind, "n_jobs", 10**400, "up to 4096, or None") for kind in (DCSVC, LinearDCSVC)),
        (DCSVC, "kernel", ["rbf"], "choose one of"),
        (DCSVC, "kernel", PAIR, "choose one of"),
        (DCSVC, "decision_function_shape", PAIR, "give one of"),
        (DCSVC, "cache_size", 1e308, "give MB"),
        (DCSVC, "callbacks", PAIR, "give a list of dcsvm_dask.Callback"),
        (DCSVC, "client", PAIR, "must be a distributed.Client, got"),
        (DCSVC, "client", "", "must be a distributed.Client, got ''"),
        (DCSVC, "callbacks", {}, "give a list of dcsvm_dask.Callback"),
        (DCSVC, "stop_at", "", "must be a whole number, got ''"),
        (DCSVC, "run", "", "must be the path or URL of a folder, or None, got ''"),
        (DCSVR, "run", 0, "must be the path or URL of a folder, or None, got 0"),
        (DCSVC, "time_budget", 0, "must be a positive number of seconds, got 0"),
        (DCNuSVC, "time_budget", False, "must be a positive number of seconds, got False"),
        (LinearDCSVC, "loss", PAIR, "give one of"),
    ],
    ids=str,
)
def test_a_parameter_of_another_type_is_refused_by_name(
    kind: Any, name: str, value: Any, what_to_do: str, noise: Any
) -> None:
    with pytest.raises(InputError, match=what_to_do) as refusal:
        kind(**{name: value}).fit(*noise)
    assert str(refusal.value).replace("-", "_").startswith(name)


def test_no_callbacks_and_the_exact_level_ask_for_no_run() -> None:
    for name, value in (("callbacks", []), ("callbacks", ()), ("stop_at", None), ("stop_at", 0)):
        assert not given_run_parameters(DCSVC(**{name: value}))


@pytest.mark.parametrize("kind", [DCSVC, LinearDCSVC])
def test_bad_data_and_weights_are_refused(kind: Any, noise: Any) -> None:
    X, y = noise
    for rows, labels, weight, why in (
        (X, np.zeros(200), None, "y has one class only"),
        (X, y, np.where(y == 1, 1.0, 0.0), "Only one class has rows of a weight above 0"),
        (X, y, np.zeros(200), "all samples have zero or negative weights"),
        (X, y, np.ones(3), "sample_weight"),
        (X, y, np.full(200, np.nan), "NaN"),
        (X, y[:3], None, "inconsistent numbers of samples"),
        (X, np.linspace(0, 1, 200), None, "continuous"),
        (np.full((200, 4), np.nan), y, None, "NaN"),
        (np.full((200, 4), 1e39), y, None, "too large for|infinity"),
        (X[:0], y[:0], None, "0 sample"),
    ):
        with pytest.raises(ValueError, match=why), np.errstate(over="raise"):
            kind().fit(rows, labels, sample_weight=weight)
    with pytest.raises(ValueError, match="class_weight"):
        kind(class_weight="fair").fit(X, y)


@pytest.mark.parametrize("weight", [-1.0, np.inf, np.nan, 1e200, "many"])
@pytest.mark.parametrize(
    "estimator",
    [
        DCSVC(),
        DCNuSVC(nu=0.1),
        BudgetedSVC(),
        CascadeSVC(),
        LinearDCSVC(),
        LinearDCSVC(dual=False),
        LinearDCSVC(penalty="l1"),
        LinearDCSVC(multi_class="crammer_singer"),
        DCSVMSearchCV(DCSVC(), {"C": [1.0]}),
    ],
)
def test_weights_of_classes_that_are_not_possible(estimator: Any, weight: Any, noise: Any) -> None:
    X, y = noise
    X, y = X[y < 2], y[y < 2]
    estimator = clone(estimator)
    getattr(estimator, "estimator", estimator).set_params(class_weight={1: weight})
    why = f"class-weight must be a number from 0 to 1e+100 for 1, got {weight!r}"
    with pytest.raises(InputError, match=re.escape(why)):
        estimator.fit(X, y)
    if hasattr(estimator, "partial_fit"):
        with pytest.raises(InputError, match="class-weight must be a number from 0"):
            estimator.partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize("kind", [DCSVC, LinearDCSVC])
def test_weights_of_classes_that_are_numbers_in_words(kind: Any, noise: Any) -> None:
    X, y = noise
    as_numbers = kind(class_weight={0: 3.0, 1: 0.5}).fit(X, y)
    words = y.astype(str)
    kinds: list[Any] = [{"0": 3.0, "1": 0.5}, {0: 3.0, 1: 0.5}]
    for given in kinds:
        ours = kind(class_weight=given).fit(X, words)
        np.testing.assert_array_equal(ours.class_weight_, as_numbers.class_weight_)
        np.testing.assert_array_equal(ours.decision_function(X), as_numbers.decision_function(X))
    refused: list[tuple[Any, str]] = [
        ({"2": 1.0, "9": 2.0}, "class_weight has a weight of '9', and the classes of y are '0', "),
        ([1.0, 2.0], "class_weight is [1.0, 2.0]; give a dict of labels and weights"),
    ]
    for given, why in refused:
        with pytest.raises(InputError, match=re.escape(why)):
            kind(class_weight=given).fit(X, words)


def test_a_word_beside_the_same_number_in_other_digits_has_a_weight_of_its_own(noise: Any) -> None:
    X, y = noise
    words = np.array(["1", "01"])[np.asarray(y == np.unique(y)[0], dtype=int)]
    ours = DCSVC(class_weight={1: 3.0}).fit(X, words)
    assert dict(zip(ours.classes_, ours.class_weight_, strict=True)) == {"1": 3.0, "01": 1.0}


@pytest.mark.parametrize("kind", [DCSVC, LinearDCSVC])
def test_what_is_not_fitted_says_so(kind: Any, noise: Any) -> None:
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(kind(), method)(noise[0])
    fitted = kind().fit(*noise)
    with pytest.raises(ValueError, match=r"3 features, but .* expecting 4"):
        fitted.predict(noise[0][:, :3])


def test_an_infinite_cost_without_a_solution_is_refused_with_a_finite_one(noise: Any) -> None:
    X, y = noise
    with pytest.warns(ConvergenceWarning, match="With C=inf there is no solution .* a finite C"):
        DCSVC(C=np.inf, kernel="linear", max_iter=1000).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"or scale the features\.$"):
        DCSVC(C=100.0, kernel="linear", max_iter=10).fit(X, y)


@pytest.mark.parametrize(
    "estimator", [DCSVC(C=100.0, max_iter=3), LinearDCSVC(dual=True, max_iter=1)]
)
def test_svms_that_reach_the_limit_are_named(estimator: Any, noise: Any) -> None:
    with pytest.warns(ConvergenceWarning, match=r"3 of 3 SVMs .* raise max_iter") as reported:
        estimator.fit(*noise)
    assert reported[0].filename == __file__
    assert np.max(estimator.n_iter_) <= 3
    assert (estimator.violation_ > estimator.tol).all()
    assert estimator.predict(noise[0]).shape == (200,)
    if isinstance(estimator, DCSVC):
        assert estimator.fit_status_ == 1
    enough = estimator.set_params(max_iter=10_000_000).fit(*noise)
    assert (enough.violation_ <= estimator.tol).all()


def test_the_limit_is_one_of_steps_above_two_thousand_rows_too() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2500, 4)), rng.integers(0, 2, 2500)
    with pytest.warns(ConvergenceWarning, match="1 of 1 SVMs"):
        few = DCSVC(max_iter=20).fit(X, y)
    assert few.n_iter_[0] <= 20


@pytest.mark.filterwarnings("ignore:the rbf kernel is 0 between different rows")  # so it is
@pytest.mark.parametrize("gamma", ["scale", "auto"])
def test_gamma_by_rule_is_that_of_svc(gamma: str, noise: Any) -> None:
    X, y = noise
    for scale in (1.0, 1e-3, 1e3, 0.0):
        rows = (scale * X).astype(np.float32)
        svc = SVC(gamma=gamma).fit(rows.astype(np.float64), y)
        ours = DCSVC(gamma=gamma).fit(rows, y)
        assert ours._kernel.gamma == pytest.approx(svc._gamma, rel=1e-6)


def test_a_huge_c_overflows_nowhere(noise: Any) -> None:
    X, y = noise[0][:50], noise[0][:50, 0] > 0
    with np.errstate(over="raise"):
        model = DCSVC(C=1e300).fit(X, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("by_class", [False, True], ids=["weights of rows", "of classes"])
def test_a_class_of_no_weight_is_as_if_absent(by_class: bool, noise: Any) -> None:
    # SVC mistakes the labels of the others for one another here, or fails.
    X, y = noise
    if by_class:
        ours = DCSVC(gamma=0.2, tol=1e-6, class_weight={1: 0.0}).fit(X, y)
    else:
        ours = DCSVC(gamma=0.2, tol=1e-6).fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    svc = SVC(gamma=0.2, tol=1e-6).fit(X[y != 1], y[y != 1])
    np.testing.assert_array_equal(ours.predict(X), svc.predict(X))
    assert ours.n_support_.tolist() == [svc.n_support_[0], 0, svc.n_support_[1]]


@pytest.mark.parametrize(
    ("kind", "how"), [(DCSVC, {"kernel": "linear"}), (DCSVC, {}), (LinearDCSVC, {"C": 0.01})]
)
def test_nothing_given_is_changed(kind: Any, how: dict[str, Any], noise: Any) -> None:
    X, y = noise
    weight = np.arange(200.0) % 3
    copies = X.copy(), y.copy(), weight.copy()
    weights = {0: 2.0}
    estimator = kind(class_weight=weights, **how)
    before = estimator.get_params()
    estimator.fit(X, y, sample_weight=weight).predict(X)
    for given, copy in zip((X, y, weight), copies, strict=True):
        np.testing.assert_array_equal(given, copy)
    assert estimator.get_params() == before
    assert weights == {0: 2.0}
