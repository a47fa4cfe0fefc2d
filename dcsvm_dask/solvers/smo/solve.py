"""Sequential minimal optimisation of one block whose kernel matrix is in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.team import end_if_given_up
from dcsvm_dask.solvers.matrix import prepared
from dcsvm_dask.solvers.matrix_memory import Scratch
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo.active import ActiveSet
from dcsvm_dask.solvers.smo.columns import add_columns, kernel_times
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual

# The violation falls by this factor before the rows that were let go are looked at again.
_FALL = 0.1
# Of so few rows letting some go saves less than looking at them again costs. Whoever is called back
# sees the phases.
_FEW = 1000
# Rows whose gradient is off by this many violations are let go.
_MARGIN = 1.0
# The inner loops, in float32, aim a little lower than the tolerance.
_AIM = 1.0 - 2.0**-10
# Work (steps times rows) between two returns to Python, some 50 ms.
_WORK = 50_000_000
# So often a gradient in float64 may have been brought up to date without losing digits that count.
_UPDATES = 8
# Phases in a row that may end no nearer to the answer: the tolerance is below the rounding.
_STALLS = 20
# A phase that ends higher and so many times farther from the answer than any before has diverged.
_DIVERGED = 10.0
# Float32 holds it and its inverse.
_LEAST_CURVATURE = 1e-30


class Overtaking(Protocol):
    """What is asked between phases whether another solver should go on; see `Overtake`."""

    def __call__(
        self,
        K: NDArray[np.floating],
        problem: QuadraticProgram,
        beta: NDArray[np.float64],
        F: NDArray[np.float64],
        work: int,
        *,
        stuck: bool = False,
    ) -> NDArray[np.float64] | None:
        """Return a better point than `beta`, whose gradient is F, or None."""


def solve_smo(
    K: NDArray[np.floating],
    dual: Dual,
    *,
    beta: ArrayLike | None = None,
    gradient: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    max_iter: int | None = None,
    callback: Callable[[int, float], object] | None = None,
    overtake: Overtaking | None = None,
    taken: int = 0,
    scratch: Scratch | None = None,
) -> Solution:
    """Solve the dual problem of a support vector machine by sequential minimal optimisation.

    Steinwart, Hush, Scovel, JMLR 12, 2011 (without an equality); Fan, Chen, Lin, JMLR 6, 2005
    (with it). Solves::

        min 0.5 b'Kb + p'b
            lower <= b <= upper
            sum(b) = sum(beta)     (only with `equality`)

    Given K, `dual` and a feasible start `beta`; the answer is in `Solution.beta`.

    Steps work on the rows that are likely to be free, with a gradient in float32; the kernel
    matrix of those rows is copied together where that pays (up to 0.57 of the size of K more
    memory). The copy of thousands of rows has 16 bits a value where those of K are from 0 to 1;
    where too much is lost by it for what a phase is to reach, the next ones have all digits.
    Whenever the violation among them has fallen tenfold (of up to 1,000 rows: to the tolerance),
    the gradient of all rows is brought up to date in float64 and the active rows are chosen anew,
    so that the tolerance is met by the true gradient whatever the rounding on the way. After many
    such phases it is summed from scratch before the end, from the gradient that was given.

    Parameters
    ----------
    K : array, shape (n, n), float32 or float64
        Kernel matrix, symmetric; not changed in the end (with a ridge its diagonal is, meanwhile).
        Subnormal numbers in it are slow: set them to 0.
    dual : Dual
        Linear term and bounds, shapes (n,).
    beta : array, shape (n,), optional
        Start within the bounds, 0 by default.
    gradient : array, shape (n,), optional
        K beta + p where it is known. It may hold contributions of variables outside of K: then
        the objective at the end holds half of what they add, and means nothing.
    equality : bool, default=False
        Keep the sum of beta at its value at the start: the problem with a bias.
    tol : float, default=1e-3
        Violation to stop at: the largest absolute projected gradient, or m - M as LIBSVM's.
    max_iter : int, optional
        Most steps to take; the larger of 10 million and 100 n by default.
    callback : callable, optional
        Called as callback(n_iter, violation) every 50 ms or so; a true answer stops the solver.
    overtake : Overtaking, optional
        Asked between phases whether another solver should go on from there.
    taken : int, default=0
        Steps that were taken before this start: about as many are still to come.
    scratch : Scratch, optional
        For copies of parts of K, where problems are solved one after the other.

    Returns
    -------
    Solution

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit.
    """
    with prepared(K, dual) as (K, dual):
        problem = QuadraticProgram.of(len(K), dual, beta, gradient, equality)
        limit = max(10_000_000, 100 * len(K)) if max_iter is None else max_iter
        return _Descent(K, problem, tol, limit, callback, overtake, taken, scratch).solve()


class _Descent:
    """A problem on the way to its solution, by phases of steps; see `solve_smo`."""

    def __init__(
        self,
        K: NDArray[np.floating],
        problem: QuadraticProgram,
        tol: float,
        limit: int,
        callback: Callable[[int, float], object] | None,
        overtake: Overtaking | None,
        taken: int,
        scratch: Scratch | None,
    ) -> None:
        self._K, self._problem, self._tol, self._limit = K, problem, tol, limit
        self._callback, self._overtake, self._taken = callback, overtake, taken
        self._beta = problem.start.copy()
        # A gradient that is given says what the start adds: only variables that move do so later.
        self._origin, self._at_origin = np.zeros(len(K)), problem.dual.p
        if problem.gradient is not None:
            self._origin, self._at_origin = problem.start, problem.gradient
        self._F = self._summed()
        # A gradient and the violation there; another point has another array.
        self._seen: tuple[NDArray[np.float64], tuple[float, float | NDArray[np.float64]]] | None = (
            None
        )
        self._diagonal = curvatures(K.diagonal(), pairs=problem.equality)
        self._active = ActiveSet(K, self._diagonal, problem, scratch)
        self._n_iter = self._spent = self._stalls = self._updates = 0
        self._best = np.inf
        self._going, self._rescued = True, False

    def _summed(self) -> NDArray[np.float64]:
        """Return the gradient, summed from scratch."""
        return self._at_origin + kernel_times(self._K, self._beta - self._origin)

    def _violation(self) -> tuple[float, float | NDArray[np.float64]]:
        """Return what `QuadraticProgram.violation` does of all rows, computed once for each F."""
        if self._seen is None or self._seen[0] is not self._F:
            self._seen = self._F, self._problem.violation(self._beta, self._F)
        return self._seen[1]

    def solve(self) -> Solution:
        """Take steps until the solution is reached, or none gets any nearer."""
        problem = self._problem
        while True:
            violation, shift = self._violation()
            ends = violation <= self._tol or self._n_iter >= self._limit or not self._going
            stuck = self._stalls >= _STALLS and not ends
            if (stuck and self._updates) or (ends and self._updates > _UPDATES):
                self._F, self._updates = self._summed(), 0
            elif ends or (stuck and (self._rescued or self._overtake is None)):
                return problem.solution(
                    self._beta, self._F, problem.dual.p, self._n_iter, self._tol, violation
                )
            elif not self._overtaken(stuck=stuck):
                self._phase(violation, shift)

    def _overtaken(self, *, stuck: bool) -> bool:
        """Let another solver go on from here if it wants to; return whether no steps are next.

        Where the rounding of the steps' gradient ends SMO, another solver may go on, once.
        """
        better = None
        if self._overtake is not None:
            better = self._overtake(
                self._K, self._problem, self._beta, self._F, self._spent, stuck=stuck
            )
        if better is not None:
            self._beta = better
            self._F, self._updates = self._summed(), 0
        if stuck:
            self._rescued, self._stalls = True, 0 if better is not None else self._stalls
        return stuck or better is not None

    def _phase(self, violation: float, shift: float | NDArray[np.float64]) -> None:
        """Take steps on active rows until their violation has fallen; update the gradient of all.

        Parameters
        ----------
        violation : float
            That of all rows.
        shift : float or ndarray, shape (n,)
            What centres the gradient; see `QuadraticProgram.violation`.
        """
        K, problem, active = self._K, self._problem, self._active
        before, F_before, began = self._beta.copy(), self._F, violation
        at_once = len(K) <= _FEW
        target = max(_AIM * self._tol, 0.0 if at_once else _FALL * violation)
        active.begin(self._beta, self._F, shift, _MARGIN * violation, self._taken + self._n_iter)
        done, violation = self._steps(target)
        if not np.isfinite(active.G).all():
            raise InputError("the kernel matrix holds a value that is not finite: see the data.")
        active.store(self._beta)
        moved = np.zeros(len(K))
        add_columns(K, moved, self._beta - before)
        risen = _change(problem.dual, F_before, moved, before, self._beta) > 0.0
        self._F = F_before + moved
        self._updates += 1
        if active.error(self._beta, self._F, shift) > target:
            active.may_round = False
            if risen:
                self._beta, self._F = before, F_before
        if self._callback is not None and self._going:
            self._going = not self._callback(self._n_iter, violation)
        reached = self._violation()[0]
        self._stalls = self._stalls + 1 if done and reached >= self._best else 0
        diverged = risen and reached > _DIVERGED * min(self._best, began)
        if diverged and self._overtake is not None:
            # Curvatures of float32, smaller than they are: without bounds steps grow and grow.
            self._beta, self._F, self._stalls = before, F_before, _STALLS
        self._best = min(self._best, reached)
        if self._best <= _rounding(self._at_origin, self._beta, self._diagonal):
            self._going = False

    def _steps(self, target: float) -> tuple[bool, float]:
        """Take steps on the active rows, which get fewer.

        Parameters
        ----------
        target : float
            Violation among them to stop at.

        Returns
        -------
        done : bool
            Whether no step is left, or the target is reached.
        violation : float
        """
        active = self._active
        last = self._n_iter + max(5_000, 8 * active.rows.size)
        work = 0
        while True:
            m = active.rows.size
            budget = min(max(500, m // 4), 1 + _WORK // m, self._limit - self._n_iter)
            end_if_given_up()
            steps, violation = active.advance(target, budget)
            self._n_iter += steps
            work += steps * m
            self._spent += steps * m
            if self._callback is not None and work >= _WORK:
                work = 0
                self._going = not self._callback(self._n_iter, violation)
            # The last step of a budget may have been the last of all.
            done = steps < budget or violation <= target
            if done or self._n_iter >= min(last, self._limit) or not self._going:
                return done, violation
            active.narrow(self._beta, _MARGIN * violation, self._taken + self._n_iter)


def _change(
    dual: Dual,
    F: NDArray[np.float64],
    moved: NDArray[np.float64],
    before: NDArray[np.float64],
    beta: NDArray[np.float64],
) -> float:
    """Return by how much the objective rises from one point, of gradient F, to another."""
    rise = float((F + 0.5 * moved) @ (beta - before))
    if dual.epsilon is not None:
        rise += float(dual.epsilon @ (np.abs(beta) - np.abs(before)))
    return rise


def curvatures(diagonal: NDArray[np.floating], *, pairs: bool) -> NDArray[np.float32]:
    """Return the diagonal of a kernel matrix, kept above 0 (linear kernels have rows of zeros).

    In float32, too: values of a polynomial of a high degree may be next to nothing.

    Parameters
    ----------
    diagonal : ndarray, shape (n,)
    pairs : bool
        Whether steps are of two variables whose sum is kept: then values below 0, as the sigmoid
        kernel's may be, stay what they are, since only K_ii + K_jj - 2 K_ij counts.
    """
    least = max(1e-12 * (diagonal.max(initial=0.0) or 1.0), _LEAST_CURVATURE)
    kept = np.maximum(diagonal, least)
    return (np.where(diagonal < -least, diagonal, kept) if pairs else kept).astype(np.float32)


def _rounding(
    at_origin: NDArray[np.float64], beta: NDArray[np.float64], diagonal: NDArray[np.float32]
) -> float:
    """Return about how far off the gradient is when it is summed in float64."""
    size = np.abs(at_origin).max() + np.abs(diagonal).max() * np.linalg.norm(beta)
    return float(2.0 * np.finfo(np.float64).eps * size)
