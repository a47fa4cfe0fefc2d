"""The dual problem of rows that are all in memory, by what suits their number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.kernels import (
    Kernel,
    Rows,
    counted_kernel_matrix,
    stored_for_speed,
)
from dcsvm_dask.solvers.finish import finished
from dcsvm_dask.solvers.inner.few_features import FewFeatures
from dcsvm_dask.solvers.inner.solve import solve_inner
from dcsvm_dask.solvers.large_problem import NO_LIMIT, LargeProblem, is_inexact
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.on_demand import (
    TRIED_UP_TO,
    bytes_needed,
    is_worth_trying,
    solve_on_demand,
    suits,
)
from dcsvm_dask.solvers.optimality import balanced
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.watched import Watched
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

SMALL = 2048
"""Up to so many rows the kernel matrix is in float64: there is no rounding to look after."""
INEXACT_UP_TO = 4096
"""So many rows have it, too, where float32 sums would have to be made again in float64."""


def solve_whole(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    *,
    beta: ArrayLike | None = None,
    blocks: NDArray[np.integer] | None = None,
    equality: bool = False,
    tol: float = 1e-3,
    working_size: int = 8192,
    inner: str = "auto",
    max_iter: int | None = None,
    seed: int = 0,
    threads: int = 1,
    K: NDArray[np.floating] | None = None,
    callback: Callable[[int, float], object] | None = None,
    verify: bool = True,
    exact: bool = False,
    memory: MatrixMemory | None = None,
) -> tuple[Solution, int]:
    """Solve the dual problem of a support vector machine, with all its rows in memory.

    The problem is that of `solve_smo`. Where an SVM of up to 8,192 rows begins at zero, or one of
    more rows of which few support vectors are expected, a few kernel rows may be enough
    (`solve_on_demand`). If not, and the kernel is an inner product of few features beside the rows,
    an interior point method solves it (`FewFeatures`), at once where that costs less than a kernel
    matrix, else where SMO has taken longer than it will. Else it is solved up to 2,048 rows with
    the kernel matrix in float64, or up to 4,096 where float32 may not be exact enough for a kernel
    of inner products. Beyond, `solve_decomposition` continues from the start that is given, or from
    the SVMs of blocks (divide and conquer, `solve_blocks`). Without either, or where blocks
    contradict each other, it begins at zero: where more support vectors are expected than a working
    set has room for, by many small ones (`solve_parallel`); else by working sets whose kernel
    matrix is in memory (`solve_working_sets`), first of all rows, or where support vectors are few
    of those that an SVM trained on a random subset predicts (`train_on_subsets`). Many small sets
    also continue from blocks few of whose variables are free. At the end `solve_decomposition`
    verifies the solution with a gradient that is summed from scratch.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        In `kd_order`, neighbours cost less. Stored as it is, or in the way that is faster.
    dual : Dual
        Linear term and bounds, shapes (n,).
    beta : array, shape (n,), optional
        Start within the bounds, 0 by default. With `equality` the heavier sign is scaled down so
        that the sum is 0. Without a matrix of all rows a start that is worse than 0 is left out.
    blocks : ndarray, shape (n,), integers, optional
        A block for each row, of neighbours; from 16,000 rows on they give a start.
    equality : bool, default False
        Whether the problem has a bias.
    tol : float, default 1e-3
        Violation to stop at.
    working_size : int, default 8192
        Most rows of a working set; the solver holds up to 1.57 float32 matrices of its square.
    inner : str, default "auto"
        The inner solver, of working sets and of matrices in memory; see `solve_inner`.
    max_iter : int, optional
        Most steps of two variables, all together; by default there is no limit, but an end where
        rounding lets nothing improve any more.
    seed : int, default 0
        Of the random subset.
    threads : int, default 1
        Threads that share the work on kernel values; the result is the same.
    K : ndarray, shape (n, n), optional
        The kernel matrix, where it is known.
    callback : callable, optional
        Called as callback(n_iter, violation) from time to time; a true answer stops the solver.
    verify : bool, default True
        Whether the end rests on products of the precision that the tolerance needs. Without, they
        are of float32, as those of LIBSVM's cache.
    exact : bool, default False
        Whether few free variables are to be exact, where a matrix is in memory; see `finished`.
    memory : MatrixMemory, optional
        Of `working_size` rows, or as many as X has, for the matrices of working sets.

    Returns
    -------
    solution : Solution
    kernel_values : int
        Number of kernel values computed.

    Raises
    ------
    InputError
        For shapes, bounds or values that do not fit.
    """
    n = X.shape[0] if K is None else len(K)
    limit, values = NO_LIMIT if max_iter is None else max_iter, 0
    X = stored_for_speed(X) if K is None else X
    from_zero = equality and beta is None and max_iter is None and inner in ("auto", "smo")
    on_demand = partial(
        solve_on_demand, kernel, X, dual, tol=tol, inner=inner, exact=exact, callback=callback
    )
    may_be_few = K is None and from_zero and suits(X, dual)
    may_be_few = may_be_few and bytes_needed(n) <= 4 * working_size**2
    if may_be_few and n <= TRIED_UP_TO:
        few, values = on_demand()
        if few is not None:
            return few, values
    checked = QuadraticProgram.of(n, dual, beta, None, equality)
    dual, start = checked.dual, None
    watched = None if callback is None else Watched(callback)
    patience, by_features = limit, None
    if K is None and max_iter is None and inner == "auto":
        few_features = FewFeatures.of(kernel, X, dual, most_bytes=4.0 * working_size**2)
        if few_features is not None:
            patience = few_features.patience(min(working_size, n))
            by_features = partial(
                few_features.solve, equality=equality, tol=tol, callback=watched, threads=threads
            )
            if few_features.is_quick and n > SMALL:
                found = by_features()
                if found is not None:
                    return found, values
                patience, by_features = limit, None
    has_room = n <= INEXACT_UP_TO and 2 * n**2 <= working_size**2
    if K is None and (n <= SMALL or (has_room and is_inexact(kernel, X, dual, tol))):
        K, more = counted_kernel_matrix(kernel, X, dtype=np.float64, threads=threads)
        values += more
    if beta is not None:
        start = balanced(checked.start, dual) if equality else checked.start
    if K is not None:
        by_steps = partial(
            solve_inner, K, dual, equality=equality, tol=tol, inner=inner, callback=watched
        )
        found = _by_matrix(by_steps, start, patience, by_features, watched)
        return (finished(K, dual, found, equality=equality) if exact else found), values
    size = min(working_size, n)
    work = LargeProblem(
        kernel=kernel,
        X=X,
        dual=dual,
        equality=equality,
        tol=tol,
        size=size,
        inner=inner,
        limit=limit,
        seed=seed,
        threads=threads,
        memory=MatrixMemory(size) if memory is None else memory,
        callback=watched,
        values=values,
        patience=patience,
    )
    is_tried = may_be_few and n > TRIED_UP_TO
    tried = on_demand if is_tried and is_worth_trying(n, work.expected_support()) else None
    return _without_matrix(work, start, blocks, tried, by_features, verify=verify)


def _by_matrix(
    by_steps: Callable[..., Solution],
    start: Vector | None,
    patience: int,
    by_features: Callable[..., Solution | None] | None,
    watched: Watched | None,
) -> Solution:
    """Solve by steps of two variables, or by few features where these take more than `patience`."""
    found = by_steps(beta=start, max_iter=patience)
    is_over = found.converged or (watched is not None and watched.stopped)
    if by_features is None or found.n_iter < patience or is_over:
        return found
    return by_features(after=found) or by_steps(
        beta=found.beta, gradient=found.gradient, taken=found.n_iter, max_iter=NO_LIMIT
    )


def _without_matrix(
    work: LargeProblem,
    start: Vector | None,
    blocks: NDArray[np.integer] | None,
    on_demand: Callable[[], tuple[Solution | None, int]] | None,
    by_features: Callable[..., Solution | None] | None,
    *,
    verify: bool,
) -> tuple[Solution, int]:
    """Solve a large problem, at first on demand where that is tried; count the kernel values."""
    if on_demand is not None:
        few, values = on_demand()
        work.values += values
        if few is not None:
            return few, work.values
    found = work.solve(start, blocks, verify=verify)
    if by_features is not None and work.has_lost_patience and not found.converged:
        work.let_go_of_memory()
        other = by_features(after=found)
        if other is not None:
            return other, work.values
        work.patience = NO_LIMIT
        found = work.end(found.beta, found.gradient, verify=verify)
    return found, work.values
