"""Linear SVMs whose bias is free: the answers of LIBSVM, and of a dense minimiser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.svm import SVC, SVR

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import Trace, solve_linear, solve_linear_dual, warm_up_free_bias
from dcsvm_dask.solvers.linear import products, signed
from dcsvm_dask.solvers.linear.free_bias import balanced
from dcsvm_dask.solvers.linear.solve import solve_linear_chunks
from dcsvm_dask.tasks import Classification, Dual, Quantile, Regression

TOL = 1e-6
# Passes over rows of real targets are many where epsilon is not squared.
MANY = 200_000
Rows = tuple[np.ndarray, np.ndarray]


@pytest.fixture
def rows(shared_data: Callable[[str], Any]) -> Callable[..., Rows]:
    """Return a loader of some rows of a real data set, and their targets."""

    def load(name: str, n: int = 1000) -> Rows:
        found = shared_data(name)
        index = np.random.default_rng(0).permutation(len(found["X_train"]))[:n]
        X, y = found["X_train"][index].astype(np.float64), found["y_train"][index].astype(float)
        if name in ("cadata", "cpusmall"):
            X, y = (X - X.mean(axis=0)) / X.std(axis=0), y / y.std()
        return X.astype(np.float32), y

    return load


@pytest.fixture
def few() -> Rows:
    """Give rows of two classes that overlap, with a bias far from zero."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4)).astype(np.float32)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0.8, 1.0, -1.0)
    return X, y


def weights_of(n: int) -> np.ndarray:
    return np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], size=n)


def hinge(X: Any, y: np.ndarray, cost: Any, w: np.ndarray, b: float, power: int = 1) -> float:
    short = np.maximum(0.0, 1.0 - y * (X @ w + b)) ** power
    return float(0.5 * w @ w + np.sum(cost * short))


def tube(
    X: Any, y: np.ndarray, cost: Any, w: np.ndarray, b: float, epsilon: float, power: int = 1
) -> float:
    beyond = np.maximum(0.0, np.abs(y - X @ w - b) - epsilon) ** power
    return float(0.5 * w @ w + np.sum(cost * beyond))


@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize(
    ("name", "C", "weighted"), [("a9a", 0.1, True), ("ijcnn1", 1.0, False), ("w8a", 1.0, True)]
)
def test_classes_are_libsvms(
    name: str, C: float, weighted: bool, is_dense: bool, rows: Callable[..., Rows]
) -> None:
    X, y = rows(name)
    cost = C * (weights_of(len(y)) if weighted else np.ones(len(y)))
    found = solve_linear(
        X if is_dense else sparse.csr_array(X), y, cost, bias="free", tol=TOL, max_iter=MANY
    )
    svc = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X.astype(float), y, sample_weight=cost)
    b = float(svc.intercept_[0])
    wanted = hinge(X, y, cost, svc.coef_[0], b)
    assert found.converged
    assert -found.objective == pytest.approx(wanted, rel=1e-6)
    assert hinge(X, y, cost, found.w, found.b) == pytest.approx(wanted, rel=1e-6)
    assert found.b == pytest.approx(b, abs=1e-4)
    assert found.gap <= 1e-6 * wanted
    np.testing.assert_allclose(found.w, X.astype(float).T @ (y * found.alpha), atol=1e-12)
    assert abs(found.alpha @ y) < 1e-10 * found.alpha.sum()
    assert (found.alpha >= 0.0).all()
    assert (found.alpha <= cost).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["cadata", "cpusmall"])
def test_targets_are_libsvms(name: str, weighted: bool, rows: Callable[..., Rows]) -> None:
    X, y = rows(name)
    y += 5.0
    cost = 0.1 * (weights_of(len(y)) if weighted else np.ones(len(y)))
    dual = Regression(epsilon=0.1).dual(y, cost)
    found = solve_linear_dual((X,), dual, bias="free", tol=TOL, max_iter=MANY)
    svr = SVR(kernel="linear", C=1.0, epsilon=0.1, tol=1e-8)
    svr.fit(X.astype(float), y, sample_weight=cost)
    wanted = tube(X, y, cost, svr.coef_[0], svr.intercept_[0], 0.1)
    assert found.converged
    assert -found.objective == pytest.approx(wanted, rel=1e-6)
    assert tube(X, y, cost, found.w, found.b, 0.1) == pytest.approx(wanted, rel=1e-6)
    assert found.b == pytest.approx(svr.intercept_[0], abs=1e-3)
    assert found.gap <= 1e-6 * wanted


