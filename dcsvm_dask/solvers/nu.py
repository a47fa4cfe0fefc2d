"""Problems whose variables have given sums: one-class SVM, nu-SVC, nu-SVR.

The one-class SVM of a small nu is solved by few kernel rows (`solve_few_outliers`). Else, up to
`SMALL` rows, they are solved with the kernel matrix in memory. Of more rows a random subset
is solved first, and from its solution a larger one: by the decision values that the last leads to
expect, rows get variables with the sums that are asked for, those first at which the objective
falls most. Given blocks of neighbours, the SVMs of these, each with its share of the sums, are
another start with the sums of the whole (divide and conquer), and that with the smaller objective
is taken. It suits regression: blocks of classes may have too few rows of one for their share. By
the start most rows are at the bound at which the solution has them. Decomposition does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import (
    Kernel,
    Rows,
    counted_kernel_matrix,
    kernel_diagonal,
    kernel_product,
    stored_for_speed,
)
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.decomposition import solve_decomposition
from dcsvm_dask.solvers.divide import NEGLIGIBLE, estimated_objective
from dcsvm_dask.solvers.few_outliers import solve_few_outliers
from dcsvm_dask.solvers.inner.solve import solve_inner
from dcsvm_dask.solvers.optimality import bias_and_size_multiplier, violation
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.sums import brought_to_task
from dcsvm_dask.solvers.whole import SMALL
from dcsvm_dask.solvers.working_sets import INNER_FLOOR
from dcsvm_dask.tasks import Dual, Task, scale_of_decisions

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

SUBSETS = (2048, 8192)
"""Rows of the subsets, each of those before and more; at most half of all rows."""
FALL = 1e-3
"""Subsets and blocks are solved until their violation has fallen to this share of the start's."""
# Below this share of its bound a subset's sum of abs(beta) is not what binds its solution.
_SLACK = 0.99


@dataclass(frozen=True, slots=True)
class NuSolution:
    """The solution of a problem with given sums.

    Attributes
    ----------
    solution : Solution
        In the scale in which it decides: of nu-SVC divided by rho, `violation` before that.
    multiplier : float
        rho of the one-class SVM and of nu-SVC, epsilon of nu-SVR.
    kernel_values : int
    """

    solution: Solution
    multiplier: float
    kernel_values: int


def solve_nu(
    kernel: Kernel,
    X: Rows,
    targets: Vector,
    C: Vector,
    task: Task,
    *,
    beta: Vector | None = None,
    blocks: NDArray[np.integer] | None = None,
    K: NDArray[np.floating] | None = None,
    tol: float = 1e-3,
    working_size: int = 8192,
    inner: str = "auto",
    max_iter: int | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callable[[int, float], object] | None = None,
    classes: str = "the classes",
) -> NuSolution:
    """Solve the nu-SVM of a task, of rows that are all in memory.

    nu-SVC is min 0.5 a'Qa over 0 <= a_i <= C_i with y'a = 0 and sum(a) = nu sum(C); nu-SVR is
    min 0.5 b'Kb - z'b over |b_i| <= C_i with sum(b) = 0 and sum |b| <= nu sum(C) (Schoelkopf,
    Smola, Williamson, Bartlett, Neural Computation 12, 2000); the one-class SVM is min 0.5 b'Kb
    over 0 <= b_i <= C_i with sum(b) = nu sum(C) (Schoelkopf, Platt, Shawe-Taylor, Smola,
    Williamson, Neural Computation 13, 2001).

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        In `kd_order`, neighbours cost less.
    targets, C : ndarray, shape (n,), float64
        As for `Task.dual`.
    task : NuClassification, NuRegression or OneClass
    beta : ndarray, shape (n,), float64, optional
        A start, which may have other sums.
    blocks : ndarray, shape (n,), integers, optional
        A block for each row, of neighbours: without `beta` they may give the start.
    K : ndarray, shape (n, n), float32 or float64, optional
        The kernel matrix, where it is known.
    tol, working_size, inner, max_iter, seed, threads
        As for `solve_whole`.
    callback : callable, optional
        Called as callback(n_iter, violation) from time to time.
    classes : str, optional
        How an error names the classes; see `Machine.names`.

    Raises
    ------
    InfeasibleError
        If no margin separates the classes.
    """
    values = 0
    X = stored_for_speed(X) if K is None else X
    order: Index | None = None
    by_steps = K is None and beta is None and max_iter is None and inner in ("auto", "smo")
    if by_steps and task.size(C) is None:
        dual = task.dual(targets, C)
        few, values = solve_few_outliers(
            *(kernel, X, dual, task.total(C)),
            most_bytes=4.0 * working_size**2,
            tol=tol,
            inner=inner,
            threads=threads,
            callback=callback,
        )
        if few is not None:
            return _decided(few, dual, task, C, values)
    if K is None and len(targets) <= SMALL:
        if task.has_classes:  # as solvers have them, who otherwise copy the matrix
            order = np.argsort(targets, kind="stable")
            X, targets, C = X[order], targets[order], C[order]
            beta = None if beta is None else beta[order]
        K, more = counted_kernel_matrix(kernel, X, dtype=np.float64, threads=threads)
        values += more
    if K is not None:
        how: dict[str, Any] = {"tol": tol, "inner": inner, "max_iter": max_iter}
        how["callback"] = callback
        found = solve_nu_matrix(K, targets, C, task, beta=beta, classes=classes, **how)
        if order is not None:
            found.solution.beta = _put_back(found.solution.beta, order)
            found.solution.gradient = _put_back(found.solution.gradient, order)
        return replace(found, kernel_values=values)
    dual = task.dual(targets, C)
    limits = tol, working_size, inner, max_iter, seed, threads
    work = _Large(kernel, X, dual, C, task, *limits, callback)
    start = work.start(blocks) if beta is None else work.brought(beta)
    return _decided(work.solve(start), dual, task, C, values + work.values, classes)


