"""A problem whose rows are in the memory of one process, as `solve_whole` solves it in one task."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import bisect
from dcsvm_dask.clustering.rows import block_labels
from dcsvm_dask.kernels import Rows
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.progress import violation_reporter
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.random_streams import BINARY_SVM, generator
from dcsvm_dask.solvers import solve_whole
from dcsvm_dask.solvers.large_problem import BLOCK_ROWS, DIVIDED_FROM
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

WITHIN = 0.9
"""Share of the tolerance at which the solver stops: sums that another task rounds otherwise then do
not need another solution."""


def solve_problem(run: RunFolder, attempt: Attempt, *, previous: str | None, tol: float) -> Record:
    """Solve the problem of all rows in this task.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    previous : str or None
        The stage of the point to start from; None: the SVMs of blocks, or zero.
    tol : float
        Tolerance of the chain.
    """
    problem = read_problem(run)
    settings, n = problem.settings, problem.n
    X, beta, blocks = problem.solved_rows(problem.X.read(0, n)), None, None
    if previous is None:
        blocks = start_blocks(settings, X)
    else:
        beta = run.node(previous, "commit").read("beta")[0]
    found, values = solve_whole(
        settings.kernel,
        X,
        problem.dual,
        beta=beta,
        blocks=blocks,
        equality=settings.fit_intercept,
        tol=WITHIN * tol,
        working_size=settings.set_cap,
        inner=settings.inner,
        seed=settings.seed,
        threads=threads(),
        callback=violation_reporter(tol),
    )
    attempt.write("beta", found.beta[None, :])
    return {
        "rows": n,
        "bias": found.bias,
        "iterations": found.n_iter,
        "fallbacks": found.fallbacks,
        "kernel_values": values,
    }


def start_blocks(settings: Settings, X: Rows, number: int = 0) -> NDArray[np.int32] | None:
    """Return the block of each row whose SVMs give a start; None of few rows.

    Parameters
    ----------
    settings : Settings
    X : ndarray or CSR, shape (n, d)
    number : int, default 0
        That of the SVM, of several.
    """
    if X.shape[0] < DIVIDED_FROM:
        return None
    return block_labels(bisect(X, BLOCK_ROWS, generator(settings.seed, BINARY_SVM + number)))
