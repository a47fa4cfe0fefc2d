"""Divide and conquer in memory: SVMs of blocks as a start for the whole problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, counted_kernel_matrix, kernel_product
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers.optimality import balanced
from dcsvm_dask.solvers.smo.solve import solve_smo
from dcsvm_dask.tasks import Dual

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

BLOCK_TOL = 1e-2
"""A start need not be more exact than this."""
NEGLIGIBLE = 1e-10
"""Kernel values below this are zero in a block's matrix."""
LEAST_KEPT = 0.5
"""Where less than this share of the blocks' own objective is left for the whole problem, their
SVMs contradict each other: they are a worse start than none."""
MOST_BIASES, NEAR_ZERO = 4, 0.002
"""How often a common bias is tried, and which share of their sizes the sum of variables may be."""
SEEN = 1024
"""Support vectors by which an objective is estimated."""


def solve_blocks(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    blocks: list[Index],
    *,
    equality: bool,
    one_bias: bool = False,
    max_iter: int | None = None,
    seed: int = 0,
    threads: int = 1,
) -> tuple[Vector | None, int, int]:
    """Solve the dual problem of each block by itself (Hsieh, Si, Dhillon, ICML 2014, section 3).

    Blocks that each have a bias of their own must then agree on one, and where most variables are
    free all of them have to move for that. With `one_bias` they have the same from the start: the
    one at which all variables add up to about zero.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
    blocks : list of ndarray of int64
        The rows of each; together all, each once. For each thread a kernel matrix of float32 of
        the largest is held.
    equality : bool
        Whether the problem has a bias: each block then keeps sum(beta) = 0, unless they have one.
    one_bias : bool, default False
        With `equality`, and one sum of all variables.
    max_iter : int, optional
        Most steps of all blocks together, each time that they are solved: of each, by its size.
    seed : int, default 0
        Of the sample that shows how far the SVMs contradict each other.
    threads : int, default 1
        Threads that share the blocks; the result is the same.

    Returns
    -------
    beta : ndarray, shape (n,), float64, or None
        Feasible for the whole problem; None where the SVMs contradict each other.
    n_iter, kernel_values : int
    """
    work = _Blocks(kernel, X, dual, blocks, max_iter, threads)
    if equality and one_bias:
        work.solve_with_one_bias()
        beta = balanced(work.beta, dual)
    else:
        work.solve(equality=equality)
        beta = work.beta
    if not beta.any():
        return None, work.steps, work.values
    reached, computed = estimated_objective(kernel, X, dual, beta, seed=seed, threads=threads)
    kept = reached / float(work.own.sum())
    return (beta if kept >= LEAST_KEPT else None), work.steps, work.values + computed


class _Blocks:
    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        dual: Dual,
        blocks: list[Index],
        max_iter: int | None,
        threads: int,
    ) -> None:
        self.kernel, self.X, self.dual, self.blocks = kernel, X, dual, blocks
        self.max_iter, self.threads = max_iter, threads
        self.beta, self.own = np.zeros(len(dual)), np.zeros(len(blocks))
        self.steps = self.values = self.free = 0

    def solve(self, *, equality: bool, bias: float = 0.0) -> None:
        """Solve each block from where it is, with a sum and a bias of its own or at a given one."""
        counts = np.zeros((3, len(self.blocks)), dtype=np.int64)

        def solve_one(number: int) -> None:
            rows = self.blocks[number]
            mine = self.dual[rows]
            if equality and not mine.can_balance():
                return
            mine = mine if equality else mine.with_bias(bias)
            most = None if self.max_iter is None else self.max_iter * len(rows) // len(self.dual)
            K, computed = counted_kernel_matrix(self.kernel, self.X[rows], least=NEGLIGIBLE)
            start = self.beta[rows]
            found = solve_smo(K, mine, beta=start, equality=equality, tol=BLOCK_TOL, max_iter=most)
            self.beta[rows] = found.beta
            self.own[number] = found.objective - bias * found.beta.sum()
            counts[:, number] = found.n_iter, computed, np.count_nonzero(mine.is_free(found.beta))

        for_each(solve_one, range(len(self.blocks)), self.threads)
        steps, values, self.free = (int(one) for one in counts.sum(axis=1))
        self.steps, self.values = self.steps + steps, self.values + values

    def solve_with_one_bias(self) -> None:
        """Solve all blocks at the bias at which their variables add up to about zero.

        Their sum falls with the bias, by about as much as there are free variables; secant steps,
        kept between the biases known to be too low and too high. The first bias is that of rows
        that do not see each other, without bounds.
        """
        low, high, unit = -np.inf, np.inf, self.dual.unit
        bias = -float(self.dual.p.mean())
        before: tuple[float, float] | None = None
        for _ in range(MOST_BIASES):
            self.solve(equality=False, bias=bias)
            total = float(self.beta.sum())
            if abs(total) <= NEAR_ZERO * float(np.abs(self.beta).sum()):
                return
            low, high = (bias, high) if total > 0.0 else (low, bias)
            slope = -float(max(1, self.free))
            if before is not None and total != before[1]:
                slope = (total - before[1]) / (bias - before[0])
            before = bias, total
            near, far = max(low, bias - unit), min(high, bias + unit)
            bias -= total / slope
            if not near < bias < far:
                bias = 0.5 * (near + far)


def estimated_objective(
    kernel: Kernel, X: Rows, dual: Dual, beta: Vector, *, seed: int = 0, threads: int = 1
) -> tuple[float, int]:
    """Estimate the objective by a random sample of the support vectors.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
    beta : ndarray, shape (n,), float64
    seed : int, default 0
    threads : int, default 1

    Returns
    -------
    objective : float
    kernel_values : int
    """
    support = np.flatnonzero(beta)
    if not len(support):
        return 0.0, 0
    some = np.sort(np.random.default_rng(seed).permutation(support)[:SEEN])
    f, values = kernel_product(kernel, X[some], X[support], beta[support], threads=threads)
    curvature = len(support) / len(some) * float(beta[some] @ f)
    return 0.5 * curvature + dual.linear(beta), values
