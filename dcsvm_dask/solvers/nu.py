"""Problems whose variables have given sums: one-class SVM, nu-SVC, nu-SVR.

Up to `SMALL` rows they are solved as they are. More rows are first solved without the sums, for a
multiplier in their place: a nu-SVC is the C-SVC at C = 1 / rho, a nu-SVR the epsilon-SVR at its
epsilon, a one-class SVM the box problem with the linear term -rho (Schoelkopf, Smola, Williamson,
Bartlett, Neural Computation 12, 2000). A start or a random subset gives the multiplier, secants
bring the sum near; the solution is then brought to the sums exactly and is the start of the problem
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, counted_kernel_matrix, kernel_matrix, kernel_product
from dcsvm_dask.solvers.decomposition import solve_decomposition
from dcsvm_dask.solvers.inner.signs import by_signs
from dcsvm_dask.solvers.inner.solve import solve_inner
from dcsvm_dask.solvers.optimality import bias, multipliers
from dcsvm_dask.solvers.smo.solve import solve_smo
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.whole import SMALL, solve_whole
from dcsvm_dask.tasks import Dual, NuClassification, NuRegression, OneClass, Task

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

SUBSET = 2048
"""Rows of the subset whose solution gives the multiplier."""
SUBSET_TOL = 1e-2
# The last problem without the sums is solved to this many times the tolerance, those before to this
# share of what their sum is off, at most to the third.
NEAR_TOL, NEAR_SHARE, COARSE_TOL = 3.0, 0.01, 0.01
# Secants end where the sum is this near, as a share of it, ...
NEAR_SUM = 2e-3
# ... or after so many solutions.
MOST_SECANTS = 10


@dataclass(frozen=True, slots=True)
class NuSolution:
    """The solution of a problem with given sums.

    Attributes
    ----------
    solution : Solution
        In the scale in which it decides: of nu-SVC divided by rho, `violation` before that.
    multiplier : float
        rho of the one-class SVM and of nu-SVC, epsilon of nu-SVR.
    kernel_values : int
    """

    solution: Solution
    multiplier: float
    kernel_values: int


def brought_to_sums(beta: Vector, dual: Dual, totals: list[float], gradient: Vector) -> Vector:
    """Return variables with given sums: those move that raise the objective least.

    Parameters
    ----------
    beta : ndarray, shape (n,), float64
        Within the bounds.
    dual : Dual
    totals : list of float
        The sum of each group.
    gradient : ndarray, shape (n,), float64
        Gradient of the objective, by which variables are ordered.

    Raises
    ------
    InputError
        If the bounds of a group do not allow its sum.
    """
    beta = beta.copy()
    for mine, wanted in zip(dual.groups, totals, strict=True):
        missing = wanted - float(beta[mine].sum())
        ends = dual.upper[mine] if missing > 0.0 else dual.lower[mine]
        slope = gradient[mine] if missing > 0.0 else -gradient[mine]
        order = np.argsort(slope, kind="stable")
        room = np.abs(ends - beta[mine])[order]
        before = np.cumsum(room) - room
        moved = np.clip(abs(missing) - before, 0.0, room)
        if moved.sum() < abs(missing) * (1.0 - 1e-9):
            raise InputError("the bounds do not allow the sum of the variables: nu is too large.")
        values = beta[mine]
        values[order] = np.where(
            moved == room, ends[order], values[order] + np.copysign(moved, missing)
        )
        beta[mine] = values
    return beta


def brought_to_size(beta: Vector, dual: Dual, size: float, gradient: Vector) -> Vector:
    """Return variables whose negative and positive ones have half of a size each.

    Parameters
    ----------
    beta, dual, gradient
        As for `brought_to_sums`; with `Dual.spare`.
    size : float
        Sum of abs(beta).
    """
    index, grouped = by_signs(dual)
    half, found = 0.5 * size, np.zeros(len(beta))
    of_signs = brought_to_sums(grouped.clip(beta[index]), grouped, [-half, half], gradient[index])
    np.add.at(found, index, of_signs)
    return found


def solve_one_class(
    kernel: Kernel, X: Rows, weights: Vector, nu: float, *, tol: float = 1e-3, **how: Any
) -> NuSolution:
    """Solve min 0.5 b'Kb over 0 <= b_i <= w_i with sum(b) = nu sum(w); f - rho decides.

    Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson, Neural Computation 13, 2001, in LIBSVM's
    scale.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    weights : ndarray, shape (n,), float64
        Above 0.
    nu : float
        In (0, 1].
    tol : float, default 1e-3
    **how
        ``working_size``, ``inner``, ``max_iter``, ``seed``, ``threads`` and ``K`` as for
        `solve_whole`; ``beta``, a start with other sums.
    """
    nothing = np.zeros(len(weights))
    dual, total = Dual(nothing, nothing, weights), nu * float(weights.sum())

    def multiplier(gradient: Vector, beta: Vector, dual: Dual) -> float:
        return -bias(gradient, beta, dual)

    def easy(rho: float) -> Dual:
        return Dual(np.full(len(weights), -rho), nothing, weights)

    way = _Way(multiplier, easy, rising=True, equality=False)
    solution, values = _solve(kernel, X, dual, [total], way, tol=tol, **how)
    solution.bias = bias(solution.gradient, solution.beta, dual)
    return NuSolution(solution, -solution.bias, values)


def solve_nu_svc(
    kernel: Kernel,
    X: Rows,
    y: Vector,
    weights: Vector,
    nu: float,
    *,
    tol: float = 1e-3,
    **how: Any,
) -> NuSolution:
    """Solve nu-SVC: min 0.5 a'Qa over 0 <= a_i <= w_i, y'a = 0, sum(a) = nu sum(w).

    Its solution is divided by rho, so that margins are at -1 and +1.

    Parameters
    ----------
    kernel, X, nu, tol, **how
        As for `solve_one_class`.
    y : ndarray, shape (n,), float64
        Labels, -1 and +1; those with -1 come first.
    weights : ndarray, shape (n,), float64

    Raises
    ------
    InputError
        If the classes do not allow nu.
    """
    nothing = np.zeros(len(y))
    dual = Dual(
        nothing,
        np.minimum(y * weights, 0.0),
        np.maximum(y * weights, 0.0),
        group=(y > 0.0).astype(np.int8),
    )
    half = 0.5 * nu * float(weights.sum())

    def multiplier(gradient: Vector, beta: Vector, dual: Dual) -> float:
        low, high = multipliers(gradient, beta, dual)
        return 0.5 * (low - high)

    def easy(rho: float) -> Dual:
        return Dual(-rho * y, dual.lower, dual.upper)

    way = _Way(multiplier, easy, rising=True)
    solution, values = _solve(kernel, X, dual, [-half, half], way, tol=tol, **how)
    rho = multiplier(solution.gradient, solution.beta, dual)
    offset = 0.5 * sum(multipliers(solution.gradient, solution.beta, dual))
    if rho <= 0.0:  # the classes' weighted means in the feature space meet
        raise InputError(f"nu = {nu:g} is too large: no margin separates the classes.")
    scaled = replace(
        solution,
        beta=solution.beta / rho,
        gradient=solution.gradient / rho,
        objective=solution.objective / rho**2,
        bias=offset / rho,
    )
    return NuSolution(scaled, rho, values)


def solve_nu_svr(
    kernel: Kernel,
    X: Rows,
    z: Vector,
    C: Vector,
    nu: float,
    *,
    tol: float = 1e-3,
    **how: Any,
) -> NuSolution:
    """Solve nu-SVR: min 0.5 b'Kb - z'b over |b_i| <= C_i, sum(b) = 0, sum |b| <= nu sum(C).

    Both signs of a variable have a sum of their own, as in LIBSVM, so that there are two variables
    a row; the problem near to it, epsilon-SVR, has one.

    Parameters
    ----------
    kernel, X, nu, tol, **how
        As for `solve_one_class`.
    z : ndarray, shape (n,), float64
        Targets.
    C : ndarray, shape (n,), float64
    """
    n, half = len(z), 0.5 * nu * float(C.sum())
    nothing = np.zeros(n)
    dual = Dual(
        np.concatenate([-z, -z]),
        np.concatenate([-C, nothing]),
        np.concatenate([nothing, C]),
        group=np.repeat(np.array([0, 1], np.int8), n),
    )

    def multiplier(gradient: Vector, beta: Vector, dual: Dual) -> float:
        low, high = multipliers(gradient, beta, dual)
        return 0.5 * (high - low)

    def easy(epsilon: float) -> Dual:
        return Dual(-z, -C, C, np.full(n, epsilon))

    way = _Way(multiplier, easy, rising=False, scaled=False)
    solution, values = _solve(kernel, X, dual, [-half, half], way, tol=tol, twice=True, **how)
    joined = replace(
        solution,
        beta=solution.beta[:n] + solution.beta[n:],
        gradient=solution.gradient[:n],
        bias=0.5 * sum(multipliers(solution.gradient, solution.beta, dual)),
    )
    return NuSolution(joined, multiplier(solution.gradient, solution.beta, dual), values)


def solve_nu(
    kernel: Kernel, X: Rows, targets: Vector, C: Vector, task: Task, **how: Any
) -> NuSolution:
    """Solve the nu-SVM of a task, of rows in any order.

    Parameters
    ----------
    kernel, X, **how
        As for `solve_one_class`.
    targets, C : ndarray, shape (n,), float64
        As for `Task.dual`.
    task : NuClassification, NuRegression or OneClass
    """
    if isinstance(task, OneClass):
        return solve_one_class(kernel, X, C, task.nu, **how)
    if isinstance(task, NuRegression):
        return solve_nu_svr(kernel, X, targets - task.centre, C, task.nu, **how)
    assert isinstance(task, NuClassification)
    order = np.argsort(targets, kind="stable")
    if "beta" in how and how["beta"] is not None:
        how["beta"] = how["beta"][order]
    found = solve_nu_svc(kernel, X[order], targets[order], C[order], task.nu, **how)
    beta, gradient = np.empty(len(order)), np.empty(len(order))
    beta[order], gradient[order] = found.solution.beta, found.solution.gradient
    return replace(found, solution=replace(found.solution, beta=beta, gradient=gradient))


@dataclass(frozen=True)
class _Way:
    """The problem without sums that a problem with sums is near to.

    Attributes
    ----------
    multiplier : callable
        Returns the multiplier of the sums from gradient, beta and dual of a solution.
    easy : callable
        Returns the problem without sums for a multiplier, 0 or more.
    rising : bool
        Whether the sum of its variables' sizes rises with the multiplier.
    equality : bool
        Whether that problem has a bias.
    scaled : bool
        Whether the bounds of a random subset grow so that the sums stay. For regression the subset
        would then fit its noise: with the bounds as they are epsilon is rather too large, for which
        fewer rows are support vectors.
    """

    multiplier: Callable[[Vector, Vector, Dual], float]
    easy: Callable[[float], Dual]
    rising: bool
    equality: bool = True
    scaled: bool = True


def _near(
    way: _Way,
    first: float,
    size: float,
    tol: float,
    solve: Callable[[Dual, Vector | None, float], Solution],
    beta: Vector | None = None,
) -> tuple[Solution, Dual]:
    """Return the solution without sums whose variables have about a given sum of sizes.

    Secants within the bracket of the multipliers tried so far: the sum is monotone.

    Parameters
    ----------
    way : _Way
    first : float
        Multiplier to begin with.
    size : float
        Wanted sum of abs(beta).
    tol : float
    solve : callable
        Solves a problem from a start to a tolerance.
    beta : ndarray, optional
        The first start.
    """
    low, high, at = 0.0, np.inf, max(first, 0.0)
    tried: list[tuple[float, float]] = []
    excess = 1.0
    for _ in range(MOST_SECANTS):
        easy = way.easy(at)
        coarse = min(NEAR_SHARE * abs(excess), COARSE_TOL) * max(1.0, at)
        given = solve(easy, None if beta is None else easy.clip(beta), max(NEAR_TOL * tol, coarse))
        beta = given.beta
        excess = float(np.abs(beta).sum()) / size - 1.0
        if abs(excess) <= NEAR_SUM:
            break
        if (excess > 0.0) == way.rising:
            high = min(high, at)
        else:
            low = max(low, at)
        tried.append((at, excess))
        if len(tried) == 1:
            following = at * (0.9 if (excess > 0.0) == way.rising else 1.1) or 1e-3
        else:
            (a, e), (b, f) = tried[-2:]
            following = b - f * (b - a) / (f - e) if f != e else b
        if not low < following < high:
            following = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
        if following == at or following <= 0.0:
            break
        at = following
    return given, easy


def _solve(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    totals: list[float],
    way: _Way,
    *,
    tol: float,
    twice: bool = False,
    K: NDArray[np.floating] | None = None,
    beta: Vector | None = None,
    working_size: int = 8192,
    inner: str = "auto",
    max_iter: int | None = None,
    seed: int = 0,
    threads: int = 1,
) -> tuple[Solution, int]:
    """Solve a problem with sums; `twice`: its rows are those of X, and again those of X."""
    n, values = X.shape[0], 0
    how: dict[str, Any] = {"equality": True, "max_iter": max_iter}
    if K is None and n <= SMALL:
        K, values = counted_kernel_matrix(kernel, X, dtype=np.float64, threads=threads)
    if K is not None:
        start, gradient = np.zeros(len(dual)), dual.p
        if beta is not None:
            start, gradient = _start(beta, K @ beta, dual, twice=twice)
        start = brought_to_sums(start, dual, totals, gradient)
        K = np.tile(K, (2, 2)) if twice else K
        return solve_inner(K, dual, inner=inner, beta=start, tol=tol, **how), values
    if beta is None:
        multiplier, values, steps = _multiplier_of_subset(
            kernel, X, dual, totals, way, twice=twice, seed=seed, threads=threads, **how
        )
    else:
        f, values = kernel_product(kernel, X, X, beta, threads=threads)
        start, gradient = _start(beta, f, dual, twice=twice)
        multiplier, steps = way.multiplier(gradient, start, dual), 0

    def solve(easy: Dual, beta: Vector | None, tol: float) -> Solution:
        nonlocal values, steps
        given, more = solve_whole(
            kernel,
            X,
            easy,
            beta=beta,
            equality=way.equality,
            tol=tol,
            working_size=working_size,
            inner=inner,
            max_iter=max_iter,
            seed=seed,
            threads=threads,
            verify=False,
        )
        values, steps = values + more, steps + given.n_iter
        return given

    size = sum(map(abs, totals))
    given, easy = _near(way, multiplier, size, tol, solve, beta)
    beta = given.beta
    gradient = given.gradient - easy.p
    if twice:
        beta = np.concatenate([np.minimum(beta, 0.0), np.maximum(beta, 0.0)])
        gradient = np.concatenate([gradient, gradient])
    start = brought_to_sums(beta, dual, totals, gradient + dual.p)
    rows = np.tile(np.arange(n), 2) if twice else np.arange(n)
    solution, more = solve_decomposition(
        kernel,
        X[rows] if twice else X,
        dual,
        beta=start,
        tol=tol,
        working_size=min(working_size, len(rows)),
        inner=inner,
        threads=threads,
        **how,
    )
    solution.n_iter += steps
    return solution, values + more


def _start(beta: Vector, f: Vector, dual: Dual, *, twice: bool) -> tuple[Vector, Vector]:
    """Return a start as variables of the problem with sums, and its gradient."""
    if twice:  # the bounds take the signs apart
        beta, f = np.tile(beta, 2), np.tile(f, 2)
    return dual.clip(beta), f + dual.p


def _multiplier_of_subset(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    totals: list[float],
    way: _Way,
    *,
    twice: bool,
    seed: int,
    threads: int,
    **how: Any,
) -> tuple[float, int, int]:
    """Return the multiplier of a random subset, and the kernel values and steps that it took."""
    n = X.shape[0]
    index = np.sort(np.random.default_rng(seed).permutation(n)[:SUBSET])
    both = np.append(index, index + n) if twice else index
    K = kernel_matrix(kernel, X[index], dtype=np.float64, threads=threads)
    few = dual[both].scaled(n / len(index) if way.scaled else 1.0)
    of_few = totals if way.scaled else [len(index) / n * total for total in totals]
    # A subset that has fewer rows of a class may not allow all of a large nu.
    room = [
        float((few.lower if t < 0.0 else few.upper)[g].sum())
        for t, g in zip(of_few, few.groups, strict=True)
    ]
    share = min(1.0, *(most / t for most, t in zip(room, of_few, strict=True)))
    of_few = [share * t for t in of_few]
    first = brought_to_sums(np.zeros(len(few)), few, of_few, few.p)
    found = solve_smo(np.tile(K, (2, 2)) if twice else K, few, beta=first, tol=SUBSET_TOL, **how)
    multiplier = way.multiplier(found.gradient, found.beta, few)
    return multiplier, len(index) ** 2, found.n_iter
