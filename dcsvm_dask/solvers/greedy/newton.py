"""Newton's method for the weights of a given basis, over rows that lie anywhere.

Minimises, over the weights b (that of a bias first, where there is one)::

    0.5 b'Gb + 0.5 sum_i C_i left_i(k_i'b)^2

with a `SquaredLoss`, as left_i(o) = max(0, 1 - y_i o) of the squared hinge,
k_i the kernel values of row i with the basis, after a one for the bias, and G the kernel
matrix of the basis, after a row and a column of zeros. What is a matter of rows are sums: `RowSums`
adds them up for some rows, `Newton` takes those of all. One pass over the rows takes a step, looks
how far along it is best, and gives the gradient and the change of the Hessian where it ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers.greedy.weights import solve_definite
from dcsvm_dask.tasks import SQUARED_HINGE, SquaredLoss

Vector = NDArray[np.float64]
Mask = NDArray[np.bool_]

FACTORS = 0.75 ** np.arange(16)
"""Parts of a step at which the objective is looked at, the whole of it first."""
# Of what the best of these parts gains: what the whole step has to gain to be taken.
_ENOUGH = 0.1
# Gains relative to the objective that are rounding.
_ROUNDING = 1e-14


class RowSums:
    """Sums over rows at the end of a step in the weights.

    Parameters
    ----------
    weights, step : ndarray, shape (m,)
    known : int
        For how many of the weights, the first ones, the Hessian is known at some point.
    loss : SquaredLoss, default that of classes

    Attributes
    ----------
    total : ndarray, shape (16 + m + m^2,)
        The loss at `weights` and `FACTORS` of the step; its gradient at the end of the step; and
        what its Hessian there differs by from the one known, with zeros for what is not known.
        Those of several sets of rows are to be added up.
    """

    def __init__(
        self, weights: Vector, step: Vector, known: int, loss: SquaredLoss = SQUARED_HINGE
    ) -> None:
        self._line = np.stack([weights, step], axis=1)
        self._known, self._loss = known, loss
        size = len(weights)
        self.total = np.zeros(len(FACTORS) + size + size**2)
        self._losses, self._gradient, self._change = _parts(self.total, size)

    def add(self, columns: NDArray[np.float32], y: Vector, C: Vector, before: Mask) -> Mask:
        """Add some rows.

        Parameters
        ----------
        columns : ndarray, shape (n, m), float32
            Their kernel values with the basis, after a one for the bias.
        y, C : ndarray, shape (n,)
            Targets, as labels -1 and +1; weights of the losses.
        before : ndarray of bool, shape (n,)
            Which of them had a loss where the Hessian is known.

        Returns
        -------
        active : ndarray of bool, shape (n,)
            Which of them have one at the end of the step.
        """
        wide = columns.astype(np.float64)
        output, direction = (wide @ self._line).T
        loss = self._loss
        margin, falls = loss.margin(y, output), loss.falls(y, direction)
        for i, factor in enumerate(FACTORS):
            left = loss.left(margin - factor * falls)
            self._losses[i] += 0.5 * float(C @ (left * left))
        margin = margin - falls
        left = loss.left(margin)
        active: Mask = left > 0.0
        self._gradient -= (C * loss.signs(y, margin) * left) @ wide
        root, old = np.sqrt(C), self._known
        for sign, rows in ((1.0, active & ~before), (-1.0, before & ~active)):
            if rows.any():
                known = wide[rows, :old] * root[rows, None]
                self._change[:old, :old] += sign * (known.T @ known)
        if old < len(self._gradient):
            every = wide[active] * root[active, None]
            new = every[:, old:].T @ every
            self._change[old:] += new
            self._change[:old, old:] += new[:, :old].T
        return active


@dataclass(frozen=True, slots=True)
class Newton:
    """Where the weights are, and the step that is tried next."""

    weights: Vector
    """Shape (m,)."""
    step: Vector
    """Shape (m,)."""
    objective: float
    """At the weights."""
    hessian: NDArray[np.float64]
    """Of the loss, where it was summed last; of the first weights, if others have joined since."""
    decrement: float = np.inf
    """By how much, about twice, the objective may still fall; infinite where nobody knows.

    Negative where rounding lets no step lower it.
    """
    taken: bool = False
    """Whether the step before was taken as a whole."""

    def advance(self, gram: NDArray[np.float64], total: Vector) -> Newton:
        """Take the step or, where that gains too little, try a part of it.

        Parameters
        ----------
        gram : ndarray, shape (m, m)
            The kernel matrix of the basis, with zeros for the bias.
        total : ndarray, shape (16 + m + m^2,)
            That of `RowSums`, over all rows.

        Raises
        ------
        InputError
            If the kernel has values that are not finite.
        """
        losses, gradient, change = _parts(total, len(self.weights))
        if not (np.isfinite(losses).all() and np.isfinite(gradient).all()):
            raise InputError("the kernel has values that are not finite: see the data.")
        hessian = change.copy()
        old = len(self.hessian)
        hessian[:old, :old] += self.hessian
        toward = gram @ self.step
        regular = 0.5 * float(self.weights @ (gram @ self.weights))
        linear, square = float(self.weights @ toward), float(self.step @ toward)
        values = losses + regular + FACTORS * linear + 0.5 * FACTORS**2 * square
        best = int(np.argmin(values))
        gain = self.objective - float(values[best])
        moves = bool(self.step.any())
        if moves and gain <= _ROUNDING * self.objective:
            # A Newton step that gains nothing is the end; of another, its start is as good.
            end = -1.0 if np.isfinite(self.decrement) else np.inf
            zero = np.zeros(len(self.step))
            return Newton(self.weights, zero, self.objective, hessian, end)
        if moves and self.objective - float(values[0]) < _ENOUGH * gain:
            part = FACTORS[best] * self.step
            return Newton(self.weights, part, self.objective, hessian, self.decrement)
        weights = self.weights + self.step
        slope = gram @ weights + gradient
        step = -solve_definite(gram + hessian, slope)
        decrement = max(0.0, -float(slope @ step))
        return Newton(weights, step, float(values[0]), hessian, decrement, taken=True)


def _parts(total: Vector, size: int) -> tuple[Vector, Vector, NDArray[np.float64]]:
    """Return losses, gradient and change of the Hessian as views of what `RowSums` adds up."""
    losses, gradient, change = np.split(total, np.cumsum([len(FACTORS), size]))
    return losses, gradient, change.reshape(size, size)
