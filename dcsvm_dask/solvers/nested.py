"""Nested random subsets of the variables of a dual problem, in which no sign is too rare."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks import Dual

Index = NDArray[np.int64]

LEAST_SHARE = 1 / 16
"""Share of a subset that is of the rarer sign at least, as long as there are such variables."""
POSITIVE, NEGATIVE = 1, -1


class NestedSubsets:
    """Random subsets, each a part of every larger one.

    A plain random sample of 1,000 rows has one or none of a class that is a thousandth of the data,
    and an SVM of it says nothing. So subsets are drawn by the sign that variables may have, and
    variables of both signs stand for those of the data by their own factor of C. Where bounds fix
    no signs, as for regression, subsets are plain samples.

    Parameters
    ----------
    dual : Dual
        The whole problem, n variables.
    seed : int or sequence of int
        Of the order in which variables join.
    """

    def __init__(self, dual: Dual, seed: int | Sequence[int]) -> None:
        self._dual = dual
        n = len(dual)
        self._sign = np.zeros(n, np.int8)
        self._every: dict[int, int] | None = None
        self._order = np.random.default_rng(seed).permutation(n).astype(np.int64)
        if not dual.has_fixed_signs:
            return
        self._sign[dual.upper > 0.0] = POSITIVE
        self._sign[dual.lower < 0.0] = NEGATIVE
        counts = [np.count_nonzero(self._sign == sign) for sign in (POSITIVE, NEGATIVE)]
        rare = self._sign[self._order] == (POSITIVE if counts[0] <= counts[1] else NEGATIVE)
        if np.count_nonzero(rare) < LEAST_SHARE * n:
            place = np.empty(n)
            place[rare] = np.arange(np.count_nonzero(rare)) / LEAST_SHARE
            place[~rare] = np.arange(np.count_nonzero(~rare)) / (1.0 - LEAST_SHARE)
            place[self._sign[self._order] == 0] = np.inf
            self._order = self._order[np.argsort(place, kind="stable")]

    def rows(self, size: int) -> Index:
        """Return the variables of a subset, ascending.

        Parameters
        ----------
        size : int
            Their number, at most n.
        """
        return np.sort(self._order[:size])

    def dual(self, rows: Index) -> Dual:
        """Return the problem of a subset, whose C stand for those of all variables."""
        factor = np.ones(len(rows))
        for sign, share in self.shares(rows).items():
            factor[self._sign[rows] == sign] = 1.0 / share
        return self._dual[rows].scaled(factor)

    def shares(self, rows: Index) -> dict[int, float]:
        """Return how many of all variables of each sign are in a subset, as shares."""
        if self._every is None:
            self._every = _counts(self._sign)
        return {
            sign: count / self._every[sign] for sign, count in _counts(self._sign[rows]).items()
        }

    def counts(self, rows: Index) -> dict[int, int]:
        """Return how many of some variables have each sign."""
        return _counts(self._sign[rows])


def _counts(signs: NDArray[np.int8]) -> dict[int, int]:
    counts = {sign: int(np.count_nonzero(signs == sign)) for sign in (NEGATIVE, 0, POSITIVE)}
    return {sign: count for sign, count in counts.items() if count}
