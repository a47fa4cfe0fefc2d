"""The active rows of a block: the part of the problem that the inner loops see."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.kernels.row_by_row import Asked
from dcsvm_dask.solvers.matrix_memory import Scratch
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo import rounded
from dcsvm_dask.solvers.smo.columns import take
from dcsvm_dask.solvers.smo.loops import FAR, falling
from dcsvm_dask.solvers.smo.steps import box_steps, group_steps, pair_steps
from dcsvm_dask.tasks.dual import N_GROUPS

Vector = NDArray[np.float64]
Rows = NDArray[np.int64]


@njit(cache=True, nogil=True)
def likely_free(G: Any, shift: Any, lo: Any, hi: Any, zone: Any, margin: Any) -> Any:
    """Return the rows that are free, violate, or are within `margin` of violating."""
    n = G.shape[0]
    rows = np.empty(n, np.int64)
    m = 0
    for k in range(n):
        g = G[k] + shift
        if (lo[k] < 0.0 and g <= margin) or (hi[k] > 0.0 and falling(g, zone, k) >= -margin):
            rows[m] = k
            m += 1
    return rows[:m].copy()


def pays(m: int, of: int, steps: int) -> bool:
    """Whether to copy the m active of `of` rows together.

    A copied value costs about as much as a step costs for each row, so the copy must cost at
    most what it would have saved in the steps taken so far; a quarter of the rows must go, which
    bounds the memory of the copy by 0.57 of the matrix.
    """
    return 4 * m <= 3 * of and m * m <= (of - m) * steps


class ActiveSet:
    """Some rows of a block with a gradient in float32, and their kernel matrix side by side.

    The gradient is centred (with the equality its values at free variables are then near 0) and
    good for some steps; the caller keeps the whole gradient in float64 and starts the set anew.

    Attributes
    ----------
    may_round : bool
        Whether kernel values may be rounded to 16 bits where many steps pay for it.
    unit : float
        What the values of `K` are multiples of; 1 where they are not rounded.
    """

    def __init__(
        self,
        K: NDArray[np.floating],
        diagonal: NDArray[np.float32],
        problem: QuadraticProgram,
        scratch: Scratch | None = None,
    ) -> None:
        self._whole = K
        self._whole_diagonal = diagonal
        self._problem = problem
        self._scratch = Scratch() if scratch is None else scratch
        normalised = K.dtype == np.float32 and bool((diagonal == 1.0).all())
        self.may_round = normalised and problem.dual.group is None
        self.unit = 1.0
        self.group: NDArray[np.int8] | None = None
        self.shifts = np.zeros(N_GROUPS)

    def begin(
        self, beta: Vector, F: Vector, shift: float | Vector, margin: float, steps: int
    ) -> None:
        """Choose the active rows at beta, whose gradient is F + shift once centred.

        `steps` is how many there were, and so about how many there are to come.
        """
        dual = self._problem.dual
        if isinstance(shift, np.ndarray):
            F, shift = F + shift, 0.0
        lo = np.where(beta < dual.upper, -FAR, np.float32(0.0))
        hi = np.where(beta > dual.lower, FAR, np.float32(0.0))
        n, slopes, zone = beta.shape[0], F, None
        if dual.epsilon is not None:
            slopes = dual.slopes(F, beta)[0]
            zone = np.where(beta == 0.0, 2.0 * dual.epsilon, 0.0).astype(np.float32)
        rows = likely_free(slopes, shift, lo, hi, zone, margin)
        self.rows: Rows = rows
        if not (self.may_round and rounded.pays(rows.size, steps) and self._round()):
            self.unit = 1.0
            if pays(rows.size, n, steps):
                self._copy(self._whole, rows)
            else:
                self.rows = rows = np.arange(n)
                self.K = self._whole
        self.G = (slopes[rows] + shift).astype(np.float32)
        self.diagonal = self._whole_diagonal[rows]
        self.beta, self.lower, self.upper = beta[rows], dual.lower[rows], dual.upper[rows]
        self.lo, self.hi = lo[rows], hi[rows]
        self.epsilon = None if dual.epsilon is None else dual.epsilon[rows]
        self.zone = None if zone is None else zone[rows]
        self.shift = 0.0
        self.group = None if dual.group is None else dual.group[rows]

    def advance(self, tol: float, max_steps: int, asked: Asked | None = None) -> tuple[int, float]:
        """Take up to `max_steps` steps; returns their number and the violation.

        With `asked` see `pair_steps`.
        """
        state = (
            *(self.K, self.G, self.diagonal, self.beta, self.lower, self.upper),
            *(self.lo, self.hi, self.epsilon, self.zone, self.unit),
        )
        if self._problem.equality and self.group is not None:
            borders = np.searchsorted(self.group, np.arange(N_GROUPS + 1))
            steps, violation = group_steps(*state[:8], borders, self.shifts, tol, max_steps)
        elif self._problem.equality:
            steps, violation, self.shift = pair_steps(*state, tol, max_steps, asked)
        else:
            steps, violation = box_steps(*state, tol, max_steps)
        return steps, float(violation)

    def narrow(self, beta: Vector, margin: float, steps: int) -> None:
        """Let go of rows that are clearly at their bounds; their values are stored in beta."""
        m = self.rows.size
        G = self.G if self.group is None else self.G + self.shifts[self.group]
        kept = likely_free(G, self.shift, self.lo, self.hi, self.zone, margin)
        if not pays(kept.size, m, steps):
            return
        self.store(beta)
        self._copy(self.K, kept)
        self.rows = self.rows[kept]
        self.G, self.diagonal = self.G[kept], self.diagonal[kept]
        self.beta, self.lower, self.upper = self.beta[kept], self.lower[kept], self.upper[kept]
        self.lo, self.hi = self.lo[kept], self.hi[kept]
        if self.epsilon is not None and self.zone is not None:
            self.epsilon, self.zone = self.epsilon[kept], self.zone[kept]
        if self.group is not None:
            self.group = self.group[kept]

    def _copy(self, K: NDArray[np.floating], rows: Rows) -> None:
        if K is self._whole:
            self._buffer = self._scratch.of(rows.size**2, K.dtype)
        # What is copied within the buffer always fits.
        self.K = take(K, rows, self._buffer)

    def _round(self) -> bool:
        """Take the kernel matrix of the active rows in 16 bits, if it can be, and say so."""
        m = self.rows.size
        self._buffer = self._scratch.of(m**2, np.uint16)
        self.K, self.unit = self._buffer.reshape(m, m), rounded.UNIT
        self.may_round = bool(rounded.take_rounded(self._whole, self.rows, self.K))
        return self.may_round

    def error(self, beta: Vector, F: Vector, shift: float | Vector) -> float:
        """Return how far off the gradient of the active rows is where values were rounded.

        F + shift is the gradient at beta, by which the set began.
        """
        if self.unit == 1.0:
            return 0.0
        dual = self._problem.dual
        slopes = F if dual.epsilon is None else dual.slopes(F, beta)[0]
        return float(np.abs((slopes + shift)[self.rows] - self.G).max())

    def store(self, beta: Vector) -> None:
        """Write the variables of the active rows to beta."""
        beta[self.rows] = self.beta
