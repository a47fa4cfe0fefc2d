"""What cutting planes keep between iterations, and what they hand back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Step:
    """One iteration."""

    iteration: int
    """From 1."""
    objective: float
    """F(w_b)."""
    bound: float
    """F_t(w_t), below the least objective."""
    gap: float
    """Their difference: an upper bound on how far F(w_b) is from the least objective."""
    output: float
    """Seconds of the outputs of w_t."""
    line_search: float
    """Seconds of the line search and of F(w_b)."""
    cut: float
    """Seconds of the new plane."""
    reduced: float
    """Seconds of the reduced problem."""


@dataclass(frozen=True, slots=True)
class State:
    """All that an iteration needs of those before it, of n rows, d features and t planes."""

    planes: Vector
    """a_i, shape (t, d + 1)."""
    offsets: Vector
    """b_i, shape (t,)."""
    gram: Vector
    """a_i'a_j, shape (t, t)."""
    alpha: Vector
    """The solution of the last reduced problem, with 0 for the newest plane, shape (t,)."""
    idle: NDArray[np.int64]
    """For how many iterations each plane has been inactive, shape (t,)."""
    w: Vector
    """w_b, with the weight of the constant last, shape (d + 1,)."""
    outputs: Vector
    """w_b'x of each row, shape (n,)."""
    objective: float
    """F(w_b)."""
    bound: float
    """The largest F_t(w_t) so far."""
    iteration: int
    """How many iterations are done."""

    @classmethod
    def start(cls, shape: tuple[int, int], objective: float) -> State:
        """Return the state before the first iteration: w = 0 and no plane."""
        n, width = shape
        none, zero = np.zeros(0), np.zeros(width)
        planes, gram, idle = np.zeros((0, width)), np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
        return cls(planes, none, gram, none, idle, zero, np.zeros(n), objective, 0.0, 0)


@dataclass(frozen=True, slots=True)
class CuttingSolution:
    """A linear SVM by cutting planes and how far it is from the best one."""

    w: Vector
    """The weights, shape (d,)."""
    b: float
    """The offset of the decision value w'x + b: what the appended constant contributes; else 0."""
    objective: float
    """The primal objective, with outputs computed from scratch."""
    bound: float
    """A lower bound on the least objective."""
    n_iter: int
    """Iterations, those before a resume included."""
    converged: bool
    """Whether the gap is within the tolerance asked for."""
    history: tuple[Step, ...]
    """The iterations of this call."""
    state: State
    """To go on from."""

    @property
    def gap(self) -> float:
        """An upper bound on how far the objective is from the least one."""
        return self.objective - self.bound
