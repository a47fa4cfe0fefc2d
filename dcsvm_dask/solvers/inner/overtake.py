"""When another solver goes on from where SMO is: by counted operations, never by a clock."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers.inner.interior_point import solve_interior_point
from dcsvm_dask.solvers.inner.memory import interior_rows
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo.columns import kernel_times

Vector = NDArray[np.float64]

# What a step of SMO costs a row counts as 1; of a Cholesky factor, m^3 / 3 in all, this is m^3's
# share. Measured with one thread; a factor of two either way changes little.
_CHOLESKY = 1 / 150
# Steps of the interior point method that are reckoned with, and the most; each costs this much
# whatever its size.
_STEPS, _MOST_STEPS, _OVERHEAD = 30, 60, 500_000
# It is tried when SMO has spent so many times what it costs, and again when that has doubled.
_AFTER, _LATER = 4.0, 2.0


class Overtake:
    """What SMO asks between phases: whether another solver should go on, and where it got.

    SMO's steps are cheap, and most problems need few. With a large C and a smooth kernel it needs
    millions: then an interior point method solves the active rows' problem, and SMO goes on from
    there with all rows. It is tried when SMO has spent a multiple of what it costs, and again when
    that has doubled, so that what fails costs a share of the whole; and where SMO is stuck.

    Newton's method is not: from where SMO is, the free variables of a smooth kernel are so many
    directions in which nothing curves that it meets one bound after the other.

    Parameters
    ----------
    tol : float
        Violation to stop at.
    """

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.tried: list[str] = []
        """The solvers that went on, in turn."""
        self._from = 0.0

    def __call__(
        self,
        K: NDArray[np.floating],
        problem: QuadraticProgram,
        beta: Vector,
        F: Vector,
        work: int,
        *,
        stuck: bool = False,
    ) -> Vector | None:
        """Return a better point, or None.

        Parameters
        ----------
        K : ndarray, shape (n, n), float32 or float64
        problem : QuadraticProgram
        beta, F : ndarray, shape (n,), float64
            Where SMO is, and the gradient there.
        work : int
            Steps times active rows so far.
        stuck : bool, default False
            Whether SMO gets no further, as where its gradient in float32 is too coarse.
        """
        if not stuck and work < max(_AFTER * _STEPS * _OVERHEAD, self._from):
            return None  # too early, however few the rows are
        n, dual = len(beta), problem.dual
        most = interior_rows(n, K.itemsize)
        violation, shift = problem.violation(beta, F)
        rising, falling = dual.slopes(F + shift, beta)
        near = (beta < dual.upper) & (rising <= violation)
        near |= (beta > dual.lower) & (falling >= -violation)
        rows = np.flatnonzero(near)
        cost = _STEPS * (_CHOLESKY * len(rows) ** 3 + _OVERHEAD)
        due = stuck or work >= max(_AFTER * cost, self._from)
        if due and len(rows) <= most:
            self._from = _LATER * work
            return self._interior(K, problem, beta, F, rows)
        return None

    def _interior(
        self,
        K: NDArray[np.floating],
        problem: QuadraticProgram,
        beta: Vector,
        F: Vector,
        rows: NDArray[np.int64],
    ) -> Vector | None:
        """Return the point with the active rows' problem solved, if the objective fell."""
        self.tried.append("interior-point")
        dual = problem.dual[rows]
        found = solve_interior_point(
            K,
            dual,
            beta=beta[rows],
            gradient=F[rows],
            equality=problem.equality,
            tol=0.5 * self.tol,
            max_iter=_MOST_STEPS,
            rows=rows,
        )
        end = beta.copy()
        end[rows] = found.beta
        step = end - beta
        change = float(F @ step + 0.5 * step @ kernel_times(K, step))
        if dual.epsilon is not None:
            change += float(dual.epsilon @ (np.abs(found.beta) - np.abs(beta[rows])))
        return end if change < 0.0 else None
