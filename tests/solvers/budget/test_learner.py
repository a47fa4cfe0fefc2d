"""Descent on a budget against a plain NumPy version of the algorithm, on real rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import BudgetedLearner, far_merges, joined_points, timed_pieces
from dcsvm_dask.solvers.budget import learner as solver
from dcsvm_dask.tasks import Dual, Regression, svc_dual

ROWS, BUDGET, C = 400, 20, 4.0
Rows = tuple[NDArray[np.float32], NDArray[np.float64]]


@pytest.fixture(scope="module")
def rows(shared_data: Callable[[str], Any]) -> Rows:
    found = shared_data("a9a")
    index = np.random.default_rng(0).permutation(len(found["X_train"]))[:ROWS]
    y = np.where(found["y_train"][index] > 0, 1.0, -1.0)
    return np.ascontiguousarray(found["X_train"][index], np.float32), y


def s_of(h: float, m: float, kappa: float) -> float:
    return float(m * kappa ** ((1 - h) ** 2) + (1 - m) * kappa ** (h**2))


def plain_merge(kernel: Kernel, points: list[Any], coef: list[float]) -> None:
    """Merge as the paper has it: all partners of the sign, by search to the last digit."""
    i = int(np.argmin(np.abs(coef)))
    best = None
    for j in range(len(coef)):
        if j == i or np.sign(coef[j]) != np.sign(coef[i]):
            continue
        kappa = float(
            kernel_matrix(kernel, points[i][None], points[j][None], dtype=np.float64)[0, 0]
        )
        total = abs(coef[i]) + abs(coef[j])
        m = abs(coef[i]) / total
        found = minimize_scalar(
            lambda h, m=m, kappa=kappa: -s_of(h, m, kappa),
            bounds=(0, 0.5),
            method="bounded",
            options={"xatol": 1e-10},
        )
        cost = total**2 * (m**2 + (1 - m) ** 2 + 2 * m * (1 - m) * kappa - found.fun**2)
        if best is None or cost < best[0]:
            best = (cost, j, found.x, kappa)
    if best is not None:
        _, j, h, kappa = best
        coef[j] = coef[i] * kappa ** ((1 - h) ** 2) + coef[j] * kappa ** (h**2)
        points[j] = (h * points[i] + (1 - h) * points[j]).astype(np.float32)
    drop(points, coef, i)


def drop(points: list[Any], coef: list[float], i: int) -> None:
    """Let the last one take the place, as the solver does: equal coefficients go by place."""
    points[i], coef[i] = points[-1], coef[-1]
    del points[-1], coef[-1]


def plain(
    kernel: Kernel, X: Any, dual: Dual, order: Any, merge: str, *, bias: bool = False
) -> tuple[Any, Any, float]:
    points: list[Any] = []
    coef: list[float] = []  # by the factor of time, so that equal steps have equal ones
    n, b = len(X), 0.0
    epsilon = np.zeros(n) if dual.epsilon is None else dual.epsilon
    for t, row in enumerate(order, start=1):
        f = 0.0
        if points:
            K = kernel_matrix(kernel, X[row][None], np.array(points), dtype=np.float64)[0]
            f = (float(K @ np.array(coef)) + b) / (t - 1)
        slope = f + dual.p[row]
        step = 0.0
        if slope < -epsilon[row]:
            step = dual.upper[row]
        elif slope > epsilon[row]:
            step = dual.lower[row]
        if not step:
            continue
        points.append(X[row])
        coef.append(n * step)
        b += n * step if bias else 0.0
        if len(points) <= BUDGET:
            continue
        if merge == "lookup-wd":
            plain_merge(kernel, points, coef)
            continue
        i = int(np.argmin(np.abs(coef)))
        lightest, own = points[i], coef[i]
        drop(points, coef, i)
        if merge == "projection":
            P = np.array(points)
            K = kernel_matrix(kernel, P, P, dtype=np.float64)
            k = kernel_matrix(kernel, P, lightest[None], dtype=np.float64)[:, 0]
            coef = list(np.array(coef) + own * np.linalg.lstsq(K, k, rcond=None)[0])
    return np.array(points), np.array(coef) / len(order), b / len(order)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("merge", ["gss-precise", "lookup-h", "lookup-wd", "removal", "projection"])
def test_steps_are_those_of_the_algorithm(rows: Rows, merge: str, is_sparse: bool) -> None:
    X, y = rows
    kernel, dual = Kernel("rbf", 0.05), svc_dual(y, C)
    order = np.random.default_rng(1).permutation(ROWS)[:250]
    which = "lookup-wd" if merge in ("gss-precise", "lookup-h") else merge
    points, coef, b = plain(kernel, X, dual, order, which, bias=True)
    learner = BudgetedLearner(kernel, X.shape[1], BUDGET, merge=merge, with_bias=True)
    learner.learn(sparse.csr_array(X) if is_sparse else X, dual, order, total=ROWS)
    found = learner.point
    assert len(found.coef) == BUDGET == len(coef)
    # The functions are compared, since support vectors have no order.
    K = kernel_matrix(kernel, X, found.points, dtype=np.float64)
    f = K @ found.beta + found.intercept
    expected = kernel_matrix(kernel, X, points, dtype=np.float64) @ coef + b
    np.testing.assert_allclose(f, expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["linear", "poly", "sigmoid", "laplacian"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_other_kernels_remove_or_project(rows: Rows, name: str, is_sparse: bool) -> None:
    X, y = rows
    kernel, dual = Kernel(name, 0.0473, 2, 0.531), svc_dual(y, C)
    order = np.random.default_rng(1).permutation(ROWS)[:200]
    points, coef, _ = plain(kernel, X, dual, order, "removal")
    learner = BudgetedLearner(kernel, X.shape[1], BUDGET, merge="removal")
    learner.learn(sparse.csr_array(X) if is_sparse else X, dual, order, total=ROWS)
    found = learner.point
    f = kernel_matrix(kernel, X, found.points, dtype=np.float64) @ found.beta
    expected = kernel_matrix(kernel, X, points, dtype=np.float64) @ coef
    np.testing.assert_allclose(f, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_regression_takes_steps_outside_its_tube(shared_data: Callable[[str], Any]) -> None:
    found = shared_data("kin40k")
    X = np.ascontiguousarray(found["X_train"][:ROWS], np.float32)
    z = found["y_train"][:ROWS].astype(np.float64)
    kernel, dual = Kernel("rbf", 0.1), Regression(epsilon=0.1).dual(z, np.full(ROWS, 2.0))
    order = np.random.default_rng(1).permutation(ROWS)[:200]
    points, coef, _ = plain(kernel, X, dual, order, "removal")
    learner = BudgetedLearner(kernel, X.shape[1], BUDGET, merge="removal")
    learner.learn(X, dual, order, total=ROWS)
    f = kernel_matrix(kernel, X, learner.point.points, dtype=np.float64) @ learner.point.beta
    expected = kernel_matrix(kernel, X, points, dtype=np.float64) @ coef
    np.testing.assert_allclose(f, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("merge", ["lookup-wd", "gss", "removal", "projection"])
def test_going_on_changes_nothing(rows: Rows, merge: str) -> None:
    X, y = rows
    kernel, dual = Kernel("rbf", 0.05), svc_dual(y, C)
    order = np.random.default_rng(2).permutation(ROWS)
    whole = BudgetedLearner(kernel, X.shape[1], BUDGET, merge=merge)
    whole.learn(X, dual, order, total=ROWS)
    first = BudgetedLearner(kernel, X.shape[1], BUDGET, merge=merge)
    first.learn(X, dual, order[:170], total=ROWS)
    second = BudgetedLearner(kernel, X.shape[1], BUDGET, merge=merge, point=first.point)
    second.learn(X, dual, order[170:], total=ROWS)
    np.testing.assert_array_equal(second.point.points, whole.point.points)
    np.testing.assert_array_equal(second.point.counts, whole.point.counts)
    exactly = 1e-6 if merge == "projection" else 0.0  # whose kernel values are made again
    np.testing.assert_allclose(second.point.coef, whole.point.coef, rtol=exactly)


def test_with_room_for_all_it_nears_the_exact_svm(rows: Rows) -> None:
    X, y = rows
    kernel, dual = Kernel("rbf", 0.05), svc_dual(y, 1.0)
    learner = BudgetedLearner(kernel, X.shape[1], ROWS)
    rng = np.random.default_rng(0)
    # A row that violates in several epochs becomes a support vector each time: few epochs.
    learner.learn(X, dual, rng.permutation(ROWS), total=ROWS)
    for _ in range(200):
        learner.learn(X, dual, rng.permutation(ROWS), total=ROWS)
    found = learner.point
    exact = SVC(C=1.0, gamma=0.05).fit(X, y)
    K = kernel_matrix(kernel, X, found.points, dtype=np.float64)
    agree = np.mean(np.sign(K @ found.beta) == exact.predict(X))
    assert agree > 0.97
    P = kernel_matrix(kernel, found.points, found.points, dtype=np.float64)
    primal = 0.5 * found.beta @ P @ found.beta + np.maximum(0, 1 - y * (K @ found.beta)).sum()
    dual_value = primal_of(kernel, X, y)
    assert primal < 1.02 * dual_value


def primal_of(kernel: Kernel, X: Any, y: Any) -> float:
    """Return the best objective without a bias."""
    from tests.svc import solve_smo

    K = kernel_matrix(kernel, X, dtype=np.float64)
    return float(-solve_smo(K, y, 1.0, tol=1e-8).objective)


def test_the_mean_of_shares_is_the_mean_of_their_functions(rows: Rows) -> None:
    X, y = rows
    kernel, dual = Kernel("rbf", 0.05), svc_dual(y, C)
    start = BudgetedLearner(kernel, X.shape[1], BUDGET, with_bias=True)
    start.learn(X, dual, np.arange(100), total=ROWS)
    shares = []
    for order in (np.arange(100, 200), np.arange(200, 300)):
        one = BudgetedLearner(kernel, X.shape[1], BUDGET, with_bias=True, point=start.point)
        one.learn(X, dual, order, total=ROWS)
        shares.append(one.point)
    mean = joined_points(shares, start.point)
    assert mean.steps == 300

    def decide(point: Any) -> Any:
        K = kernel_matrix(kernel, X, point.points, dtype=np.float64)
        return K @ point.beta + point.intercept

    np.testing.assert_allclose(decide(mean), np.mean([decide(one) for one in shares], axis=0))
    within = BudgetedLearner(kernel, X.shape[1], BUDGET, with_bias=True, point=mean)
    within.shrink()
    assert len(within.point.coef) == BUDGET
    off = np.abs(decide(within.point) - decide(mean))
    assert np.median(off) < 0.2 * np.abs(decide(mean)).std()


def test_nothing_can_merge_where_no_point_sees_another(rows: Rows) -> None:
    X, y = rows
    kernel = Kernel("rbf", 1e9)
    learner = BudgetedLearner(kernel, X.shape[1], BUDGET)
    learner.learn(X, svc_dual(y, C), np.arange(ROWS), total=ROWS)
    assert "nothing can merge" in far_merges(learner.point.words(), kernel)
    seeing = BudgetedLearner(Kernel("rbf", 0.05), X.shape[1], BUDGET)
    seeing.learn(X, svc_dual(y, C), np.arange(ROWS), total=ROWS)
    assert far_merges(seeing.point.words(), kernel) == ""


def test_rows_of_one_class_are_learned(rows: Rows) -> None:
    X, _ = rows
    learner = BudgetedLearner(Kernel("rbf", 0.05), X.shape[1], BUDGET)
    learner.learn(X, svc_dual(np.ones(ROWS), C), np.arange(ROWS), total=ROWS)
    assert (learner.point.beta > 0).all()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"budget": 1}, "budget is 1: give at least 2"),
        ({"budget": 1 << 50}, "do not fit into memory; lower it"),
        ({"budget": 1 << 70}, "do not fit into memory; lower it"),
        ({"merge": "fastest"}, "merge is 'fastest': give one of gss,"),
        (
            {"kernel": Kernel("linear")},
            "only points of the rbf kernel can be merged, not of linear",
        ),
    ],
)
def test_bad_parameters_are_refused(how: dict[str, Any], said: str) -> None:
    words = {"kernel": Kernel("rbf"), "budget": 10, **how}
    with pytest.raises(InputError, match=said):
        BudgetedLearner(words.pop("kernel"), 3, words.pop("budget"), **words)


def test_squared_losses_are_refused(rows: Rows) -> None:
    X, y = rows
    dual = Regression(epsilon=0.1, squared=True).dual(y, np.ones(ROWS))
    learner = BudgetedLearner(Kernel("rbf"), X.shape[1], BUDGET)
    with pytest.raises(InputError, match="squared losses"):
        learner.learn(X, dual, np.arange(ROWS), total=ROWS)


def test_sparse_rows_far_from_the_origin_have_exact_distances(rows: Rows) -> None:
    X, y = rows
    far = np.concatenate([X, np.full((ROWS, 1), 20_000.0)], axis=1).astype(np.float32)
    found = []
    for Z in (far, sparse.csr_array(far)):
        learner = BudgetedLearner(Kernel("rbf", 0.05), far.shape[1], BUDGET)
        learner.learn(Z, svc_dual(y, C), np.arange(ROWS), total=ROWS)
        point = learner.point
        K = kernel_matrix(Kernel("rbf", 0.05), X, point.points[:, :-1].copy(), dtype=np.float64)
        found.append(K @ point.beta)
    np.testing.assert_allclose(found[1], found[0], atol=1e-2 * np.abs(found[0]).max())


@pytest.mark.parametrize("name", ["linear", "poly", "sigmoid"])
def test_rows_of_zeros_can_be_projected(rows: Rows, name: str) -> None:
    X, y = rows
    X = X * (np.arange(ROWS) % 3 > 0)[:, None]
    learner = BudgetedLearner(Kernel(name, 0.05, 2), X.shape[1], BUDGET, merge="projection")
    learner.learn(X.astype(np.float32), svc_dual(y, C), np.arange(ROWS), total=ROWS)
    assert np.isfinite(learner.point.beta).all()


def test_values_that_are_not_finite_are_refused(rows: Rows) -> None:
    X, y = rows
    learner = BudgetedLearner(Kernel("linear"), X.shape[1], BUDGET, merge="removal")
    with pytest.raises(InputError, match="decision value of a row is not finite: the linear"):
        learner.learn(X * np.float32(1e25), svc_dual(y, C), np.arange(ROWS), total=ROWS)


def test_rows_of_no_part_cost_a_step_and_nothing_else(rows: Rows) -> None:
    X, y = rows
    dual = svc_dual(y, C)
    idle = np.arange(ROWS) % 2 == 0
    off = Dual(dual.p, np.where(idle, 0.0, dual.lower), np.where(idle, 0.0, dual.upper))
    learner = BudgetedLearner(Kernel("rbf", 0.05), X.shape[1], BUDGET)
    learner.learn(X, off, np.arange(ROWS), total=ROWS)
    assert learner.point.steps == ROWS
    assert learner.point.words()["violations"] <= ROWS // 2


def test_pieces_are_the_whole_order_and_change_nothing(rows: Rows) -> None:
    X, y = rows
    order, dual = np.random.default_rng(0).permutation(len(X)), svc_dual(y, 4.0)
    pieces = list(timed_pieces(order))
    np.testing.assert_array_equal(np.concatenate(pieces), order)
    assert [len(piece) for piece in pieces[:3]] == [16, 32, 64]
    whole, parts = (BudgetedLearner(Kernel("rbf", 0.05), X.shape[1], BUDGET) for _ in range(2))
    whole.learn(X, dual, order, total=len(X))
    for piece in pieces:
        parts.learn(X, dual, piece, total=len(X))
    np.testing.assert_array_equal(parts.point.coef, whole.point.coef)
    np.testing.assert_array_equal(parts.point.points, whole.point.points)


def test_slow_pieces_become_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "PIECE_SECONDS", 0.0)
    lengths = [len(piece) for piece in timed_pieces(np.arange(40))]
    assert lengths[:6] == [16, 8, 4, 2, 1, 1]
    assert sum(lengths) == 40


@pytest.mark.parametrize("C", [1e98, 1e307])
def test_steps_beyond_float64_are_refused(C: float, rows: Rows) -> None:
    X, y = rows
    learner = BudgetedLearner(Kernel("rbf", 0.05), X.shape[1], BUDGET)
    with pytest.raises(InputError, match=r"C is too large: C times the weight of a row is"):
        learner.learn(X, svc_dual(y, C), np.arange(5), total=len(X))