@pytest.mark.parametrize("loss", ["squared_hinge", "squared", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("is_dense", [True, False])
def test_squared_losses_are_minimised(loss: str, is_dense: bool, rows: Callable[..., Rows]) -> None:
    X, y = rows("cpusmall" if loss.endswith("insensitive") else "ijcnn1", 600)
    cost = weights_of(len(y))
    taken = X if is_dense else sparse.csr_array(X)
    if loss.endswith("insensitive"):
        with np.errstate(divide="ignore"):
            dual = Regression(epsilon=0.1, squared=True).dual(y, cost)
        found = solve_linear_dual((taken,), dual, bias="free", tol=TOL, max_iter=MANY)
    else:
        found = solve_linear(
            taken,
            y,
            cost,
            loss=loss,
            bias="free",
            tol=TOL,
            max_iter=MANY,  # type: ignore[arg-type]
        )
    Z = X.astype(np.float64)

    def value(v: np.ndarray) -> tuple[float, np.ndarray]:
        w, f = v[:-1], Z @ v[:-1] + v[-1]
        if loss == "squared_hinge":
            far, sign = np.maximum(0.0, 1.0 - y * f), -y
        else:
            epsilon = 0.1 if loss.endswith("insensitive") else 0.0
            far, sign = np.maximum(0.0, np.abs(y - f) - epsilon), -np.sign(y - f)
        slope = 2.0 * cost * far * sign
        gradient = np.append(w + Z.T @ slope, slope.sum())
        return 0.5 * w @ w + np.sum(cost * far**2), gradient

    best = minimize(
        value, np.zeros(X.shape[1] + 1), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    assert found.converged
    assert -found.objective == pytest.approx(best.fun, rel=1e-8)
    assert found.gap <= 1e-8 * best.fun
    np.testing.assert_allclose(np.append(found.w, found.b), best.x, atol=1e-5)


def test_quantiles_have_their_share_of_rows_below(rows: Callable[..., Rows]) -> None:
    X, y = rows("cadata", 400)
    for tau in (0.2, 0.7):
        dual = Quantile(quantile=tau).dual(y, np.ones(len(y)))
        found = solve_linear_dual((X,), dual, bias="free", tol=1e-4, max_iter=MANY)
        below = np.mean(y < X @ found.w + found.b)
        # A free bias has this share up to the rows that lie on the surface.
        assert below == pytest.approx(tau, abs=(X.shape[1] + 1) / len(y))


def test_chunks_have_the_answer_of_all_rows(rows: Callable[..., Rows]) -> None:
    X, y = rows("ijcnn1")
    whole = solve_linear(X, y, 1.0, bias="free", tol=TOL)
    found = solve_linear_chunks(np.array_split(X, 3), y, 1.0, bias="free", tol=TOL, max_iter=MANY)
    again = solve_linear_chunks(np.array_split(X, 3), y, 1.0, bias="free", tol=TOL, max_iter=MANY)
    assert found.converged
    assert found.objective == pytest.approx(whole.objective, rel=1e-7)
    assert found.b == pytest.approx(whole.b, abs=1e-4)
    assert np.array_equal(found.alpha, again.alpha)
    assert found.b == again.b


@pytest.mark.parametrize("order", ["fixed", "drawn"])
def test_any_order_has_the_answer(order: Any, few: Rows) -> None:
    X, y = few
    found = solve_linear(X, y, 1.0, bias="free", tol=TOL, order=order, max_iter=MANY)
    usual = solve_linear(X, y, 1.0, bias="free", tol=TOL, shrink=0.5, max_iter=MANY)
    assert found.converged
    assert usual.converged
    assert found.objective == pytest.approx(usual.objective, rel=1e-8)


def test_it_is_the_limit_of_large_constants(few: Rows) -> None:
    X, y = few
    free = solve_linear(X, y, 1.0, loss="squared_hinge", bias="free", tol=1e-8, max_iter=MANY)
    near = [
        solve_linear(X, y, 1.0, loss="squared_hinge", constant=c, tol=1e-8, max_iter=MANY)
        for c in (3.0, 30.0)
    ]
    far = [abs(one.objective - free.objective) for one in near]
    assert far[1] < 0.02 * far[0]
    assert near[1].b == pytest.approx(free.b, abs=1e-3)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_unit_of_features_changes_nothing(scale: float, few: Rows) -> None:
    X, y = few
    one = solve_linear(X, y, 1.0, bias="free", tol=TOL)
    other = solve_linear(scale * X, y, 1.0 / scale**2, bias="free", tol=TOL)
    assert other.converged
    assert other.n_iter < 3 * one.n_iter
    assert other.b == pytest.approx(one.b, abs=1e-4)
    np.testing.assert_allclose(scale * other.w, one.w, atol=1e-3)


def test_a_shift_of_features_moves_the_bias_alone(few: Rows) -> None:
    X, y = few
    one = solve_linear(X, y, 1.0, bias="free", tol=TOL)
    other = solve_linear(X + np.float32(2.0), y, 1.0, bias="free", tol=TOL, max_iter=MANY)
    assert other.converged
    assert other.objective == pytest.approx(one.objective, rel=1e-6)
    assert other.b == pytest.approx(one.b - 2.0 * one.w.sum(), abs=1e-4)


@pytest.mark.parametrize("C", [1e-4, 1e-2])
def test_all_rows_may_lie_at_a_bound(C: float, few: Rows) -> None:
    X, y = few
    found = solve_linear(X, y, C, bias="free", tol=TOL, max_iter=MANY)
    svc = SVC(kernel="linear", C=C, tol=1e-9).fit(X.astype(float), y)
    wanted = hinge(X, y, C, svc.coef_[0], svc.intercept_[0])
    assert found.converged
    assert -found.objective == pytest.approx(wanted, rel=1e-6)
    assert hinge(X, y, C, found.w, found.b) == pytest.approx(wanted, rel=1e-6)


def test_rows_of_one_class_need_the_bias_alone(few: Rows) -> None:
    X, _ = few
    found = solve_linear(X, np.ones(len(X)), 1.0, bias="free")
    assert found.converged
    assert not found.w.any()
    assert found.b == pytest.approx(1.0)
    assert found.gap == 0.0


def test_a_start_at_the_answer_stays_there(few: Rows) -> None:
    X, y = few
    one = solve_linear(X, y, 1.0, bias="free", tol=1e-8, max_iter=MANY)
    again = solve_linear(X, y, 1.0, bias="free", alpha=one.alpha, tol=1e-6)
    assert again.n_iter < 5
    assert again.objective == pytest.approx(one.objective, rel=1e-10)


def test_the_gap_bounds_what_is_left_after_each_pass(few: Rows) -> None:
    X, y = few
    best = solve_linear(X, y, 1.0, bias="free", tol=1e-9, max_iter=MANY).objective
    trace = Trace()
    found = solve_linear(X, y, 1.0, bias="free", tol=1e-4, trace=trace)
    _, primal, dual, gap = trace.passes.T
    assert len(dual) == found.n_iter == len(found.history)
    assert (dual >= best - 1e-9).all()
    assert (primal >= -best - 1e-9).all()
    np.testing.assert_allclose(gap, primal + dual, atol=1e-12)
    assert found.history[-1, 0] == found.objective
    # The history has the point before it is balanced.
    np.testing.assert_allclose(found.history[-5:, 0], dual[-5:], rtol=1e-3)


def test_without_convergence_the_best_point_is_returned(few: Rows) -> None:
    X, y = few
    found = solve_linear(X, y, 1.0, bias="free", tol=1e-9, max_iter=3)
    assert not found.converged
    assert found.n_iter == 3
    assert found.gap > 0.0
    assert abs(found.alpha @ y) < 1e-12


@pytest.mark.parametrize("squared", [False, True])
def test_balancing_keeps_bounds_and_free_variables(squared: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        y = rng.choice([-1.0, 1.0], size=20)
        dual = Classification(squared=squared).dual(y, np.ones(20))
        beta = y * rng.choice([0.0, 0.3, 0.9, 1.0], size=20)
        found = balanced(beta, dual)
        assert abs(found.sum()) < 1e-12
        assert (found >= dual.lower).all()
        assert (found <= dual.upper).all()
        assert np.array_equal(balanced(found, dual), found)
    dual = Dual(np.zeros(4), np.full(4, -1.0), np.ones(4))
    beta = np.array([1.0, -0.95, 0.5, -0.5])
    found = balanced(beta, dual)
    assert found[0] == 1.0
    assert dual.is_free(found).tolist() == [False, True, True, True]


def test_nothing_is_compiled_after_warm_up(few: Rows) -> None:
    warm_up_free_bias()
    compiled = (products.combine, products.outputs, signed.descend_signed)
    before = [len(one.signatures) for one in compiled]
    X, y = few
    for rows in (X, sparse.csr_array(X)):
        solve_linear(rows, y, 1.0, bias="free")
        solve_linear_chunks([rows[:40], rows[40:]], y, 1.0, bias="free")
    assert [len(one.signatures) for one in compiled] == before


def test_another_bias_is_refused(few: Rows) -> None:
    X, y = few
    with pytest.raises(InputError, match="bias is 'none': give one of feature, free"):
        solve_linear(X, y, 1.0, bias="none")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no chunks"):
        solve_linear_chunks([], y, 1.0, bias="free")
