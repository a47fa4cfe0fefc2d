"""The rules by which gamma follows from the rows, and the variance that one of them needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows

SCALE, AUTO = "scale", "auto"
GAMMA_RULES = (SCALE, AUTO)
"""Words that stand for a gamma, as scikit-learn's SVC has them."""
ROUNDING = 1e-13
"""Deviation of equal values, as a share of them, that float64 sums may leave."""


def check_rule(gamma: Any) -> None:
    """Refuse a text that names no rule.

    Raises
    ------
    InputError
        If `gamma` is a text other than one of `GAMMA_RULES`.
    """
    if isinstance(gamma, str) and gamma not in GAMMA_RULES:
        raise InputError(f'gamma is {gamma!r:.80}; give "scale", "auto" or a number above 0.')


def gamma_by(rule: str, n_features: int, variance: float) -> float:
    """Return the gamma of a rule.

    Parameters
    ----------
    rule : {"scale", "auto"}
        "scale" is 1 / (n_features variance), or 1 where that is 0; "auto" is 1 / n_features.
    n_features : int
    variance : float
        Of all values of the rows, zeros included; "auto" does not use it.
    """
    spread = n_features * (1.0 if rule == AUTO else variance)
    return 1.0 / spread if spread > 0 else 1.0


class RunningVariance:
    """The variance of all values of rows that come in blocks, in float64.

    Notes
    -----
    Means and squares of blocks are merged as in Chan, Golub, LeVeque, "Updating formulae and a
    pairwise algorithm for computing sample variances", 1979: a difference of squares would cancel
    where values are large.
    """

    def __init__(self) -> None:
        self._count, self._mean, self._squares = 0, 0.0, 0.0

    def update(self, rows: Rows) -> None:
        """Add a block of rows; values that a sparse block does not store are zeros."""
        count = int(rows.shape[0]) * int(rows.shape[1])
        if not count:
            return
        values = rows.data if sparse.issparse(rows) else rows
        mean = float(np.sum(values, dtype=np.float64)) / count
        zeros = count - values.size
        squares = float(np.sum(np.square(np.subtract(values, mean, dtype=np.float64))))
        squares += zeros * mean**2
        total, step = self._count + count, mean - self._mean
        self._squares += squares + step**2 * self._count * count / total
        self._mean += step * count / total
        self._count = total

    @property
    def variance(self) -> float:
        """The variance of the values so far; 0 without any, or where it is rounding alone."""
        if not self._count:
            return 0.0
        found = self._squares / self._count
        return found if found > (ROUNDING * self._mean) ** 2 else 0.0
