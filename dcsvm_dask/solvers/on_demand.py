"""The dual problem by kernel rows that are computed when a step first asks for them.

A problem of few support vectors asks for little more than their rows: sequential minimal
optimisation takes the worst violators first, as LIBSVM's cache counts on. The whole kernel matrix
would have ten or a hundred times as many values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.kernels.row_by_row import KernelRows
from dcsvm_dask.solvers.finish import MOST_FREE, finished
from dcsvm_dask.solvers.inner.solve import solve_inner
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.smo.active import ActiveSet
from dcsvm_dask.solvers.smo.columns import add_columns
from dcsvm_dask.solvers.smo.solve import curvatures
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

FEWEST_ROWS, MOST_ROWS = 512, 65_536
"""Of fewer rows the matrix is there at once; of more nothing was measured."""
TRIED_UP_TO = 8192
"""Up to so many rows it is worth trying; of more only where few support vectors are expected."""
LEAST_WORK, VALUE = 12e6, 20
"""The matrix is there at once, too, where it takes less work than this: for each of its values the
features, and so much besides."""
MOST_FEATURES = 256
"""Of rows with more features a kernel row by itself takes far longer than among others."""
SHARED_FEATURES = 32
"""The same for pairs of classes whose matrices are made of blocks that others have, too."""
LOOKS: tuple[tuple[float, float], ...] = ((1 / 32, 0.93), (1 / 16, 0.5), (1 / 8, 0.25))
"""When such a share of the rows has been asked for, at most such a share of them may still violate:
where noise makes support vectors of many, nearly all do."""
LATER_UP_TO, LATER = 2048, ((1 / 8, 0.55),)
"""Up to so many rows of classes, whose matrix is soon there, only this look ends it: where they
overlap and yet need few rows, most violate before."""
FIRST_LOOK = 64
"""Fewer rows show nothing."""
MOST_ASKED, MOST_VALUES = 1 / 3, 2_600_000
"""At most this share of the rows may be asked for, and so many kernel values: beyond, half of the
matrix costs less, or predicting the support vectors does."""
EXPECTED_VALUES, ASKED_FOR = 8_000_000, 1.25
"""Kernel values where few support vectors are expected, and rows asked for of each of these."""
MOST_WORK = 10
"""Steps times the rows that they look at, as a multiple of the square of all rows: beyond, the
problem is so hard that few kernel rows are no gain."""
# The steps, in float32, aim a little lower than the tolerance.
_AIM = 1.0 - 2.0**-10
# Share of the tolerance to which the problem of the rows that are there is solved.
_CLOSER = 0.5
# ..., or that of the violation of all, where this is more.
_FALL = 0.1
# Rounds in a row that may ask for no row and end no nearer: the tolerance is below the rounding.
_IDLE = 3


def suits(X: Rows, dual: Dual, most_features: int = MOST_FEATURES) -> bool:
    """Return whether rows on demand may be sooner done than the whole matrix.

    Parameters
    ----------
    X : ndarray or CSR, shape (m, d), float32
        The rows of the problem, and maybe others.
    dual : Dual
        Of n rows.
    most_features : int, optional
        See `SHARED_FEATURES`.
    """
    if not FEWEST_ROWS <= len(dual) <= MOST_ROWS:
        return False
    if dual.group is not None or dual.spare is not None or dual.ridge is not None:
        return False
    d = X.shape[1]
    return d <= most_features and len(dual) ** 2 * (VALUE + d) >= LEAST_WORK


def is_worth_trying(rows: int, support: float) -> bool:
    """Return whether so many support vectors, of more than `TRIED_UP_TO` rows, are few.

    Parameters
    ----------
    rows : int
    support : float
        As many as are expected.
    """
    return ASKED_FOR * support * rows <= EXPECTED_VALUES


def solve_on_demand(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    *,
    tol: float = 1e-3,
    inner: str = "auto",
    exact: bool = False,
    callback: Callable[[int, float], object] | None = None,
) -> tuple[Solution | None, int]:
    """Solve a dual problem with an equality, from zero, where few kernel rows are enough.

    Sequential minimal optimisation of the second order, as `solve_smo` with an equality, in which
    a row of the kernel matrix, in float64, is computed at the first step that takes its variable.
    Where steps stay among the rows that are there, these are solved as a problem of their own, by
    `inner`, before all rows are looked at again.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
        Without groups and ridge; see `suits`.
    tol : float, default 1e-3
        Violation to stop at, m - M as LIBSVM's.
    inner : str, default "auto"
        See `solve_inner`.
    exact : bool, default False
        Whether few free variables are to be exact; see `finished`.
    callback : callable, optional
        Called as callback(n_iter, violation) between rounds; a true answer stops the solver.

    Returns
    -------
    solution : Solution or None
        None where more rows or steps are needed than pays, where the tolerance is below the
        rounding, or where kernel values are not finite.
    kernel_values : int
        Number of kernel values computed.
    """
    n = len(dual)
    last = _most_rows(n)
    rows = KernelRows(kernel, X, last + MOST_FREE)
    how: dict[str, Any] = {"tol": tol, "inner": inner, "callback": callback}
    found = solve_by_rows(rows, dual, np.zeros(n), _looks(dual, last), **how)
    if exact and found is not None:
        found = finished(AskedMatrix(rows), dual, found, equality=True)
    return found, len(rows) * n


def solve_by_rows(
    rows: KernelRows,
    dual: Dual,
    start: Vector,
    looks: list[tuple[int, float]],
    *,
    tol: float = 1e-3,
    inner: str = "auto",
    callback: Callable[[int, float], object] | None = None,
) -> Solution | None:
    """Solve a dual problem with an equality from a start, by rows that are asked for.

    Parameters
    ----------
    rows : KernelRows
        Those of variables of the start that are not zero are there.
    dual, tol, inner, callback
        As for `solve_on_demand`.
    start : ndarray, shape (n,), float64
        Within the bounds.
    looks : list of (int, float)
        So many rows may be there, where at most such a share of all variables violates; of the last
        one none may.

    Returns
    -------
    Solution or None
        None as of `solve_on_demand`.
    """
    n, last = len(dual), looks[-1][0]
    problem = QuadraticProgram.of(n, dual, start, None, True)
    dual, part = problem.dual, AskedMatrix(rows)
    active = ActiveSet(rows.K, curvatures(rows.diagonal, pairs=True), problem)
    beta, F = problem.start.copy(), dual.p + part.times(problem.start)
    steps, work, idle, going = 0, MOST_WORK * n**2, 0, True
    stages = iter(looks)
    most, may_violate = next(stages)
    violation, shift = problem.violation(beta, F)
    while violation > tol and going:
        before, known = beta.copy(), len(rows)
        active.begin(beta, F, shift, np.inf, 0)
        taken, _ = active.advance(_AIM * tol, n, rows.for_steps(most))
        if not np.isfinite(active.G).all():
            return None
        active.store(beta)
        steps += taken
        if len(rows) >= most:
            now = F + part.times(beta - before)
            if problem.violation(beta, now)[0] > tol:
                if most == last or _violating(problem, beta, now, tol) > may_violate * n:
                    return None
                most, may_violate = next(stages)
        some, K = part.own()
        own = solve_inner(
            K,
            dual[some],
            inner=inner,
            beta=beta[some],
            equality=True,
            tol=max(_CLOSER * tol, _FALL * violation),
            max_iter=int(work / len(some)),
        )
        work -= own.n_iter * len(some) + (taken + 1) * n
        beta[some] = own.beta
        steps += own.n_iter
        F, best = F + part.times(beta - before), violation
        violation, shift = problem.violation(beta, F)
        if violation <= tol:  # what was added up may be off by its rounding
            F = dual.p + part.times(beta)
            violation, shift = problem.violation(beta, F)
        idle = 0 if violation < best or len(rows) > known else idle + 1
        going = callback is None or not callback(steps, violation)
        if going and (idle >= _IDLE or not own.converged):
            return None
    if not going:
        F = dual.p + part.times(beta)
    return problem.solution(beta, F, dual.p, steps, tol)


def bytes_needed(n: int) -> int:
    """Return the most bytes that the rows of a problem of n rows take."""
    return 8 * n * (_most_rows(n) + MOST_FREE)


def _most_rows(n: int) -> int:
    """Return how many rows may be asked for."""
    most_values = MOST_VALUES if n <= TRIED_UP_TO else EXPECTED_VALUES
    return min(int(MOST_ASKED * n), most_values // n)


class AskedMatrix:
    """A kernel matrix by rows that have been asked for; see `finished`.

    Parameters
    ----------
    rows : KernelRows
    """

    def __init__(self, rows: KernelRows) -> None:
        self.rows = rows
        self._own = np.empty((0, 0))

    def block(self, rows: Index) -> Vector:
        """Return the values of some rows with each other."""
        return self.rows.block(rows, rows)

    def own(self) -> tuple[Index, Vector]:
        """Return the rows that are there, and their values with each other."""
        known, rows = len(self._own), self.rows.rows.copy()
        new = self.rows.block(rows[known:], rows)
        found = np.empty((len(rows), len(rows)))
        found[:known, :known] = self._own
        found[known:] = new
        found[:known, known:] = new[:, :known].T
        self._own = found
        return rows, found

    def times(self, beta: Vector) -> Vector:
        """Return the product with beta, which is 0 where a row has not been asked for."""
        product, there = np.zeros(len(beta)), self.rows.rows
        add_columns(self.rows.K[: len(there)], product, beta[there])
        return product


def _looks(dual: Dual, last: int) -> list[tuple[int, float]]:
    """Return after how many rows to look, and which share may violate; none at the last one."""
    n = len(dual)
    early = LOOKS if n * LOOKS[0][0] >= FIRST_LOOK else LOOKS[1:]
    if n <= LATER_UP_TO and dual.epsilon is None:
        early = LATER
    found = {max(FIRST_LOOK, int(share * n)): violating for share, violating in early}
    return [one for one in found.items() if one[0] < last] + [(last, 0.0)]


def _violating(problem: QuadraticProgram, beta: Vector, F: Vector, tol: float) -> int:
    """Return how many variables violate by more than the tolerance."""
    dual = problem.dual
    rising, falling = dual.slopes(F + problem.violation(beta, F)[1], beta)
    violates = (beta < dual.upper) & (rising < -tol)
    violates |= (beta > dual.lower) & (falling > tol)
    return int(np.count_nonzero(violates))
