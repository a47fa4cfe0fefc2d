"""The rows over which a chain of conquer rounds works, and where it starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.steps.problem import Problem, read_problem
from dcsvm_dask.storage.run import Attempt, Record, RunFolder


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
        alpha = balance(problem, alpha)
    rows = np.flatnonzero(alpha > 0) if support_only else np.arange(problem.n)
    attempt.write("rows", rows.astype(np.int64))
    attempt.write("alpha", alpha[None, :])
    return {"rows": len(rows), "support": int(np.count_nonzero(alpha))}


def balance(problem: Problem, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return alpha with the heavier class scaled down so that y'alpha = 0.

    Its free variables alone where they hold enough: one at its bound that leaves it by however
    little counts as one that violates.
    """
    positive = problem.y > 0
    excess = float(alpha[positive].sum() - alpha[~positive].sum())
    if min(alpha[positive].sum(), alpha[~positive].sum()) <= 0.0:
        return np.zeros_like(alpha)
    heavier = positive == (excess > 0.0)
    scaled = heavier & (alpha < problem.C)
    if alpha[scaled].sum() <= 2.0 * abs(excess):
        scaled = heavier
    part = 1.0 - abs(excess) / alpha[scaled].sum()
    return np.asarray(np.where(scaled, alpha * part, alpha))
