"""The round of the linear SVM of Crammer and Singer: all classes in one problem, in one task."""

from __future__ import annotations

import math

import numpy as np

from dcsvm_dask.methods.linear.rows import checked_rows, part_of
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.methods.progress import pass_reporter
from dcsvm_dask.random_streams import DESCENT, generator
from dcsvm_dask.solvers import solve_crammer_singer
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder


def commit_classes(
    run: RunFolder,
    attempt: Attempt,
    *,
    number: int,
    previous: str | None,
    constant: float,
    tol: float,
    most_visits: int,
) -> Record:
    """Descend over all rows from where the round before has ended, and commit the point.

    Writes ``alpha``, shape (n, k), and ``sums_m``, the weights of class m with that of the
    constant last, shape (1, d + 1), which `commit_linear` reads.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    number : int
        Number of the round.
    previous : str or None
        The stage of the round before; None: all variables are 0.
    constant : float
        The constant feature; 0: none.
    tol : float
        Tolerance of the run.
    most_visits : int
        Rows that are visited until the round ends above the tolerance, about.
    """
    problem = read_problem(run)
    before = None if previous is None else run.node(previous, "commit")
    index = part_of(problem, 0, 1)
    costs = problem.bounds(index)
    found = solve_crammer_singer(
        checked_rows(problem, 0, problem.n),
        problem.codes,
        costs,
        problem.n_classes,
        constant=constant,
        alpha=None if before is None else before.read("alpha"),
        tol=tol,
        max_iter=max(1, math.ceil(most_visits / problem.n)),
        seed=int(generator(problem.settings.seed, DESCENT, number, 0, 0).integers(1 << 62)),
        callback=pass_reporter(tol),
    )
    attempt.write("alpha", found.alpha)
    for m, (w, b) in enumerate(zip(found.W, found.b, strict=True)):
        attempt.write(f"sums_{m:04d}", np.append(w, b / constant if constant else 0.0)[None, :])
    own = found.alpha[index, problem.codes]
    passes = len(found.history) + (0 if before is None else before.record["passes"])
    return {
        "rows": problem.n,
        "objective": found.objective,
        "primal_objective": found.gap - found.objective,
        "gap": found.gap,
        "violation": found.violation,
        "violations": [found.violation],
        "bounded": int(np.count_nonzero((own >= costs) & (costs > 0.0))),
        "support": int(np.count_nonzero(own)),
        "passes": passes,
        "svms": 1,
        "parts": 1,
        "tol": tol,
        "from_scratch": True,
    }
