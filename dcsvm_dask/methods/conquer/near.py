"""Columns of a product that a share of the rows can reach, by the boxes of an arrangement."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.problem import Problem

Index = NDArray[np.int64]


def near(
    problem: Problem, rows: Index, columns: Index, v: NDArray[np.float64], budget: float
) -> tuple[Index, float]:
    """Return the positions of columns that some rows can reach, and what is left of the budget.

    Only these need to be read. Without boxes, or without a budget, they are all.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int64
        The variables of the share.
    columns : ndarray of int64, shape (m,)
    v : ndarray, shape (m,)
        Weights of the columns.
    budget : float
        Largest error of a product; see `kernel_product`.
    """
    if budget == 0.0 or problem.boxes is None or not len(rows):
        return np.arange(len(columns)), budget
    return problem.boxes.near(problem.settings.kernel, rows, columns, v, budget)
