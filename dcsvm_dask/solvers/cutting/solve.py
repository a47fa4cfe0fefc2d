"""The loop of cutting planes: OCAS with all three of its changes, CPA with none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.solvers.cutting.line_search import Events, search_line
from dcsvm_dask.solvers.cutting.losses import Losses
from dcsvm_dask.solvers.cutting.products import Products
from dcsvm_dask.solvers.cutting.state import CuttingSolution, Planes, State, Step
from dcsvm_dask.solvers.linear.problem import SignedProblem
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
Unit = Literal["cost", "objective", "absolute"]
# Iterations that change neither the objective nor the bound, after which none is expected to.
_STALLED = 30
SHARE = 0.1
"""lambda of (8): the share of w_t in the point of the new plane."""


def solve_cutting(
    X: Rows,
    dual: Dual,
    *,
    constant: float = 0.0,
    best: bool = True,
    line_search: bool = True,
    share: float = SHARE,
    tol: float = 1e-3,
    unit: Unit = "cost",
    max_iter: int = 10_000,
    threads: int = 1,
    state: State | Planes | None = None,
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
    best, line_search : bool, default=True
        The paper's first two changes of the plain cutting plane algorithm (CPA), which has neither:
        keep the best point so far, search it on the line. Without `best` w_b is w_t; the line
        search needs it.
    share : float, default=0.1
        lambda of (8), from 0 to 1, the third change: the share of w_t in the point at which the
        plane touches the risk, that of w_b is the rest; 1: at w_t, as CPA, and wherever no line is
        searched.
    tol : float, default=1e-3
        The gap F(w_b) - F_t(w_t) to stop at, (9), in units of `unit`.
    unit : {"cost", "objective", "absolute"}, default="cost"
        The objective at w = 0, which is the sum of C_i for the hinge loss (the paper's stopping
        rule); the objective reached; or 1.
    max_iter : int, default=10000
        Most iterations, those before a resume included.
    threads : int, default=1
        They do not change the answer.
    state : State or Planes, optional
        To go on from: of a state the answer is that of a run without a stop, bit for bit; of its
        planes it is so but for rounding, since outputs are computed again.
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
    way = _Iteration(best, line_search, share)
    _check(dual, tol, unit, max_iter, threads)
    problem = SignedProblem.of(dual, constant, None)
    rows = Products(X, problem.constant, threads)
    del X  # where these are not the same arrays, and nobody else needs it
    n = rows.shape[0]
    if len(dual) != n:
        raise InputError(f"the problem has {len(dual)} rows and X {n}: give as many.")
    losses = Losses(problem)
    at_zero = losses.risk(np.zeros(n))
    if state is None:
        now, outputs = Planes.none(rows.shape[1], at_zero), np.zeros(n)
    else:
        now, outputs = _continued(state, rows, losses)

    history: list[Step] = []
    stalled = 0
    while now.iteration < max_iter:
        before = now
        now, outputs, (reduced, output, searched, cut) = way.go(rows, losses, before, outputs)
        objective, bound, gap = now.objective, now.bound, now.objective - now.bound
        converged = gap <= tol * size_of(unit, at_zero, objective)
        stalls = objective >= before.objective and bound <= before.bound and before.iteration > 0
        stalled = stalled + 1 if stalls else 0
        step = Step(now.iteration, objective, bound, gap, output, searched, cut, reduced)
        history.append(step)
        if (
            converged
            or stalled >= _STALLED
            or (callback is not None and callback(step, State(now, outputs)))
        ):
            break

    w = now.w
    objective = _objective(losses, w, rows.outputs(w))
    # The outputs that were kept differ from these by rounding, which does not undo convergence.
    allowed = tol * size_of(unit, at_zero, objective) + 1e-12 * objective
    converged = objective - now.bound <= allowed
    b = float(w[-1] * problem.constant)
    last = State(now, outputs)
    return CuttingSolution(
        w[:-1].copy(), b, objective, now.bound, now.iteration, converged, tuple(history), last
    )


def _check(dual: Dual, tol: float, unit: Unit, max_iter: int, threads: int) -> None:
    """Raise an error for values or a problem that cutting planes do not take."""
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


@dataclass(frozen=True, slots=True)
class _Iteration:
    """An iteration, with which of the paper's changes; see `solve_cutting`."""

    best: bool
    line_search: bool
    share: float

    def __post_init__(self) -> None:
        if self.line_search and not self.best:
            raise InputError("the line search starts at the best point: give best=True as well.")
        if not 0.0 <= self.share <= 1.0:
            raise InputError(f"share is {self.share}: give a number from 0 to 1.")
        if self.share < 1.0 and not self.line_search:
            raise InputError(
                f"share is {self.share} and no line is searched: give 1; other cuts may leave w_t "
                "as it is."
            )

    def go(
        self, rows: Products, losses: Losses, now: Planes, outputs: Vector
    ) -> tuple[Planes, Vector, Vector]:
        """Return the next planes and outputs of w_b, and the seconds of the four steps.

        Parameters
        ----------
        rows : Products
        losses : Losses
        now : Planes
        outputs : ndarray, shape (n,)
            Those of w_b.
        """
        clock = [perf_counter()]
        alpha, w, bound = now.reduced()
        clock.append(perf_counter())

        k, slope, bend = 1.0, *_slopes(now.w, w)
        if self.line_search:
            end, near = rows.look(losses, outputs, w)
        else:
            end = rows.outputs(w)
        clock.append(perf_counter())

        if self.line_search:
            k = _best(rows, losses, outputs, end, near, slope, bend)
        elif self.best and 0.5 * float(w @ w) + losses.risk(end) > now.objective:
            k = 0.0
        clock.append(perf_counter())

        found, risk, plane, offset = rows.touch(losses, outputs, end, k, self.share)
        w_best = mix(now.w, w, k)
        objective = 0.5 * float(w_best @ w_best) + risk
        if self.best and objective > now.objective:  # by rounding, where a line was searched
            w_best, found, objective = now.w, outputs, now.objective
        # With the plane of the last iteration, too, the state goes on as if there had been no stop.
        after = now.advanced(alpha, w_best, objective, bound, plane, offset)
        clock.append(perf_counter())
        return after, found, np.diff(clock)


