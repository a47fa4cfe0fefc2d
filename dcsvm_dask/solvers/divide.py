"""Divide and conquer in memory: SVMs of blocks as a start for the whole problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, counted_kernel_matrix, kernel_product
from dcsvm_dask.kernels.threads import for_each
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
SEEN = 1024
"""Support vectors by which an objective is estimated."""


def solve_blocks(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    blocks: list[Index],
    *,
    equality: bool,
    max_iter: int | None = None,
    seed: int = 0,
    threads: int = 1,
) -> tuple[Vector | None, int, int]:
    """Solve the dual problem of each block by itself (Hsieh, Si, Dhillon, ICML 2014, section 3).

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
    blocks : list of ndarray of int64
        The rows of each; together all, each once. For each thread a kernel matrix of float32 of
        the largest is held.
    equality : bool
        Whether the problem has a bias: each block then keeps sum(beta) = 0.
    max_iter : int, optional
        Most steps of all blocks together: of each, by its size.
    seed : int, default 0
        Of the sample by which it is told how far the SVMs contradict each other.
    threads : int, default 1
        Threads that share the blocks; the result is the same.

    Returns
    -------
    beta : ndarray, shape (n,), float64, or None
        Feasible for the whole problem; None where the SVMs contradict each other.
    n_iter, kernel_values : int
    """
    n, beta = len(dual), np.zeros(len(dual))
    own, work = np.zeros(len(blocks)), np.zeros((2, len(blocks)), dtype=np.int64)

    def solve(number: int) -> None:
        rows = blocks[number]
        mine = dual[rows]
        if equality and not mine.can_balance():
            return
        most = None if max_iter is None else max_iter * len(rows) // n
        K, computed = counted_kernel_matrix(kernel, X[rows], least=NEGLIGIBLE)
        found = solve_smo(K, mine, equality=equality, tol=BLOCK_TOL, max_iter=most)
        beta[rows], own[number] = found.beta, found.objective
        work[:, number] = found.n_iter, computed

    for_each(solve, range(len(blocks)), threads)
    steps, values = (int(one) for one in work.sum(axis=1))
    if not beta.any():
        return None, steps, values
    reached, computed = estimated_objective(kernel, X, dual, beta, seed=seed, threads=threads)
    kept = reached / float(own.sum())
    return (beta if kept >= LEAST_KEPT else None), steps, values + computed


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
