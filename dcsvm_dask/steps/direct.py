"""Machines that one task trains by itself: rows one by one."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.solvers import solve_online
from dcsvm_dask.steps.level import rows_in_chunks
from dcsvm_dask.steps.problem import read_problem, shared_out
from dcsvm_dask.steps.telling import tell_of_advance
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.run import Attempt, Record, RunFolder


def learn_online(
    run: RunFolder, attempt: Attempt, *, passes: int, samples: int, tol: float
) -> Record:
    """Train by LaSVM; the cache of kernel rows is as large as a block's matrix may be."""
    problem = read_problem(run)
    settings = problem.settings
    advanced = tell_of_advance()

    def tell(looked: int, about: Record) -> None:
        advanced(looked, about["rows"], "rows", about)

    found = solve_online(
        settings.kernel,
        problem.X.read(0, problem.n),
        problem.y,
        problem.C,
        equality=settings.fit_intercept,
        tol=tol,
        passes=passes,
        samples=samples,
        cache_bytes=4 * settings.block_cap**2,
        seed=settings.seed,
        solved=tell,
    )
    support = np.flatnonzero(found.alpha)
    attempt.write("alpha", shared_out(run, problem, found.alpha)[None, :])
    model = write_model(
        attempt,
        rows_in_chunks(problem, support),
        problem.labels(support) * found.alpha[support],
        np.array([0, len(support)], dtype=np.int64),
        np.array([found.bias]),
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
    )
    return {
        "objective": found.objective,
        "bias": found.bias,
        "support": len(support),
        "bounded": int(np.count_nonzero(found.alpha >= problem.C)),
        "solved": bool(found.converged),
        "iterations": found.n_iter,
        "kernel_values": found.kernel_values,
        **model,
    }
