"""What every solver of a dual quadratic program hands back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Solution:
    """A point of the dual problem and how far it is from the answer."""

    alpha: NDArray[np.float64]
    """The dual variables, shape (n,), each within [0, C_i]."""
    gradient: NDArray[np.float64]
    """Q alpha + p at `alpha`, shape (n,), summed from scratch in float64."""
    objective: float
    """0.5 alpha'Q alpha + p'alpha, which is minimised."""
    violation: float
    """Box: largest absolute projected gradient. Equality: m(alpha) - M(alpha), at least 0."""
    n_iter: int
    """Steps of two variables that were taken."""
    converged: bool
    """Whether `violation` is at most the tolerance asked for."""
    bias: float
    """The offset b of the decision value f + b (LIBSVM's -rho); 0 for the box problem."""
