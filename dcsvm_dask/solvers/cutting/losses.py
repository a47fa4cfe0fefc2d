"""The loss of each row as a convex function of its output o = w'x, from the task's dual problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers.cutting import loops
from dcsvm_dask.solvers.linear.problem import SignedProblem
from dcsvm_dask.tasks.dual import UNBOUNDED

Vector = NDArray[np.float64]
Span = tuple[int, int]
"""The first of some rows, and the one behind the last."""


class Losses:
    """The losses of rows at their outputs, C_i included, and their derivatives.

    With g = o + p a loss is the largest -b g - epsilon |b| - D b^2 / 2 over lower <= b <= upper. It
    is zero where |g| <= epsilon. Where g < -epsilon it rises at the rate `upper`, where
    g > epsilon at the rate -`lower`; a row with a ridge has the square of its excess over 2 D.

    Parameters
    ----------
    problem : SignedProblem
        The problem of the rows.
    rows : slice, optional
        Which rows; all by default.
    """

    def __init__(self, problem: SignedProblem, rows: slice = slice(None)) -> None:
        dual = problem.dual[rows]
        ridge, epsilon = problem.ridge[rows], problem.epsilon[rows]
        ends = np.abs(np.concatenate([dual.lower[ridge > 0.0], dual.upper[ridge > 0.0]]))
        if ((ends < UNBOUNDED) & (ends > 0.0)).any():
            raise InputError("rows of a squared loss have bounds: give no upper bound.")
        self._n = len(dual.p)
        rises, falls = -dual.lower, dual.upper
        if ((rises > 0.0) & (falls > 0.0)).any():
            sides = [(np.full(self._n, -1.0), falls), (np.ones(self._n), rises)]
        else:  # a side each, as classes have it
            sides = [(np.where(falls > 0.0, -1.0, 1.0), np.maximum(falls, rises))]
        self._faces = [
            (
                side,
                side * dual.p - epsilon,
                np.where(ridge > 0.0, 0.0, cost),
                np.divide(1.0, ridge, out=np.zeros(self._n), where=(ridge > 0.0) & (cost > 0.0)),
            )
            for side, cost in sides
        ]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._n

    def risk(self, outputs: Vector) -> float:
        """Return the sum of the losses of all rows at outputs of shape (n,)."""
        unused = np.empty((2, self._n))
        return self.advance(outputs, outputs, 0.0, 0.0, *unused)[0]

    def advance(
        self,
        start: Vector,
        end: Vector,
        k: float,
        share: float,
        best: Vector,
        slopes: Vector,
        rows: Span | None = None,
    ) -> tuple[float, float, int]:
        """Move along the line between the outputs at two points, and touch the risk near there.

        The plane that touches it, slopes'o + offset, is at most the risk at any outputs o. Where a
        loss begins its slope is the loss', as in (5).

        Parameters
        ----------
        start, end : array, shape (n,), float64
            Outputs at the two points.
        k : float
            How far to move, in units of the way between them.
        share : float
            How far to go on, from there to `end`, to where the plane touches the risk.
        best, slopes : array, shape (n,), float64
            What is overwritten: outputs at k, and derivatives of losses where the plane touches.
        rows : (int, int), optional
            Which rows to do it for; all by default.

        Returns
        -------
        risk, offset : float
            The risk at k and the plane's offset.
        losing : int
            Rows with a loss at k.
        """
        first, last = rows or (0, self._n)
        slopes[first:last] = 0.0
        risk, offset, losing = 0.0, 0.0, 0
        for face in self._faces:
            found = loops.advance(*face, first, last, start, end, k, share, best, slopes)
            risk, offset, losing = risk + found[0], offset + found[1], losing + found[2]
        return risk, offset, losing

    def slopes_at(
        self, start: Vector, end: Vector, k: float, rows: Span | None = None
    ) -> tuple[float, float]:
        """Return the slope of the risk along a line, from the right of k, and its own slope."""
        first, last = rows or (0, self._n)
        each = [loops.line_slopes(*face, first, last, start, end, k) for face in self._faces]
        slope, bend = np.sum(each, axis=0)
        return float(slope), float(bend)

    def events(
        self, start: Vector, end: Vector, low: float, high: float, rows: Span | None = None
    ) -> tuple[Vector, Vector, Vector]:
        """Return where the slope of the risk changes along a line; see `Events.of`."""
        first, last = rows or (0, self._n)
        found = []
        for face in self._faces:
            # One more, in which what is no event may end.
            arrays = np.empty((3, last - first + 1))
            count = loops.events(*face, first, last, start, end, low, high, *arrays)
            found.append(arrays[:, :count])
        at, jump, bent = found[0] if len(found) == 1 else np.concatenate(found, axis=1)
        return at, jump, bent
