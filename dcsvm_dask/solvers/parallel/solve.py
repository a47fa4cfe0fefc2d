"""Parallel decomposition in memory: shares as threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, kernel_product
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.optimality import objective
from dcsvm_dask.solvers.parallel.choice import ONE_IN
from dcsvm_dask.solvers.parallel.rule import ParallelRule
from dcsvm_dask.solvers.parallel.share import Share, ShareRows, Step
from dcsvm_dask.solvers.parallel.working_set import WorkingSet
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.tasks import Dual

SIZE = 2048
"""Variables of a working set by default."""
SHARE_ROWS = 8192
"""Rows of a share, about: with fewer, what a step does beside its kernel values takes longer."""
MOST_SHARES = 64
CACHE_BYTES = 256 << 20
"""Memory of kept kernel columns by default."""


def number_of_shares(n: int) -> int:
    """Return the number of shares of so many rows, whatever the threads or workers."""
    return max(1, min(MOST_SHARES, n // SHARE_ROWS))


def solve_parallel(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    *,
    beta: ArrayLike | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    size: int = SIZE,
    entering: int | None = None,
    one_in: int = ONE_IN,
    shares: int | None = None,
    inner: str = "auto",
    cache_bytes: int = CACHE_BYTES,
    threads: int = 1,
    max_iter: int | None = None,
    callback: Callable[[WorkingSet], object] | None = None,
) -> tuple[Solution, WorkingSet]:
    """Solve the dual problem by one working set after the other (Brugger 2006, section 4).

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
    beta : array, shape (n,), optional
        Where to start, 0 by default; with `equality` its sum stays.
    equality : bool, default False
    tol : float, default 1e-3
        Violation to stop at, by the gradient that is kept up to date with float32 kernel values.
    size : int, default 2048
        Variables of a working set (q of the report).
    entering : int, optional
        How many of them may enter a set at first (n of the report); half by default.
    one_in : int, default 10
        One variable in so many of a set may always enter.
    shares : int, optional
        Shares of the rows; by default they follow from the number of rows. The result is the same
        up to rounding.
    inner : str, default "auto"
        The inner solver of a working set; see `solve_inner`.
    cache_bytes : int, default 256 MiB
        Memory of kept kernel columns, where keeping them pays.
    threads : int, default 1
        Threads that take shares, or share one; the result is the same. Give BLAS one.
    max_iter : int, optional
        Most iterations of inner solvers, of all working sets together.
    callback : callable, optional
        Called as callback(working_set) after each step; a true answer stops the solver.

    Returns
    -------
    solution : Solution
    working_set : WorkingSet
        The last one, with figures of the whole solution.

    Raises
    ------
    InputError
        For sets of one row, more entering rows than a set has, or a problem that does not fit.
    """
    if size < 2:
        raise InputError(f"size is {size}: give at least 2 rows.")
    if entering is not None and not 2 <= entering <= size:
        raise InputError(f"entering is {entering}: give 2 to size rows.")
    n = X.shape[0]
    problem = QuadraticProgram.of(n, dual, beta, None, equality)
    dual, start = problem.dual, problem.start
    total = None if dual.spare is None else dual.spare + float(np.abs(start).sum())
    rule = ParallelRule(
        kernel=kernel,
        n=n,
        equality=equality,
        tol=tol,
        size=size,
        inner=inner,
        total_size=total,
        fixed_signs=dual.spare is None or dual.has_fixed_signs,
        one_in=one_in,
    )
    f = np.zeros(n)
    support = np.flatnonzero(start)
    if len(support):
        f, _ = kernel_product(kernel, X, X[support], start[support], threads=threads)
    chosen = WorkingSet.empty(
        max(2, size // 2) if entering is None else entering,
        float(np.abs(start).sum()),
        objective(start, dual.gradient(f, start), dual),
    )
    parts = number_of_shares(n) if shares is None else shares
    borders = [n * part // parts for part in range(parts + 1)]
    spans = [slice(*span) for span in pairwise(borders)]
    split = _Shares(
        [ShareRows(kernel, X[at], dual[at], at.start, cache_bytes=cache_bytes) for at in spans],
        [Share(start[at], f[at], chosen.entering, dual.spare) for at in spans],
    )
    while True:
        found = [rule.look(*share) for share in split]
        chosen = rule.choose(chosen, rule.merge(found, chosen))
        if chosen.is_done:
            break
        members = [rule.fetch(*share, chosen) for share in split]
        left = None if max_iter is None else max_iter - chosen.iterations
        chosen, step = rule.solve(chosen, members, threads, max_iter=left)
        split.advance(rule, step, threads)
        if chosen.is_done or (callback is not None and callback(chosen)):
            break
        if max_iter is not None and chosen.iterations >= max_iter:
            break
    beta = np.concatenate([share.beta for share in split.shares])
    f = np.concatenate([share.f for share in split.shares])
    if total is not None:
        problem.dual = dual.with_size(beta, total)
    gradient = problem.dual.gradient(f, beta)
    solution = problem.solution(beta, gradient, problem.dual.p, chosen.iterations, tol)
    solution.fallbacks = chosen.fallbacks
    return solution, chosen


@dataclass(frozen=True, slots=True)
class _Shares:
    """The rows of all shares, which stay, and the shares as the last step left them."""

    rows: list[ShareRows]
    shares: list[Share]

    def __iter__(self) -> Iterator[tuple[ShareRows, Share]]:
        return zip(self.rows, self.shares, strict=True)

    def advance(self, rule: ParallelRule, step: Step, threads: int) -> None:
        """Bring all shares up to date with a step, side by side."""
        side_by_side = min(threads, len(self.rows))

        def advance_one(part: int) -> None:
            self.shares[part] = rule.advance(
                self.rows[part], self.shares[part], step, threads // side_by_side
            )

        for_each(advance_one, range(len(self.rows)), side_by_side)
