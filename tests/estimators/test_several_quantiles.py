"""DCQuantileSVR with several quantiles: each is the one alone, they share rows, they may cross."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, minimize
from sklearn.base import clone
from sklearn.metrics import mean_pinball_loss

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCQuantileSVR, DCSVMSearchCV, to_libsvm, to_onnx
from dcsvm_dask.pipeline import levels as training_levels

QUANTILES = [0.1, 0.5, 0.9]
WORDS: dict[str, Any] = {"C": 2.0, "gamma": 0.2, "tol": 1e-7}


@pytest.fixture(scope="module")
def houses(shared_data: Callable[[str], Any]) -> Any:
    """Return standardised houses and their prices, of the unit one."""
    file = shared_data("cadata")
    some = np.random.default_rng(0).permutation(len(file["X_train"]))[:500]
    X, y = file["X_train"][some].astype(np.float64), file["y_train"][some].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    return X, (y - y.mean()) / y.std()


@pytest.fixture(scope="module")
def fitted(houses: Any) -> DCQuantileSVR:
    model: DCQuantileSVR = DCQuantileSVR(quantile=QUANTILES, **WORDS).fit(*houses)
    return model


def test_each_is_the_one_that_is_fitted_alone(houses: Any, fitted: DCQuantileSVR) -> None:
    X, y = houses
    predicted = fitted.predict(X)
    assert predicted.shape == (len(y), 3)
    assert fitted.dual_coef_.shape == (3, len(fitted.support_))
    for number, quantile in enumerate(QUANTILES):
        alone = DCQuantileSVR(quantile=quantile, **WORDS).fit(X, y)
        assert fitted.objective_[number] == pytest.approx(alone.objective_, rel=1e-6)
        np.testing.assert_allclose(predicted[:, number], alone.predict(X), rtol=0, atol=1e-6)
        assert fitted.n_support_[number] == alone.n_support_[0]
        assert fitted.violation_[number] <= fitted.tol
    assert fitted.fit_status_ == 0


def test_each_is_that_of_a_dense_quadratic_program(houses: Any) -> None:
    X, y = (one[:60] for one in houses)
    fitted = DCQuantileSVR(quantile=QUANTILES, **WORDS).fit(X, y)
    squares = (X.astype(np.float64) ** 2).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * X.astype(np.float64) @ X.T.astype(np.float64)
    K = np.exp(-0.2 * np.maximum(0.0, distances))
    for objective, tau in zip(fitted.objective_, QUANTILES, strict=True):
        found = minimize(
            lambda b: 0.5 * b @ K @ b - y @ b,
            np.zeros(len(y)),
            jac=lambda b: K @ b - y,
            hess=lambda b: K,
            bounds=Bounds(np.full(len(y), 2.0 * (tau - 1.0)), np.full(len(y), 2.0 * tau)),
            constraints=[LinearConstraint(np.ones((1, len(y))), 0.0, 0.0)],
            method="trust-constr",
            options={"gtol": 1e-9, "xtol": 1e-11, "maxiter": 1500},
        )
        assert objective == pytest.approx(found.fun, rel=1e-5)


def test_crossing_is_counted_and_sorted(houses: Any, fitted: DCQuantileSVR) -> None:
    X, y = houses
    predicted = fitted.predict(X)
    crosses = (np.diff(predicted, axis=1) < 0.0).any(axis=1)
    assert 0.0 < fitted.crossing_ == pytest.approx(crosses.mean())
    ascending = clone(fitted).set_params(sort_quantiles=True).fit(X, y)
    np.testing.assert_array_equal(ascending.predict(X), np.sort(predicted, axis=1))
    # Chernozhukov, Fernandez-Val, Galichon (2010): the losses together are no larger.
    assert ascending.score(X, y) > fitted.score(X, y)


def test_the_score_is_minus_the_mean_pinball_loss(houses: Any, fitted: DCQuantileSVR) -> None:
    X, y = houses
    weight = np.random.default_rng(0).uniform(size=len(y))
    losses = [
        mean_pinball_loss(y, column, alpha=quantile, sample_weight=weight)
        for column, quantile in zip(fitted.predict(X).T, QUANTILES, strict=True)
    ]
    assert fitted.score(X, y, weight) == pytest.approx(-np.mean(losses))


def test_repeats_weights_and_sparse_rows(houses: Any) -> None:
    X, y = (one[:200] for one in houses)
    times = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    few = DCQuantileSVR(quantile=QUANTILES, **WORDS).fit(sparse.csr_array(X), y, times)
    many = DCQuantileSVR(quantile=QUANTILES, **WORDS).fit(X[rows], y[rows])
    np.testing.assert_allclose(few.predict(X), many.predict(X), rtol=0, atol=1e-6)
    linear = DCQuantileSVR(quantile=QUANTILES, kernel="linear").fit(X, y)
    expected = X @ linear.coef_.T + linear.intercept_
    np.testing.assert_allclose(linear.predict(X), expected, atol=1e-4)


def test_a_warm_start_is_the_same_solution_in_fewer_steps(houses: Any) -> None:
    X, y = houses
    warm = DCQuantileSVR(quantile=QUANTILES, warm_start=True, **WORDS).fit(X, y)
    before = warm.n_iter_.copy()
    objective = warm.objective_.copy()
    warm.fit(X, y)
    assert (warm.n_iter_ < before).all()
    np.testing.assert_allclose(warm.objective_, objective, rtol=1e-9)
    warm.set_params(quantile=[0.3, 0.7]).fit(X, y)  # other quantiles begin anew
    assert warm.predict(X).shape == (len(y), 2)


def test_one_quantile_in_a_list_has_a_column(houses: Any) -> None:
    X, y = (one[:60] for one in houses)
    column = DCQuantileSVR(quantile=[0.3], **WORDS).fit(X, y)
    alone = DCQuantileSVR(quantile=0.3, **WORDS).fit(X, y)
    np.testing.assert_array_equal(column.predict(X)[:, 0], alone.predict(X))
    assert column.crossing_ == 0.0
    assert not hasattr(alone, "crossing_")


@pytest.mark.parametrize(
    ("quantile", "said"),
    [
        ([], "quantile is empty"),
        ([0.5, 0.5], r"quantile holds 0\.5 twice"),
        ([0.9, 0.1], r"quantile holds 0\.1 after 0\.9: give quantiles in ascending order"),
        ([0.1, 1.0], r"between 0 and 1, or several in ascending order, got 1\.0"),
        (np.array([0.1, np.nan]), "between 0 and 1"),
        ([0.1, "0.5"], "between 0 and 1"),
        ([0.1, True], "between 0 and 1"),
    ],
)
def test_quantiles_that_cannot_be_are_refused(quantile: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        DCQuantileSVR(quantile=quantile).fit(np.eye(3), [0.0, 1.0, 2.0])


def test_what_cannot_hold_several_refuses_them(
    houses: Any, fitted: DCQuantileSVR, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="holds one regression SVM, and this estimator has 3"):
        to_libsvm(fitted, tmp_path / "model")
    with pytest.raises(InputError, match="pinball losses at different quantiles do not compare"):
        DCSVMSearchCV(fitted, {"C": [1.0, 2.0]}).fit(*houses)


@pytest.mark.parametrize("sort", [False, True])
def test_an_onnx_graph_has_a_column_for_each(
    houses: Any, fitted: DCQuantileSVR, sort: bool
) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    X, _ = houses
    graph = to_onnx(clone_of(fitted).set_params(sort_quantiles=sort))
    session = runtime.InferenceSession(graph.SerializeToString())
    (reported,) = session.run(["prediction"], {"rows": X})
    expected = np.sort(fitted.predict(X), axis=1) if sort else fitted.predict(X)
    np.testing.assert_allclose(reported, expected, atol=1e-9)


def clone_of(fitted: DCQuantileSVR) -> DCQuantileSVR:
    """Return a copy that is fitted."""
    made = clone(fitted)
    vars(made).update({**vars(fitted), **made.get_params()})
    return made


def test_a_run_ends_in_the_same_solutions(
    houses: Any, fitted: DCQuantileSVR, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 300)
    X, y = houses
    words = {"quantile": QUANTILES, **WORDS, "tol": 1e-6, "run": tmp_path / "run"}
    early = DCQuantileSVR(**words, stop_at=1).fit(X, y)
    assert early.level_ == 1
    assert early.predict(X).shape == (len(y), 3)
    assert not hasattr(early, "crossing_")
    run = DCQuantileSVR(**words).fit(X, y)
    assert run.level_ == 0
    np.testing.assert_allclose(run.objective_, fitted.objective_, rtol=1e-6)
    np.testing.assert_allclose(run.predict(X), fitted.predict(X), rtol=0, atol=1e-4)
    assert run.crossing_ == pytest.approx(fitted.crossing_, abs=0.01)
    assert (run.violation_ <= run.tol).all()
    again = DCQuantileSVR.from_run(tmp_path / "run")
    assert again.quantile == QUANTILES
    np.testing.assert_array_equal(again.predict(X), run.predict(X))
    assert again.crossing_ == run.crossing_
    with pytest.raises(InputError, match="begun with other parameters"):
        clone(run).set_params(quantile=[0.1, 0.9]).fit(X, y)
    column = DCQuantileSVR(quantile=[0.5], **WORDS, run=tmp_path / "one").fit(X, y)
    np.testing.assert_allclose(column.predict(X), fitted.predict(X)[:, [1]], rtol=0, atol=1e-4)