def solve_nu_matrix(
    K: NDArray[np.floating],
    targets: Vector,
    C: Vector,
    task: Task,
    *,
    beta: Vector | None = None,
    classes: str = "the classes",
    **how: Any,
) -> NuSolution:
    """Solve the nu-SVM of a task from its kernel matrix.

    Parameters
    ----------
    K : ndarray, shape (n, n), float32 or float64
    targets, C, task, beta, classes
        As for `solve_nu`.
    **how
        ``tol``, ``inner``, ``max_iter`` and ``callback`` as for `solve_inner`.

    Raises
    ------
    InfeasibleError
        If no margin separates the classes.
    """
    dual = task.dual(targets, C)
    start, gradient = np.zeros(len(dual)), dual.p
    if beta is not None:
        start = dual.clip(beta)
        gradient = K @ start + dual.p
    start = brought_to_task(start, dual, task, C, gradient)
    found = solve_inner(K, _with_size(dual, task, C, start), beta=start, equality=True, **how)
    return _decided(found, dual, task, C, classes=classes)


def _put_back(v: Vector, order: Index) -> Vector:
    """Return values of rows in an order as those of the rows."""
    found = np.empty_like(v)
    found[order] = v
    return found


def _with_size(dual: Dual, task: Task, C: Vector, beta: Vector) -> Dual:
    """Return the problem at a point; see `Dual.with_size`."""
    size = task.size(C)
    return dual if size is None else dual.with_size(beta, size)


def _decided(
    found: Solution,
    dual: Dual,
    task: Task,
    C: Vector,
    kernel_values: int = 0,
    classes: str = "the classes",
) -> NuSolution:
    """Return a solution in the scale in which it decides."""
    beta, gradient = found.beta, found.gradient
    at_end = _with_size(dual, task, C, beta)
    found.bias, multiplier = bias_and_size_multiplier(gradient, beta, at_end)
    if task.size(C) is None:
        return NuSolution(found, -found.bias, kernel_values)
    if not task.has_classes:
        return NuSolution(found, multiplier, kernel_values)
    how = {"objective": found.objective, "size": float(np.abs(beta).sum())}
    rho = scale_of_decisions(task, multiplier, dual, **how, classes=classes)
    scaled = replace(
        found,
        beta=beta / rho,
        gradient=gradient / rho,
        objective=found.objective / rho**2,
        bias=found.bias / rho,
    )
    return NuSolution(scaled, rho, kernel_values)


