"""The threshold of a bag of one-class SVMs: a share nu of rows that no voter has seen is outside.

A member has seen one in `members` rows, and by a local kernel it finds most of the others outside;
so does their mean. Members' own rho therefore says little of the bag's: it is set on a sample of
rows, each decided by the members that were not trained on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import kernel_product
from dcsvm_dask.methods.committee import decided_rows
from dcsvm_dask.methods.problem import Problem

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

NOTHING = 1e-20
"""Share of rho below which a row resembles no support vector: kernel values end at e^-64."""


def decide_unseen(problem: Problem, seen: Index, beta: Vector) -> tuple[Vector, int]:
    """Return the decision values of a member, without its bias, for the rows of `decided_rows`.

    Parameters
    ----------
    problem : Problem
    seen : ndarray of int64, shape (m,)
        The variables of the member, ascending.
    beta : ndarray, shape (m,)
        Their solution.

    Returns
    -------
    ndarray, shape (n_decided,), float64
        NaN for rows that the member was trained on.
    kernel_values : int
    """
    sample = decided_rows(problem)
    others = ~np.isin(sample, seen)
    support = beta != 0.0
    found = np.full(len(sample), np.nan)
    found[others], computed = kernel_product(
        problem.settings.kernel,
        problem.take(sample[others]),
        problem.take(seen[support]),
        beta[support],
    )
    return found, computed


def threshold(values: NDArray[np.float64], weights: Vector, nu: float) -> float | None:
    """Return the mean of members' values below which a share nu of the rows lies.

    Parameters
    ----------
    values : ndarray, shape (members, n)
        Decision values without a bias, NaN where the member was trained on the row.
    weights : ndarray, shape (n,)
        How often each row occurs.
    nu : float
        In (0, 1].

    Returns
    -------
    float or None
        Half-way between two rows; None where every member was trained on every row.
    """
    voters = np.count_nonzero(~np.isnan(values), axis=0)
    decided = voters > 0
    if not decided.any():
        return None
    mean = np.nansum(values, axis=0)[decided] / voters[decided]
    order = np.argsort(mean, kind="stable")
    share = np.cumsum(weights[decided][order]) / weights[decided].sum()
    last = int(np.searchsorted(share, nu * (1.0 + 1e-9), side="right"))  # rows outside
    low, high = max(0, last - 1), min(last, len(order) - 1)
    least = float(0.5 * (mean[order[low]] + mean[order[high]]))
    return NOTHING if 0.0 <= least < NOTHING else least