def size_of(unit: Unit, at_zero: float, objective: float) -> float:
    """Return the size of a unit of gaps, given the objectives at w = 0 and at w_b."""
    return {"cost": at_zero, "objective": objective, "absolute": 1.0}[unit]


def mix(a: Vector, b: Vector, share: float) -> Vector:
    """Return (1 - share) a + share b."""
    if share in (0.0, 1.0):
        return a if share == 0.0 else b
    return (1.0 - share) * a + share * b


def _continued(state: State | Planes, rows: Products, losses: Losses) -> tuple[Planes, Vector]:
    """Return planes and outputs of w_b; planes of other rows, targets or C bound no risk."""
    n, width = rows.shape
    found = state.planes if isinstance(state, State) else state
    fits = found.planes.shape == (len(found.offsets), width)
    kept = np.zeros(n)
    if isinstance(state, State):
        kept = state.outputs
    elif fits:
        kept = rows.outputs(found.w)
    if fits := fits and kept.shape == (n,):
        objective = _objective(losses, found.w, kept)
        spread = 1e-6 * (1.0 + float(np.abs(kept).max(initial=0.0)))
        fits = abs(objective - found.objective) <= 1e-9 * objective + 1e-12 * found.at_zero
        fits &= bool((np.abs(rows.outputs(found.w) - kept) <= spread).all())
    if not fits:
        raise InputError("the state is of another problem: give the X and the dual it was made of.")
    return found, kept


def _objective(losses: Losses, w: Vector, outputs: Vector) -> float:
    return 0.5 * float(w @ w) + losses.risk(outputs)


def _slopes(w: Vector, far: Vector) -> tuple[float, float]:
    """Return slope and curvature of the regularizer along the line from w, through `far`."""
    direction = far - w
    return float(w @ direction), float(direction @ direction)


def _best(
    rows: Products,
    losses: Losses,
    start: Vector,
    end: Vector,
    near: Events,
    slope: float,
    bend: float,
) -> float:
    """Return where the line between two points is best, given the events of its first stretch."""
    if bend == 0.0:
        return 0.0

    def find(low: float, high: float) -> Events:
        return near if low == 0.0 else rows.events(losses, start, end, low, high)

    return search_line(find, slope, bend)
