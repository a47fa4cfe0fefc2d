"""The dual problem of rows that are all in memory, by what suits their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.kernels import (
    Kernel,
    Rows,
    counted_kernel_matrix,
    dot_products_error,
    kernel_product,
    stored_for_speed,
)
from dcsvm_dask.solvers.decomposition import solve_decomposition
from dcsvm_dask.solvers.divide import solve_blocks
from dcsvm_dask.solvers.finish import finished
from dcsvm_dask.solvers.inner.few_features import FewFeatures
from dcsvm_dask.solvers.inner.solve import solve_inner
from dcsvm_dask.solvers.known_matrix import KnownMatrix
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.on_demand import (
    TRIED_UP_TO,
    bytes_needed,
    is_worth_trying,
    solve_on_demand,
    suits,
)
from dcsvm_dask.solvers.optimality import balanced, bias, objective
from dcsvm_dask.solvers.optimality import violation as violation_of
from dcsvm_dask.solvers.parallel.share import are_costly
from dcsvm_dask.solvers.parallel.solve import solve_parallel
from dcsvm_dask.solvers.parallel.working_set import WorkingSet
from dcsvm_dask.solvers.program import QuadraticProgram
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.subsets import extrapolated_support, train_on_subsets
from dcsvm_dask.solvers.watched import Watched
from dcsvm_dask.solvers.working_sets import INNER_FLOOR, solve_working_sets
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

SMALL = 2048
"""Up to so many rows the kernel matrix is in float64: there is no rounding to look after."""
INEXACT_UP_TO, EXPECTED = 4096, 0.25
"""So many rows have it, too, where float32 sums would have to be made again in float64: where they
may be off by more than the tolerance with variables at this share of their bounds."""
DIVIDED_FROM = 16_000
"""With fewer rows the SVMs of blocks save nothing."""
BLOCK_ROWS = 2048
"""Rows of such a block: more of them cost more than the better start saves."""
ONE_BIAS = 0.5
"""With more support vectors than this share of the rows, which then hardly see each other, SVMs of
blocks get one bias: to agree on one later takes longer than all else."""
NO_LIMIT = 1 << 62
# Share of the tolerance that the product of a start may lose by leaving out far pairs of rows.
FAR_PAIRS = 0.01
MOST_SUPPORT = ((4000, 0.05), (6000, 0.6))
"""Predicting the support vectors saves nothing below the first number of rows, nor where they are
more than a share of so many rows."""
# Share of the iterations that may be spent on predicting them.
_PREDICTING = 0.25
SMALL_SETS_ABOVE = 8000
"""From this number of rows on small sets cost less than those of all free rows and violators ..."""
FEW_SUPPORT = 0.1
"""... if more than this share of the rows is expected to be support vectors."""
SMALL_SET = 2048
"""Rows of such a set."""
FEW_FREE = 0.2
"""Small sets also go on from the SVMs of blocks, if fewer of their support vectors are free: most
that is left to do is that variables go from one bound to another, for which large sets hold kernel
values that no step needs."""
ONE_IN = 4
"""One row in so many of a small set may always enter: these carry the bias from set to set."""
HALF = 0.5
"""Share of the tolerance to which small sets go: their gradient is summed from float32 values."""


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
    few_features = None
    if K is None and max_iter is None and inner == "auto":
        few_features = FewFeatures.of(kernel, X, dual, most_bytes=4.0 * working_size**2)
    watched = None if callback is None else Watched(callback)
    by_features: dict[str, Any] = {"equality": equality, "tol": tol, "callback": watched}
    by_features["threads"] = threads
    if few_features is not None and few_features.is_quick and n > SMALL:
        other = few_features.solve(**by_features)
        if other is not None:
            return other, values
        few_features = None
    has_room = n <= INEXACT_UP_TO and 2 * n**2 <= working_size**2
    if K is None and (n <= SMALL or (has_room and _is_inexact(kernel, X, dual, tol))):
        K, more = counted_kernel_matrix(kernel, X, dtype=np.float64, threads=threads)
        values += more
    if beta is not None:
        start = balanced(checked.start, dual) if equality else checked.start
    size = min(working_size, n)
    patience = limit if few_features is None else few_features.patience(size)
    if K is not None:
        how: dict[str, Any] = {"equality": equality, "tol": tol, "inner": inner}
        how |= {"beta": start, "callback": watched}
        found = solve_inner(K, dual, max_iter=patience, **how)
        stopped = found.converged or (watched is not None and watched.stopped)
        if few_features is not None and found.n_iter >= patience and not stopped:
            how |= {"beta": found.beta, "gradient": found.gradient, "taken": found.n_iter}
            other = few_features.solve(after=found, **by_features)
            found = other or solve_inner(K, dual, max_iter=limit, **how)
        return (finished(K, dual, found, equality=equality) if exact else found), values
    memory = MatrixMemory(size) if memory is None else memory
    work = _Whole(
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
        memory=memory,
        callback=watched,
        values=values,
        patience=patience,
    )
    if may_be_few and n > TRIED_UP_TO and is_worth_trying(n, work.expected_support()):
        few, values = on_demand()
        work.values += values
        if few is not None:
            return few, work.values
    found = work.solve(start, blocks, verify=verify)
    if few_features is not None and work.has_lost_patience and not found.converged:
        work.let_go_of_memory()
        other = few_features.solve(after=found, **by_features)
        if other is not None:
            return other, work.values
        work.patience = limit
        found = work.end(found.beta, found.gradient, verify=verify)
    return found, work.values


def _is_inexact(kernel: Kernel, X: Rows, dual: Dual, tol: float) -> bool:
    """Return whether sums of float32 kernel values may be too inexact for the tolerance.

    True as well where variables have no bound.
    """
    # Values of shift-invariant kernels are at most 1; sums of the linear one need no kernel values.
    if kernel.is_shift_invariant or kernel.is_linear:
        return False
    largest = EXPECTED * np.maximum(dual.upper, -dual.lower)
    if not np.isfinite(largest).all():
        return True
    with np.errstate(all="ignore"):  # values that are too large are refused once they are computed
        return dot_products_error(kernel, X, largest) > tol


@dataclass(kw_only=True)
class _Whole:
    """A problem without a matrix of all rows, and the work that was done for it."""

    kernel: Kernel
    X: Rows
    dual: Dual
    equality: bool
    tol: float
    size: int
    inner: str
    limit: int
    seed: int
    threads: int
    memory: MatrixMemory
    callback: Callable[[int, float], object] | None
    steps: int = 0
    values: int = 0
    fallbacks: int = 0
    going: bool = True
    patience: int = NO_LIMIT
    """Steps after which a method that is known to end should go on."""
    few: float | None = None
    """Support vectors that are expected, once that is known."""
    matrix: KnownMatrix | None = None
    """The kernel matrix of the last working set, where that is in memory."""
    how: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.how = {"equality": self.equality, "threads": self.threads}

    @property
    def left(self) -> int:
        return max(0, min(self.limit, self.patience) - self.steps) if self.going else 0

    @property
    def has_lost_patience(self) -> bool:
        """Whether a method should be tried that takes no steps of two variables."""
        return self.going and self.steps >= self.patience

    def let_go_of_memory(self) -> None:
        """Let the system have the memory of matrices, which another method needs."""
        if self.matrix is not None:
            self.matrix.forget()
        self.matrix = None
        self.memory.release()

    def solve(
        self, start: Vector | None, blocks: NDArray[np.integer] | None, *, verify: bool
    ) -> Solution:
        """Return the solution from a start, or from that of the SVMs of blocks, or from zero."""
        is_given = start is not None
        if start is None and blocks is not None and len(self.dual) >= DIVIDED_FROM:
            start = self.divide(blocks)
        if start is not None and not is_given and self.prefers_small_sets(start):
            return self.end(*self.many_sets(start), verify=verify)
        near = None if start is None else self.conquer(start, verified=verify)
        if near is None:
            begin = self.many_sets if self.expects_support() else self.predicted_start
            return self.end(*begin(), verify=verify)
        return self.end(near.beta, near.gradient, verify=verify)

    def divide(self, labels: NDArray[np.integer]) -> Vector | None:
        """Return the SVMs of the blocks as a start; None where they contradict each other.

        None, too, where support vectors are so few that the kernel matrices of the blocks would
        have more values than that of all rows with them.
        """
        order = np.argsort(labels, kind="stable")
        blocks = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        if len(blocks) == 1:
            return None
        # A limit leaves no steps to look ahead.
        if self.limit == NO_LIMIT and self.expected_support() <= max(map(len, blocks)):
            return None
        beta, *work = solve_blocks(
            self.kernel,
            self.X,
            self.dual,
            blocks,
            one_bias=self._has_one_bias(),
            max_iter=self.limit,
            seed=self.seed,
            **self.how,
        )
        self._count(*work)
        return beta

    def _has_one_bias(self) -> bool:
        if not self.equality or self.limit < NO_LIMIT:
            return False
        several = self.dual.group is not None or self.dual.spare is not None
        return not several and self.expected_support() > ONE_BIAS * len(self.dual)

    def conquer(self, beta: Vector, *, verified: bool) -> Solution | None:
        """Return the solution that float32 leads to from a start; None if that is worse than 0.

        Where it is going to be `verified` it is more exact: what rounding did is not to matter.
        """
        support = np.flatnonzero(beta)
        f, values = kernel_product(
            self.kernel,
            self.X,
            self.X[support],
            beta[support],
            budget=FAR_PAIRS * self.tol,
            threads=self.threads,
        )
        self._count(0, values)
        gradient = self.dual.gradient(f, beta)
        if objective(beta, gradient, self.dual) >= 0.0:
            return None
        tol = self._inner_tol(beta, gradient) if verified else self.tol
        return self._decompose(beta, gradient, tol, verify=False)

    def expects_support(self) -> bool:
        """Return whether rows are many, and expected support vectors more than a set holds."""
        n = len(self.dual)
        if n <= max(self.size, SMALL_SETS_ABOVE) or self.dual.spare is not None:
            return False
        few = self.expected_support()
        # Columns of rows that move again and again cost more than a matrix with all of them.
        if are_costly(self.X) and few <= self.size:
            return False
        return few > FEW_SUPPORT * n

    def expected_support(self) -> float:
        """Return the number of support vectors that is expected."""
        if self.few is None:
            self.few, *work = extrapolated_support(
                self.kernel,
                self.X.__getitem__,
                self.dual,
                equality=self.equality,
                seed=self.seed,
            )
            self._count(*work)
        return self.few

    def prefers_small_sets(self, beta: Vector) -> bool:
        """Return whether small sets should go on from the SVMs of blocks; see `FEW_FREE`."""
        if self.limit < NO_LIMIT:  # no steps are left to look ahead
            return False
        free = np.count_nonzero(self.dual.is_free(beta))
        return bool(free < FEW_FREE * np.count_nonzero(beta)) and self.expects_support()

    def many_sets(self, beta: Vector | None = None) -> tuple[Vector, Vector]:
        """Return a beta near the solution, and its gradient, by many small sets from a start."""
        n = len(self.dual)
        size = min(self.size, SMALL_SET)
        found, last = solve_parallel(
            self.kernel,
            self.X,
            self.dual,
            beta=beta,
            tol=HALF * self.tol,
            size=size,
            inner=self.inner,
            one_in=ONE_IN,
            cache_bytes=max(0, 4 * (self.size**2 - size**2)),
            max_iter=self.left,
            callback=self._tell_small_set,
            **self.how,
        )
        started = 0 if beta is None else int(np.count_nonzero(beta))
        values = last.kernel_values + (last.moved + started) * n
        self._count(found.n_iter, values, found.fallbacks)
        return found.beta, found.gradient

    def predicted_start(self) -> tuple[Vector, Vector]:
        """Return the same by working sets, the first one of predicted support vectors."""
        first = np.arange(len(self.dual))
        if self._is_predicted():
            machine, work = train_on_subsets(
                self.kernel,
                self.X.__getitem__,
                self.dual,
                cap=self.size,
                seed=self.seed,
                max_iter=int(_PREDICTING * self.left),
                **self.how,
            )
            expected, values = machine.decide(self.X.__getitem__, first, self.threads)
            first = machine.first_set(expected, self.dual, self.size)
            self._count(work.n_iter, work.kernel_values + values)
        found = solve_working_sets(
            self.kernel,
            self.X,
            self.dual,
            beta=np.zeros(len(self.dual)),
            f=np.zeros(len(self.dual)),
            first=first,
            tol=INNER_FLOOR * self.tol,
            cap=self.size,
            inner=self.inner,
            shrinking=True,
            max_iter=self.left,
            solved=self._tell_set,
            memory=self.memory,
            inexact=_is_inexact(self.kernel, self.X, self.dual, self.tol),
            **self.how,
        )
        self._count(found.n_iter, found.kernel_values, found.fallbacks)
        self.matrix = found.matrix
        return found.beta, self.dual.gradient(found.f, found.beta)

    def _is_predicted(self) -> bool:
        n = len(self.dual)
        if n > self.size:
            return True
        if self.limit < NO_LIMIT:  # no steps are left to look ahead
            return n > MOST_SUPPORT[-1][0]
        shares = [share for least, share in MOST_SUPPORT if n > least]
        return bool(shares) and self.expected_support() <= shares[-1] * n

    def end(self, beta: Vector, gradient: Vector, *, verify: bool) -> Solution:
        """Return the solution within the tolerance, by products of full precision to `verify`."""
        solution = self._decompose(beta, gradient, self.tol, verify=verify)
        solution.n_iter, solution.fallbacks = self.steps, self.fallbacks
        return solution

    def _decompose(self, beta: Vector, gradient: Vector, tol: float, *, verify: bool) -> Solution:
        near = bias(gradient, beta, self.dual) if self.equality else 0.0
        solution, values = solve_decomposition(
            self.kernel,
            self.X,
            self.dual,
            beta=beta,
            gradient=None if verify else gradient,
            tol=tol,
            working_size=self.size,
            inner=self.inner,
            max_iter=self.left,
            callback=self._tell,
            verify=verify,
            bias=near,
            known=self.matrix,
            memory=self.memory,
            **self.how,
        )
        self._count(solution.n_iter, values, solution.fallbacks)
        return solution

    def _inner_tol(self, beta: Vector, gradient: Vector) -> float:
        """Return how far to go without verifying: nowhere from a solution."""
        violation = violation_of(gradient, beta, self.dual, equality=self.equality)
        return self.tol if violation <= self.tol else INNER_FLOOR * self.tol

    def _count(self, steps: int, values: int, fallbacks: int = 0) -> None:
        self.steps, self.values = self.steps + steps, self.values + values
        self.fallbacks += fallbacks

    def _tell_small_set(self, reached: WorkingSet) -> bool:
        return self._tell(reached.iterations, reached.violation)

    def _tell_set(self, _: int, about: dict[str, Any]) -> bool:
        return self._tell(0, about["violation"])

    def _tell(self, steps: int, violation: float) -> bool:
        if self.callback is not None and self.callback(self.steps + steps, violation):
            self.going = False
        return not self.going
