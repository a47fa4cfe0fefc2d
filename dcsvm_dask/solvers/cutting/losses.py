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
        ridge = problem.ridge[rows]
        self._arrays = dual.p, dual.lower, dual.upper, problem.epsilon[rows], ridge
        ends = np.abs(np.concatenate([dual.lower[ridge > 0.0], dual.upper[ridge > 0.0]]))
        if ((ends < UNBOUNDED) & (ends > 0.0)).any():
            raise InputError("rows of a squared loss have bounds: give no upper bound.")

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._arrays[0])

    def risk(self, outputs: Vector, rows: Span | None = None) -> float:
        """Return the sum of the losses of all rows, or some, at outputs of shape (n,)."""
        first, last = rows or (0, len(self))
        unused = np.empty(len(self))
        risk, _, _ = loops.advance(
            *self._arrays, first, last, outputs, outputs, 0.0, 0.0, unused, unused
        )
        return float(risk)

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

        The plane that touches it, slopes'o + offset, is at most the risk at any outputs o. At a
        kink its slope is the end that is farther from zero, as in (5).

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
        first, last = rows or (0, len(self))
        found = loops.advance(*self._arrays, first, last, start, end, k, share, best, slopes)
        return float(found[0]), float(found[1]), int(found[2])

    def events(
        self, start: Vector, end: Vector, low: float, high: float, rows: Span | None = None
    ) -> tuple[Vector, Vector, Vector, float, float, float]:
        """Return where the slope of the risk changes along a line; see `Events.of`."""
        first, last = rows or (0, len(self))
        at, jump, bent = np.empty((3, 2 * (last - first)))
        with np.errstate(over="ignore"):  # of a subnormal way: an event that is never met
            count, slope, bend, later = loops.events(
                *self._arrays, first, last, start, end, low, high, at, jump, bent
            )
        return at[:count], jump[:count], bent[:count], slope, bend, later
