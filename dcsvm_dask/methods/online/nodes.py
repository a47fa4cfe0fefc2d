"""SVMs that one task trains by itself: rows one by one."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.methods.isolated import isolation
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.progress import advance_reporter, fallen
from dcsvm_dask.methods.repeats import shared_out
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.solvers import solve_online
from dcsvm_dask.solvers.online.slots import SOLVING
from dcsvm_dask.storage.model import write_model
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

# Share of the progress bar at which the passes end; power of the number of rows as which the work
# of a first pass grows, since the expansion grows with it.
PASSES, GROWTH = 0.7, 1.8


def room(settings: Settings) -> int:
    """Return the bytes of LaSVM's kernel rows: those of a working set of the only task."""
    return int(SOLVING * settings.set_cap**2)


def learn_online(
    run: RunFolder, attempt: Attempt, *, passes: int, samples: int, tol: float
) -> Record:
    """Train an SVM by LaSVM (Bordes, Ertekin, Weston, Bottou 2005).

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    passes : int
        Most passes over the rows.
    samples : int
        Random rows of which the worst violator is taken.
    tol : float
        Tolerance of the finish.

    Returns
    -------
    dict
        Objective, bias, numbers of support vectors and of kernel values, and the model's entry.
    """
    problem = read_problem(run)
    settings = problem.settings
    advanced = advance_reporter()
    start, reached, sets = 0.0, 0.0, 0

    def report(looked: int, about: Record) -> None:
        nonlocal start, reached, sets
        if "violation" in about:
            left, sets = about["violation"], sets + 1
            start = max(start, left)
            reached = max(reached, PASSES + (1.0 - PASSES) * fallen(start, left, tol))
            advanced(sets, 0, "working sets", about, reached)
        else:
            share = (looked / about["rows"]) ** (GROWTH if passes == 1 else 1.0)
            reached = max(reached, PASSES * share)
            advanced(looked, about["rows"], "rows", about, reached)

    found = solve_online(
        settings.kernel,
        problem.X.read(0, problem.n),
        problem.targets,
        problem.C,
        equality=settings.fit_intercept,
        tol=tol,
        passes=passes,
        samples=samples,
        cache_bytes=room(settings),
        threads=threads(),
        seed=settings.seed,
        solved=report,
    )
    support = np.flatnonzero(found.beta)
    attempt.write("alpha", shared_out(run, problem, found.beta)[None, :])
    model = write_model(
        attempt,
        problem.take_chunks(support),
        found.beta[None, support],
        np.array([[len(support)]]),
        np.array([[found.bias]]),
        n_features=problem.X.n_features,
        sparse=problem.X.is_sparse,
    )
    return {
        "objective": found.objective,
        "bias": found.bias,
        "support": len(support),
        "bounded": int(np.count_nonzero(problem.dual.is_bounded(found.beta))),
        # Of the problem of the expansion, whose rows depend on the number of passes.
        "solved": bool(found.violation <= tol),
        "iterations": found.n_iter,
        "kernel_values": found.kernel_values,
        **isolation(problem, support),
        **model,
    }
