"""Squared losses of the rows of a linear SVM, for primal solvers.

At the output f of a row, g = f + p, its loss is
0.5 rise max(0, -g - epsilon)^2 + 0.5 fall max(0, g - epsilon)^2: the conjugate of its part of a
`Dual`. Minus its derivative is the best dual variable b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers.linear.loops import OPTIONS
from dcsvm_dask.solvers.linear.problem import SignedProblem
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]

_u = np.uintp
FLAGS = {"contract", "reassoc", "nsz"}
# Bounds of squared losses are out of reach.
_FAR = 1e20


@dataclass(frozen=True, slots=True)
class SquaredLosses:
    """The losses of all rows."""

    problem: SignedProblem
    """Their dual problem."""
    arrays: tuple[Vector, Vector, Vector, Vector]
    """What compiled code takes of them: p, epsilon, rise, fall."""

    @classmethod
    def of(cls, n: int, dual: Dual, constant: float) -> SquaredLosses:
        """Check what a caller gave to a solver of n rows."""
        if dual.ridge is None:
            raise InputError(
                "the loss has no second derivative: give a squared loss, or solve the dual problem."
            )
        if n != len(dual):
            raise InputError(f"X has {n} rows and y {len(dual)} targets: give one for each row.")
        problem = SignedProblem.of(dual, constant, None)
        dual = problem.dual
        bounds = np.maximum(-dual.lower, dual.upper)
        if ((bounds > 0.0) & (bounds < _FAR)).any():
            raise InputError("the dual variables have bounds: give the dual of a squared loss.")
        weights = np.divide(1.0, problem.ridge, out=np.zeros(n), where=problem.ridge > 0.0)
        rise, fall = (np.where(bound != 0.0, weights, 0.0) for bound in (dual.upper, dual.lower))
        return cls(problem, (dual.p, problem.epsilon, rise, fall))


@njit(**OPTIONS)
def response(g: Any, epsilon: Any, rise: Any, fall: Any) -> tuple[float, float]:
    """Return minus the derivative of a row's loss, and the second derivative."""
    below = -g - epsilon
    above = g - epsilon
    b = rise * max(below, 0.0) - fall * max(above, 0.0)
    return b, (rise if below > 0.0 else 0.0) + (fall if above > 0.0 else 0.0)


@njit(**OPTIONS)
def loss(g: Any, epsilon: Any, rise: Any, fall: Any) -> float:
    """Return a row's loss."""
    below = max(-g - epsilon, 0.0)
    above = max(g - epsilon, 0.0)
    return 0.5 * (rise * below * below + fall * above * above)


@njit(**OPTIONS, fastmath=FLAGS)
def respond(p: Any, epsilon: Any, rise: Any, fall: Any, f: Any, b: Any, h: Any) -> float:
    """Return the sum of the losses at f.

    Writes minus the derivative of each row's loss to `b`, its second derivative to `h`.
    """
    lost = 0.0
    for i in range(_u(f.shape[0])):
        b[i], h[i] = response(f[i] + p[i], epsilon[i], rise[i], fall[i])
        lost += loss(f[i] + p[i], epsilon[i], rise[i], fall[i])
    return lost


@njit(**OPTIONS, fastmath=FLAGS)
def slope(
    p: Any, epsilon: Any, rise: Any, fall: Any, f: Any, along: Any, t: Any
) -> tuple[float, float]:
    """Return the first and second derivative of the losses at f + t along, with respect to t."""
    first = 0.0
    second = 0.0
    for i in range(_u(f.shape[0])):
        b, h = response(f[i] + t * along[i] + p[i], epsilon[i], rise[i], fall[i])
        first -= b * along[i]
        second += h * along[i] * along[i]
    return first, second
