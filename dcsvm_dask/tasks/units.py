"""Targets centred and scaled, so that solvers see numbers of the size of one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

MOST_TARGET = 1e100
"""Largest size of a target: its square is a float64."""


@dataclass(frozen=True, slots=True)
class Units:
    """z = unit z' + centre: the problem of z' has C / unit, epsilon / unit and tol / unit.

    Its solution is beta / unit, its gradient F / unit, its objective that of z divided by the
    square of the unit. A squared loss keeps its C. The unit is a power of two, so that dividing by
    it is exact.

    Attributes
    ----------
    centre : float
        0 without a bias, which a shift of the targets would need.
    unit : float
    """

    centre: float
    unit: float

    @classmethod
    def of(cls, targets: Vector, *, centred: bool) -> Units:
        """Return units in which targets have about the size of one.

        Parameters
        ----------
        targets : ndarray, shape (n,), float64
            At most `MOST_TARGET` in size.
        centred : bool
            Whether the problem has a bias, so that targets may be shifted.
        """
        centre = float(targets.mean()) if centred and len(targets) else 0.0
        spread = float(np.sqrt(np.mean((targets - centre) ** 2))) if len(targets) else 0.0
        return cls(centre, 2.0 ** math.frexp(spread)[1] if spread > 0.0 else 1.0)

    def inside(self, targets: Vector) -> Vector:
        """Return z'."""
        return (targets - self.centre) / self.unit
