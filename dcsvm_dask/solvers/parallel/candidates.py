"""The variables of a share that violate most, which is all that a choice needs to know of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
Index = NDArray[np.int64]
Ranked = tuple[Vector, Index]
"""Values from the largest on, equal ones by variable; and the variables."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The variables that would gain most by rising, and those by falling.

    Attributes
    ----------
    rising : tuple of Ranked
        By minus the slope of the objective, of variables below their upper bound: one entry, or two
        where negative and positive variables have sums of their own.
    falling : tuple of Ranked
        By the slope, of variables above their lower bound.
    """

    rising: tuple[Ranked, ...]
    falling: tuple[Ranked, ...]

    @property
    def by_sign(self) -> bool:
        """Whether negative and positive variables stand apart."""
        return len(self.rising) > 1


def candidates_of(
    gradient: Vector, beta: Vector, dual: Dual, *, start: int, most: int
) -> Candidates:
    """Return the candidates of some variables.

    Parameters
    ----------
    gradient, beta : ndarray, shape (n,), float64
        Of variables start to start + n.
    dual : Dual
        Their problem.
    start : int
    most : int
        Variables of each kind.
    """
    if dual.spare == 0.0:
        rising, falling = [], []
        for sign in (-1.0, 1.0):
            mine = (dual.lower < 0.0 if sign < 0.0 else dual.upper > 0.0) & (sign * beta >= 0.0)
            rises = mine & (beta < (dual.upper if sign > 0.0 else 0.0))
            falls = mine & (beta > (dual.lower if sign < 0.0 else 0.0))
            rising.append(_ranked(-gradient, rises, start, most))
            falling.append(_ranked(gradient, falls, start, most))
        return Candidates(tuple(rising), tuple(falling))
    dual = dual.eased(0.0)
    up, down = dual.slopes(gradient, beta)
    return Candidates(
        (_ranked(-up, beta < dual.upper, start, most),),
        (_ranked(down, beta > dual.lower, start, most),),
    )


def merged(found: Sequence[Candidates], most: int) -> Candidates:
    """Return the candidates of several shares together.

    Parameters
    ----------
    found : sequence of Candidates
    most : int
        Variables of each kind.
    """
    if len(found) == 1:
        return found[0]
    return Candidates(
        tuple(_together(lists, most) for lists in zip(*(one.rising for one in found), strict=True)),
        tuple(
            _together(lists, most) for lists in zip(*(one.falling for one in found), strict=True)
        ),
    )


def _ranked(values: Vector, allowed: NDArray[np.bool_], start: int, most: int) -> Ranked:
    index = np.flatnonzero(allowed)
    if len(index) > most:
        # Equal values at the border come by variable, as in an order of all.
        border = np.partition(values[index], len(index) - most)[len(index) - most]
        index = index[values[index] >= border]
    order = np.argsort(-values[index], kind="stable")[:most]
    return values[index[order]], index[order] + start


def _together(lists: Sequence[Ranked], most: int) -> Ranked:
    values = np.concatenate([one[0] for one in lists])
    index = np.concatenate([one[1] for one in lists])
    order = np.lexsort((index, -values))[:most]
    return values[order], index[order]
