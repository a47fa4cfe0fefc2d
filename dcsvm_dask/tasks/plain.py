"""What most tasks have in common: dual variables that are beta as it is, with one sum at most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class PlainVariables:
    """Base class of tasks without a scale of their own; nu-SVMs have one. See `Task`."""

    def total(self, C: Vector) -> float:
        """Return the sum that the variables have with a bias: zero."""
        del C
        return 0.0

    def size(self, C: Vector) -> float | None:
        """Return the largest sum of the variables' sizes: there is none."""
        del C
        return None

    def decision_scale(self, epsilon: float) -> float:
        """Return what variables and bias are divided by: 1."""
        del epsilon
        return 1.0

    def margin(self, bias: float | None, multiplier: float | None) -> float | None:
        """Return the margin that decision values are compared with: there is none."""
        del bias, multiplier
        return None

    def alpha(self, beta: Vector) -> Vector:
        """Return the dual variables, which are beta; of regression alpha - alpha* of textbooks."""
        return beta
