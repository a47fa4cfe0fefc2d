"""The rows over which a chain of conquer rounds works, and where it starts."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.solvers import balanced
from dcsvm_dask.steps.problem import read_problem
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder


def start_scope(
    run: RunFolder, attempt: Attempt, *, source: str | None, support_only: bool
) -> Record:
    """Take the alphas of a committed stage as the start of rounds.

    With ``support_only`` the rounds work on its support vectors alone (the paper's refinement);
    otherwise on all variables. With a bias, alpha is brought onto y'alpha = 0 here.
    """
    problem = read_problem(run)
    alpha = np.zeros(problem.n) if source is None else run.node(source, "commit").read("alpha")[0]
    if problem.settings.fit_intercept:
        alpha = balanced(alpha, problem.y, problem.C)
    rows = np.flatnonzero(alpha > 0) if support_only else np.arange(problem.n)
    attempt.write("rows", rows.astype(np.int64))
    attempt.write("alpha", alpha[None, :])
    return {"rows": len(rows), "support": int(np.count_nonzero(alpha))}
