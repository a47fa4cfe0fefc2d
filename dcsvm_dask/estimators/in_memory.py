"""The SVMs of all classes solved in this process, with all rows in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import bisect
from dcsvm_dask.clustering.rows import block_labels
from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.fit_lines import FitLines
from dcsvm_dask.estimators.fit_tasks import FitTasks
from dcsvm_dask.estimators.known_kernel import KnownRows
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.variables import Variables
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.solvers import SolvedMachine, largest_machine, machines_of, solve_machines
from dcsvm_dask.solvers.large_problem import BLOCK_ROWS, DIVIDED_FROM
from dcsvm_dask.solvers.machines import matrix_bytes
from dcsvm_dask.solvers.machines_of_matrix import solve_machines_of_matrix
from dcsvm_dask.solvers.parallel.share import are_costly

LEAST_SET = 256
# Working sets of several SVMs are of such a size that the memory is enough for so many. The
# size shapes the solutions, so it does not follow from the number of threads.
SETS = 2
# Part of the memory that is for kernel values which pairs of classes share.
SHARED = 0.25


def solved(
    estimator: Any,
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.int32],
    variables: Variables,
    alpha: NDArray[np.float64] | None,
    tasks: FitTasks | None,
    lines: FitLines | None = None,
) -> list[SolvedMachine]:
    """Return the SVMs of a `DCSVC`, solved in memory; see `solve_machines`.

    Parameters
    ----------
    estimator : DCSVC
    kernel : Kernel
    X : Rows or KnownRows, shape (n, n_features)
    codes : ndarray, shape (n,), int32
    variables : Variables
    alpha : ndarray or None
        The warm start; None: zero.
    tasks : FitTasks, optional
        Called with the progress of each SVM.
    lines : FitLines, optional
        Printed meanwhile.

    Returns
    -------
    list of SolvedMachine
    """
    threads = checking.threads_of(estimator.n_jobs)
    machines = machines_of(len(estimator.classes_), estimator._scheme)
    memory = estimator.cache_size * 1e6
    seed = checking.seed_of(estimator.random_state)
    Z, codes = X[variables.rows], codes[variables.rows]
    how: dict[str, Any] = {
        "equality": bool(estimator.fit_intercept),
        "tol": checking.tolerance(estimator.tol),
        "inner": checking.inner_solver(estimator.inner),
        "max_iter": checking.limit_of_steps(estimator, len(codes)),
        "threads": threads,
        "alpha": alpha,
        "task": estimator._task(),
    }

    printed = lines is not None and lines.verbose
    if printed or (tasks is not None and tasks.are_followed):

        @contextmanager
        def within(number: int) -> Iterator[None]:
            with (
                nullcontext() if tasks is None else tasks.machine(number),
                nullcontext() if lines is None else lines.machine(),
            ):
                yield

        how["within"] = within
    if lines is not None and printed:
        how["callback"] = lines.callback(min(len(one.rows(codes)[0]) for one in machines))
    if isinstance(Z, KnownRows):
        with one_thread_each():
            K = Z.matrix()
            return solve_machines_of_matrix(K, codes, variables.C, machines, memory=memory, **how)
    shared = SHARED * memory if len(machines) > 1 else 0.0
    largest = largest_machine(np.bincount(codes), estimator._scheme) if are_costly(Z) else 0
    size = working_size(memory - shared, len(machines), largest)
    with one_thread_each():
        return solve_machines(
            kernel,
            Z,
            codes,
            variables.C,
            machines,
            working_size=size,
            seed=seed,
            memory=memory - shared,
            most_shared=shared,
            blocks=_blocks(Z, codes, estimator._scheme, size, seed) if alpha is None else None,
            **how,
        )


def _blocks(
    X: Rows, codes: NDArray[np.int32], scheme: str, most: int, seed: int
) -> NDArray[np.int32] | None:
    """Return the block of each row, once for all SVMs; None where these have too few rows."""
    largest = largest_machine(np.bincount(codes), scheme)
    if largest < DIVIDED_FROM:
        return None
    cap = min(most, BLOCK_ROWS * len(codes) // largest)
    return block_labels(bisect(X, cap, np.random.default_rng(seed)))


def start_blocks(X: Rows, most: int, seed: int) -> NDArray[np.int32] | None:
    """Return the block of each row, for the start of one SVM; None where rows are too few.

    Parameters
    ----------
    X : Rows, shape (n, n_features)
    most : int
        Most rows of a working set, and so of a block.
    seed : int
    """
    if X.shape[0] < DIVIDED_FROM:
        return None
    return block_labels(bisect(X, min(most, BLOCK_ROWS), np.random.default_rng(seed)))


def working_size(memory: float, machines: int, largest: int = 0) -> int:
    """Return how many rows a working set may have where SVMs share so many bytes.

    Parameters
    ----------
    memory : float
        Bytes.
    machines : int
        Number of SVMs.
    largest : int, default 0
        Rows of the largest of them, where sets that lack some of these are dear: then SVMs take all
        of the memory, one after the other.
    """
    alone, beside = (
        max(LEAST_SET, math.isqrt(int(memory / sets / matrix_bytes(1))))
        for sets in (1, min(SETS, machines))
    )
    return alone if largest > beside else beside
