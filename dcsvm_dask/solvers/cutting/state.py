"""What cutting planes keep between iterations, and what they return."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.solvers.cutting.reduced import solve_reduced

Vector = NDArray[np.float64]
# The reduced problem is solved to this share of the gap.
_REDUCED = 0.1
# A smaller gap, as a share of the objective at w = 0, is rounding.
_ROUNDING = 1e-12
# A plane that has been inactive for so many iterations is dropped.
_PATIENCE = 50
# ... once those are an eighth: the others are copied then.
_KEPT = 0.875
# Room for planes, in those that are there: copies are few, and memory is not touched before.
_ROOM = 2


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


@dataclass(slots=True)
class Stack:
    """Rows with room for more below them; a row that has been taken is never written again."""

    rows: Vector
    """Shape (room, d + 1)."""
    used: int
    """How many of them have been taken."""

    def with_one_more(self, count: int, row: Vector) -> Vector | None:
        """Return the first rows and a new one below them.

        None: another one is there, for somebody else has gone on from the first rows, or there is
        no room.
        """
        if count != self.used or count == len(self.rows):
            return None
        self.rows[count] = row
        self.used += 1
        return self.rows[: count + 1]


@dataclass(frozen=True, slots=True)
class Planes:
    """The cutting planes and what they have led to, of d features and t planes.

    It is all that an iteration needs of those before it, but for what rows can give again.
    """

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
    at_zero: float
    """F(0)."""
    objective: float
    """F(w_b)."""
    bound: float
    """The largest F_t(w_t) so far."""
    iteration: int
    """How many iterations are done."""
    stack: Stack | None = field(default=None, compare=False, repr=False)
    """Where the planes lie with room for more; None: nowhere but in `planes`."""

    @classmethod
    def none(cls, width: int, at_zero: float) -> Planes:
        """Return none, before the first iteration: w = 0."""
        empty, idle = np.zeros(0), np.zeros(0, dtype=np.int64)
        planes, gram, w = np.zeros((0, width)), np.zeros((0, 0)), np.zeros(width)
        return cls(planes, empty, gram, empty, idle, w, at_zero, at_zero, 0.0, 0)

    def reduced(self) -> tuple[Vector, Vector, float]:
        """Return the multipliers of the planes that solve the reduced problem, w_t and the bound.

        The problem is solved to a share of the gap. The dual value of a feasible point is a bound
        whatever the solver has reached; it does not fall from one iteration to the next.
        """
        alpha = self.alpha
        if len(alpha):
            exactness = _REDUCED * max(self.objective - self.bound, _ROUNDING * self.at_zero)
            alpha = solve_reduced(self.gram, self.offsets, alpha, exactness, self.at_zero)
        w = -(alpha @ self.planes)
        bound = float(self.offsets @ alpha - 0.5 * (w @ w))
        return alpha, w, max(self.bound, bound)

    def advanced(
        self,
        alpha: Vector,
        w: Vector,
        objective: float,
        bound: float,
        plane: Vector,
        offset: float,
    ) -> Planes:
        """Return them after an iteration, with its plane, without those that are long inactive.

        The bound stays valid without them: their multipliers are zero.

        Parameters
        ----------
        alpha : array, shape (t,), float64
            The solution of the reduced problem.
        w : array, shape (d + 1,), float64
            The new w_b.
        objective, bound : float
        plane : array, shape (d + 1,), float64
        offset : float
        """
        idle = np.where(alpha > 0.0, 0, self.idle + 1)
        kept = idle < _PATIENCE
        if np.count_nonzero(kept) > _KEPT * len(kept):
            kept[:] = True
        planes, stack = self._stacked(kept, plane)
        products = planes @ plane
        t = len(products)
        gram = np.empty((t, t))
        gram[:-1, :-1] = self.gram[np.ix_(kept, kept)]
        gram[-1], gram[:, -1] = products, products
        return Planes(
            planes,
            np.append(self.offsets[kept], offset),
            gram,
            np.append(alpha[kept], 0.0),
            np.append(idle[kept], 0),
            w,
            self.at_zero if self.iteration else objective,  # of the first one, where w is 0
            objective,
            bound,
            self.iteration + 1,
            stack,
        )

    def _stacked(self, kept: NDArray[np.bool_], plane: Vector) -> tuple[Vector, Stack]:
        """Return the planes that are kept, the newest below them, and where they lie."""
        if self.stack is not None and kept.all():
            planes = self.stack.with_one_more(len(kept), plane)
            if planes is not None:
                return planes, self.stack
        count = int(np.count_nonzero(kept))
        stack = Stack(np.empty((_ROOM * (count + 1), len(plane))), count)
        np.compress(kept, self.planes, axis=0, out=stack.rows[:count])
        planes = stack.with_one_more(count, plane)
        assert planes is not None
        return planes, stack


@dataclass(frozen=True, slots=True)
class State:
    """All that an iteration needs of those before it, of n rows."""

    planes: Planes
    outputs: Vector
    """w_b'x of each row, shape (n,)."""

    @property
    def iteration(self) -> int:
        """How many iterations are done."""
        return self.planes.iteration


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
