"""The threshold of a bag of one-class SVMs: a share nu of rows that no voter has seen is outside.

A member has seen one in `members` rows, and by a local kernel it finds most of the others outside;
so does their mean. Members' own rho therefore says little of the bag's: it is set on a sample of
rows, each decided by the members that were not trained on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

NOTHING = 1e-20
"""Share of rho below which a row resembles no support vector: kernel values end at e^-64."""


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
