"""The bias that all blocks share: where their alphas balance, y'alpha = 0.

For a bias b that is given, blocks are apart: each solves min 0.5 a'Qa + (b y - 1)'a over its box.
The b that makes the sum of all their y'alpha zero is the multiplier of the whole problem's
equality. That sum falls as b rises, nearly in a straight line: its slope is what the free rows
answer.
"""

from __future__ import annotations

import numpy as np

from dcsvm_dask.solvers import Solution
from dcsvm_dask.steps.rows_solver import RowsSolver

# By how much the bias is moved to see how a block answers.
PROBE = 0.05
# One of so many blocks is asked, of those whose kernel matrix is in memory.
PROBED = 4
# The bias moves at most so far at once: margins are 1 from the border.
FURTHEST = 0.5


def response(solver: RowsSolver, solution: Solution, tol: float) -> float:
    """Return by how much y'alpha of a block changes for each unit of the bias, at its solution."""
    gradient = solution.gradient + PROBE * solver.y
    moved = solver.solve(alpha=solution.alpha, gradient=gradient, tol=tol)
    return float(np.dot(solver.y, moved.alpha - solution.alpha)) / PROBE


def next_bias(bias: float, balance: float, slope: float) -> float:
    """Return the bias at which y'alpha is expected to be zero.

    Parameters
    ----------
    balance : float
        y'alpha at `bias`.
    slope : float
        Its change for each unit of the bias; where nothing answers (0) the bias stays.
    """
    if not slope < 0.0:
        return bias
    return bias + float(np.clip(-balance / slope, -FURTHEST, FURTHEST))
