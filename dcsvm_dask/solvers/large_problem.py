"""A dual problem whose rows are in memory, but not the kernel matrix of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import (
    Kernel,
    Rows,
    dot_products_error,
    is_sparse,
    kernel_product,
)
from dcsvm_dask.solvers.decomposition import solve_decomposition
from dcsvm_dask.solvers.divide import solve_blocks
from dcsvm_dask.solvers.known_matrix import KnownMatrix
from dcsvm_dask.solvers.matrix_memory import MatrixMemory
from dcsvm_dask.solvers.optimality import bias, objective
from dcsvm_dask.solvers.optimality import violation as violation_of
from dcsvm_dask.solvers.parallel.share import are_costly
from dcsvm_dask.solvers.parallel.solve import solve_parallel
from dcsvm_dask.solvers.parallel.working_set import WorkingSet
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.subsets import extrapolated_support, train_on_subsets
from dcsvm_dask.solvers.working_sets import INNER_FLOOR, solve_working_sets
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

EXPECTED = 0.25
"""Sums are called inexact where they may be off by more than the tolerance with variables at this
share of their bounds."""
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


def is_inexact(kernel: Kernel, X: Rows, dual: Dual, tol: float) -> bool:
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
class LargeProblem:
    """A problem without a matrix of all rows, and the work that was done for it.

    It begins at a start, or at the SVMs of blocks (divide and conquer), or at zero, by many small
    working sets or by large ones; `solve_whole` says when.
    """

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
        """The steps that may still be taken."""
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
        if self.limit == NO_LIMIT and not self._pays_to_divide(max(map(len, blocks))):
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

    def _pays_to_divide(self, largest: int) -> bool:
        """Return whether blocks, the largest of so many rows, may save kernel values."""
        few = self.expected_support()
        # Conquering takes the columns of nearly all support vectors again and again.
        at_once = are_costly(self.X) and not is_sparse(self.X) and few <= self.size
        return few > largest and not at_once

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
            callback=self._report_small_set,
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
            solved=self._report_set,
            memory=self.memory,
            inexact=is_inexact(self.kernel, self.X, self.dual, self.tol),
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
            callback=self._report,
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

    def _report_small_set(self, reached: WorkingSet) -> bool:
        return self._report(reached.iterations, reached.violation)

    def _report_set(self, _: int, about: dict[str, Any]) -> bool:
        return self._report(0, about["violation"])

    def _report(self, steps: int, violation: float) -> bool:
        if self.callback is not None and self.callback(self.steps + steps, violation):
            self.going = False
        return not self.going
