"""What every solver of a dual quadratic program returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class Solution:
    """A point of the dual problem and how far it is from the answer."""

    beta: NDArray[np.float64]
    """The dual variables, shape (n,), within their bounds; for classes y_i alpha_i."""
    gradient: NDArray[np.float64]
    """K beta + p at `beta`, shape (n,), summed in float64: of a start whose gradient was given only
    what has changed since."""
    objective: float
    """0.5 beta'K beta + p'beta, which is minimised."""
    violation: float
    """Box: largest absolute projected gradient. Equality: m(beta) - M(beta), at least 0."""
    n_iter: int
    """Steps of two variables that were taken."""
    converged: bool
    """Whether `violation` is at most the tolerance asked for."""
    bias: float
    """The bias b of the decision value f + b (LIBSVM's -rho); 0 for the box problem."""
    inner: tuple[str, ...] = ("smo",)
    """The inner solvers that were at work, in turn."""
    fallbacks: int = 0
    """Working sets that a named inner solver did not finish, so that SMO went on with them."""