@dataclass
class _Large:
    """A problem whose kernel matrix is not in memory."""

    kernel: Kernel
    X: Rows
    dual: Dual
    C: Vector
    task: Task
    tol: float
    working_size: int
    inner: str
    limit: int | None
    seed: int
    threads: int
    callback: Callable[[int, float], object] | None = None
    steps: int = 0
    values: int = 0
    fallbacks: int = 0

    @property
    def left(self) -> int | None:
        """Steps that may still be taken; None: there is no limit."""
        return None if self.limit is None else max(0, self.limit - self.steps)

    def solve(self, start: Vector) -> Solution:
        """Solve from a start with the sums that are asked for."""
        everyone = np.arange(len(self.C))
        gradient = self._product(everyone, everyone, start) + self.dual.p
        near = self._decompose(everyone, start, gradient, INNER_FLOOR * self.tol)
        found = self._decompose(everyone, near.beta, None, self.tol)
        found.n_iter, found.fallbacks = self.steps, self.fallbacks
        return found

    def brought(self, beta: Vector) -> Vector:
        """Return a start with the sums that are asked for, from one that may have others."""
        everyone, beta = np.arange(len(self.C)), self.dual.clip(beta)
        gradient = self._product(everyone, everyone, beta) + self.dual.p
        return brought_to_task(beta, self.dual, self.task, self.C, gradient)

    def start(self, labels: NDArray[np.integer] | None) -> Vector:
        """Return the start of random subsets, or that of blocks if its objective is smaller.

        Where support vectors are so few that the blocks' kernel matrices would have more values
        than those between all rows and them, no block is solved.
        """
        n = len(self.C)
        rows, values, is_slack = self._subset()
        few = n * np.count_nonzero(values) / len(rows)
        starts = []
        if is_slack:
            starts.append(self._filled(np.arange(n), rows, values))
        else:
            expected = self._expected(np.arange(n), rows, values)
            starts.append(brought_to_task(np.zeros(n), self.dual, self.task, self.C, expected))
        if labels is not None and few > np.bincount(labels).max():
            beta, gradient = self._of_blocks(labels)
            if not is_slack:
                beta = brought_to_task(beta, self.dual, self.task, self.C, gradient)
            starts.append(beta)
        return min(starts, key=self._estimated) if len(starts) > 1 else starts[0]

    def _estimated(self, beta: Vector) -> float:
        found, values = estimated_objective(
            self.kernel, self.X, self.dual, beta, seed=self.seed, threads=self.threads
        )
        self.values += values
        return found

    def _of_blocks(self, labels: NDArray[np.integer]) -> tuple[Vector, Vector]:
        """Return the variables of the SVMs of blocks, and their gradients, each by its block."""
        order = np.argsort(labels, kind="stable")
        blocks = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
        beta, gradient = np.zeros(len(labels)), self.dual.p.copy()
        work = np.zeros((2, len(blocks)), dtype=np.int64)

        def solve(number: int) -> None:
            rows = blocks[number]
            dual, C = self.dual[rows], self.C[rows]
            share = _room(self.task, dual, C)
            if share <= 0.0:
                return
            K, computed = counted_kernel_matrix(self.kernel, self.X[rows], least=NEGLIGIBLE)
            start = brought_to_task(np.zeros(len(rows)), dual, self.task, C, dual.p, share=share)
            F = K @ start + dual.p
            tol = max(self.tol, FALL * violation(F, start, dual, equality=True))
            most = None if self.left is None else self.left * len(rows) // len(labels)
            how: dict[str, Any] = {"inner": "smo", "equality": True, "tol": tol, "max_iter": most}
            found = solve_inner(K, dual, beta=start, gradient=F, **how)
            beta[rows], gradient[rows] = found.beta, found.gradient
            work[:, number] = found.n_iter, computed  # by SMO: nothing falls back

        for_each(solve, range(len(blocks)), self.threads)
        self.steps += int(work[0].sum())
        self.values += int(work[1].sum())
        return beta, gradient

    def _subset(self) -> tuple[Index, Vector, bool]:
        """Return the rows of the largest subset, their variables, and whether the size has slack.

        That is, whether the sum of abs(beta) of its solution is below the largest.
        """
        n = len(self.C)
        drawn = np.random.default_rng(self.seed).permutation(n)
        sizes = [m for m in SUBSETS if 2 * m <= n] or [n // 2]
        index, beta, is_slack = drawn[:0], np.zeros(0), False
        for m in sizes:
            rows = np.sort(drawn[:m])
            dual, C = self.dual[rows], self.C[rows]
            share = _room(self.task, dual, C)
            if is_slack:
                start = self._filled(rows, index, beta)
            else:
                expected = self._expected(rows, index, beta)
                start = brought_to_task(np.zeros(m), dual, self.task, C, expected, share=share)
            size = None if self.task.has_classes else self.task.size(C)  # a bound, of regression
            found = self._solve_subset(rows, start, None if size is None else share * size)
            index, beta = rows, found.beta
            is_slack = size is not None and float(np.abs(beta).sum()) < _SLACK * share * size
        return index, beta, is_slack

    def _filled(self, rows: Index, of: Index, beta: Vector) -> Vector:
        """Return the variables of rows that a subset's have, zero for the others."""
        own = np.zeros(len(self.C))
        own[of] = beta
        return own[rows]

    def _solve_subset(self, rows: Index, start: Vector, size: float | None) -> Solution:
        dual = self.dual[rows]
        if size is not None:
            dual = dual.with_size(start, size)
        gradient = self._product(rows, rows, start) + dual.p
        fallen = FALL * violation(gradient, start, dual, equality=True)
        return self._decompose(rows, start, gradient, max(self.tol, fallen), dual)

    def _expected(self, rows: Index, of: Index, beta: Vector) -> Vector:
        """Return the gradient of rows that a subset's solution leads to expect.

        What its rows add to their own, they would not have added had they not been in it.
        """
        gradient = self._product(rows, of, beta) + self.dual.p[rows]
        own = np.zeros(len(self.C))
        own[of] = beta
        own = own[rows]
        mine = np.flatnonzero(own)
        if len(mine):
            gradient[mine] -= own[mine] * kernel_diagonal(self.kernel, self.X[rows[mine]])
        return gradient

    def _take(self, rows: Index) -> Rows:
        """Return rows, all of them without a copy."""
        return self.X if len(rows) == len(self.C) else self.X[rows]

    def _product(self, rows: Index, of: Index, beta: Vector) -> Vector:
        some = np.flatnonzero(beta)
        if len(some) == 0:
            return np.zeros(len(rows))
        f, values = kernel_product(
            self.kernel, self._take(rows), self.X[of[some]], beta[some], threads=self.threads
        )
        self.values += values
        return np.asarray(f)

    def _decompose(
        self,
        rows: Index,
        beta: Vector,
        gradient: Vector | None,
        tol: float,
        dual: Dual | None = None,
    ) -> Solution:
        """Solve from a start; without its gradient, products are of full precision."""
        is_whole = len(rows) == len(self.C)
        if dual is None:
            dual = _with_size(self.dual, self.task, self.C, beta)
        found, values = solve_decomposition(
            self.kernel,
            self._take(rows),
            dual,
            beta=beta,
            gradient=gradient,
            equality=True,
            tol=tol,
            working_size=self.working_size,
            inner=self.inner,
            max_iter=self.left,
            callback=self._report if is_whole else None,  # how far a subset is says nothing of all
            verify=gradient is None,
            threads=self.threads,
        )
        self.steps, self.values = self.steps + found.n_iter, self.values + values
        self.fallbacks += found.fallbacks
        return found

    def _report(self, steps: int, violation: float) -> None:
        if self.callback is not None:
            self.callback(self.steps + steps, violation)


def _room(task: Task, dual: Dual, C: Vector) -> float:
    """Return which share of its sums random rows allow: they may have fewer of a class."""
    size = task.size(C)
    if size is None:
        return 1.0
    most = 2.0 * float(min(dual.upper.sum(), -dual.lower.sum()))
    return min(1.0, most / size)
