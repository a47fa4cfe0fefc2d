"""The loop of cutting planes: OCAS with all three of its changes, CPA with none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.solvers.cutting.line_search import Events, search
from dcsvm_dask.solvers.cutting.losses import Losses
from dcsvm_dask.solvers.cutting.products import Products
from dcsvm_dask.solvers.cutting.reduced import solve_reduced
from dcsvm_dask.solvers.cutting.state import CuttingSolution, State, Step
from dcsvm_dask.solvers.linear.problem import SignedProblem
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
Unit = Literal["cost", "objective", "absolute"]
# lambda of (8): the share of w_t in the point of the new plane.
_SHARE = 0.1
# The reduced problem is solved to this share of the gap.
_REDUCED = 0.1
# A smaller gap, as a share of the objective at w = 0, is rounding.
_ROUNDING = 1e-10
# A plane that has been inactive for so many iterations is dropped.
_PATIENCE = 50


def solve_cutting(
    X: Rows,
    dual: Dual,
    *,
    constant: float = 0.0,
    best: bool = True,
    line_search: bool = True,
    near: bool = True,
    tol: float = 1e-3,
    unit: Unit = "cost",
    max_iter: int = 10_000,
    threads: int = 1,
    state: State | None = None,
    callback: Callable[[Step, State], object] | None = None,
) -> CuttingSolution:
    """Train a linear SVM by optimized cutting planes.

    Franc, Sonnenburg, ICML 2008, Algorithm 1 (OCAS). Solves::

        min F(w) = 0.5 w'w + sum_i loss_i(w'x_i)

    with each row's loss, C_i included, as `Dual.losses` has it: hinge, epsilon-insensitive and
    pinball losses and the squares of the former two. An iteration minimises F_t, in which the
    largest of t planes stands for the risk, to w_t; searches the best point w_b on the line from
    the last one through w_t; and adds the plane that touches the risk at w_c = 0.9 w_b + 0.1 w_t.
    It costs one product with the rows, since outputs of w_b and w_t are kept, and one sum.

    Parameters
    ----------
    X : array or CSR, shape (n, d), float32 or float64
        Rows; they are not copied if dense in C order or CSR.
    dual : Dual
        Of the task, without groups. Rows whose weight C_i is 0 take no part.
    constant : float, default=0.0
        Value of a feature appended to every row, whose weight times `constant` is the offset b;
        it is regularised like the others.
    best, line_search, near : bool, default=True
        The paper's changes 1 to 3 of the plain cutting plane algorithm (CPA), which has none: keep
        the best point so far, search it on the line, cut near it. Without `best` w_b is w_t; the
        line search needs it.
    tol : float, default=1e-3
        The gap F(w_b) - F_t(w_t) to stop at, (9), in units of `unit`.
    unit : {"cost", "objective", "absolute"}, default="cost"
        The objective at w = 0, which is the sum of C_i for the hinge loss (the paper's stopping
        rule); the objective reached; or 1.
    max_iter : int, default=10000
        Most iterations, those before a resume included.
    threads : int, default=1
        They do not change the answer.
    state : State, optional
        To go on from: the answer is that of a run without a stop, bit for bit.
    callback : callable, optional
        Called as callback(step, state) after each iteration; a true answer stops the solver.

    Returns
    -------
    CuttingSolution

    Raises
    ------
    InputError
        For shapes or values that do not fit.
    """
    if line_search and not best:
        raise InputError("the line search starts at the best point: give best=True as well.")
    if unit not in get_args(Unit):
        raise InputError(f"unit is {unit!r}: give one of {', '.join(get_args(Unit))}.")
    if not 0.0 <= tol < np.inf:
        raise InputError(f"tol is {tol}: give a finite number, 0 or more.")
    if max_iter < 1 or threads < 1:
        raise InputError(f"max_iter is {max_iter} and threads {threads}: give 1 or more.")
    if dual.group is not None or dual.spare is not None:
        raise InputError(
            "the problem keeps sums of variables: cutting planes take none of nu-SVMs."
        )
    problem = SignedProblem.of(dual, constant, None)
    rows = Products(X, problem.constant, threads)
    n = rows.shape[0]
    if len(dual) != n:
        raise InputError(f"the problem has {len(dual)} rows and X {n}: give as many.")
    losses = Losses(problem)
    at_zero = float(losses.values(np.zeros(n)).sum())
    now = State.start(rows.shape, at_zero) if state is None else state
    if state is not None:
        _check(state, rows, losses)

    history: list[Step] = []
    while now.iteration < max_iter:
        clock = [perf_counter()]
        alpha = now.alpha
        if len(alpha):
            exactness = _REDUCED * max(now.objective - now.bound, _ROUNDING * at_zero)
            alpha = solve_reduced(now.gram, now.offsets, alpha, exactness, at_zero)
        w = -(alpha @ now.planes)
        # The dual value of a feasible point is a bound whatever the solver has reached.
        bound = max(now.bound, float(now.offsets @ alpha - 0.5 * (w @ w)))
        clock.append(perf_counter())

        outputs = rows.outputs(w) if w.any() else np.zeros(n)
        clock.append(perf_counter())

        w_best, outputs_best = w, outputs
        if line_search:
            k = _line_search(losses, now, w, outputs)
            w_best, outputs_best = _mix(now.w, w, k), _mix(now.outputs, outputs, k)
        objective = _objective(losses, w_best, outputs_best)
        if best and objective > now.objective:  # by rounding, where a line was searched
            w_best, outputs_best, objective = now.w, now.outputs, now.objective
        clock.append(perf_counter())

        gap = objective - bound
        allowed = tol * {"cost": at_zero, "objective": objective, "absolute": 1.0}[unit]
        converged = gap <= allowed
        now = replace(
            now,
            alpha=alpha,
            idle=np.where(alpha > 0.0, 0, now.idle + 1),
            w=w_best,
            outputs=outputs_best,
            objective=objective,
            bound=bound,
            iteration=now.iteration + 1,
        )
        # Even of the last iteration, so that its state goes on as if there had been no stop.
        slopes, offset = losses.cut(_mix(outputs_best, outputs, _SHARE) if near else outputs)
        now = _with_plane(now, rows.sum(slopes), offset)
        clock.append(perf_counter())

        reduced, output, searched, cut = np.diff(clock)
        step = Step(now.iteration, objective, bound, gap, output, searched, cut, reduced)
        history.append(step)
        if converged or (callback is not None and callback(step, now)):
            break

    w = now.w
    objective = _objective(losses, w, rows.outputs(w))
    # The outputs that were kept differ from these by rounding, which does not undo convergence.
    allowed = tol * {"cost": at_zero, "objective": objective, "absolute": 1.0}[unit]
    converged = objective - now.bound <= allowed + 1e-12 * objective
    b = float(w[-1] * problem.constant)
    return CuttingSolution(
        w[:-1].copy(), b, objective, now.bound, now.iteration, converged, tuple(history), now
    )


def _check(state: State, rows: Products, losses: Losses) -> None:
    """Refuse a state of other rows, targets or C, whose planes would not bound the risk."""
    n, width = rows.shape
    fits = state.outputs.shape == (n,) and state.planes.shape == (len(state.offsets), width)
    if fits:
        objective = _objective(losses, state.w, state.outputs)
        spread = 1e-6 * (1.0 + float(np.abs(state.outputs).max(initial=0.0)))
        fits = abs(objective - state.objective) <= 1e-9 * objective
        fits &= bool((np.abs(rows.outputs(state.w) - state.outputs) <= spread).all())
    if not fits:
        raise InputError("the state is of another problem: give the X and the dual it was made of.")


def _objective(losses: Losses, w: Vector, outputs: Vector) -> float:
    return 0.5 * float(w @ w) + float(losses.values(outputs).sum())


def _mix(a: Vector, b: Vector, share: float) -> Vector:
    """Return (1 - share) a + share b."""
    return (1.0 - share) * a + share * b


def _line_search(losses: Losses, now: State, w: Vector, outputs: Vector) -> float:
    direction = w - now.w
    bend = float(direction @ direction)
    if bend == 0.0:
        return 0.0
    events = Events.of(losses, now.outputs, outputs)
    return search(events, float(now.w @ direction), bend)


def _with_plane(now: State, plane: Vector, offset: float) -> State:
    """Return the state with one plane more, without those that have long been inactive.

    The bound stays valid and does not fall: their multipliers are zero.
    """
    kept = now.idle < _PATIENCE
    planes = np.vstack([now.planes[kept], plane])
    products = planes @ plane
    t = len(products)
    gram = np.empty((t, t))
    gram[:-1, :-1] = now.gram[np.ix_(kept, kept)]
    gram[-1], gram[:, -1] = products, products
    return replace(
        now,
        planes=planes,
        offsets=np.append(now.offsets[kept], offset),
        gram=gram,
        alpha=np.append(now.alpha[kept], 0.0),
        idle=np.append(now.idle[kept], 0),
    )
