"""The weights of a growing basis: chosen one by one, optimised together by Newton's method."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix, stacked

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

_NEWTON_STEPS = 50
_LINE_STEPS = 30


class Everywhere(Protocol):
    """Calls a method of every `BasisRows`, in the order of the rows."""

    def __call__(self, method: str, *arguments: Any) -> list[Any]:
        """Return what each returned."""


class Machine:
    """The basis, its weights, and the Hessian: all that is not a matter of rows.

    A bias is the first weight: that of a column of ones, with a row of zeros in K.
    """

    def __init__(self, everywhere: Everywhere, kernel: Kernel, most: int, intercept: bool) -> None:
        self.everywhere, self.kernel, self.offset = everywhere, kernel, int(intercept)
        self.basis: list[int] = []
        self.Z: Rows | None = None
        self.weights = np.zeros(self.offset)
        self._room = np.zeros((most + self.offset, most + self.offset))
        self.hessian = np.zeros((0, 0))
        self.objective = float(self.sum("along", 0.0)[0])
        self.objectives = [self.objective]
        self.n_iter = 0

    def sum(self, method: str, *arguments: Any) -> Any:
        """Add up what the rows return, in their order: the same whatever worked on them."""
        total = sum(self.everywhere(method, *arguments))
        if not np.isfinite(total).all():
            raise InputError("the kernel has values that are not finite: see the data.")
        return total

    @property
    def gram(self) -> NDArray[np.float64]:
        """The kernel matrix of the basis."""
        return self._room[: len(self.weights), : len(self.weights)]

    def rows(self, chosen: Index) -> Rows:
        """Fetch rows by number, in the order asked for."""
        order = np.argsort(chosen)
        ascending = stacked(self.everywhere("rows", chosen[order]))
        return ascending[np.argsort(order)]

    def extend(self, chosen: Index, weights: Vector) -> None:
        """Make rows the basis, with weights (that of a bias first)."""
        Z = self.rows(chosen)
        self.everywhere("extend", Z)
        self._grow(chosen.tolist(), Z)
        if weights.any():
            self.everywhere("aim", weights)
            self.everywhere("move", 1.0)
            self.weights = weights.copy()
            loss = float(self.sum("along", 0.0)[0])
            self.objective = loss + 0.5 * float(weights @ (self.gram @ weights))
            self.objectives = [self.objective]

    def take(self, row: int, place: int, Z: Rows) -> None:
        """Make a candidate a basis vector, with the best weight for it alone."""
        self.everywhere("take", place)
        self._grow([row], Z)
        step = np.zeros(len(self.weights))
        step[-1] = 1.0
        self._search(step, None)
        self.objectives.append(self.objective)

    def optimise(self, enough: float) -> None:
        """Optimise all weights, until the Newton decrement is a small part of the objective."""
        for _ in range(_NEWTON_STEPS):
            if len(self.weights) == 0:
                return
            gradient = self.gram @ self.weights + self.sum("gradient")
            change = self.sum("hessian_change")
            old = len(self.hessian)
            change[:old, :old] += self.hessian
            self.hessian = change
            step = -solve_definite(self.gram + self.hessian, gradient)
            if -(gradient @ step) <= enough * self.objective:
                break
            self.everywhere("aim", step)
            before = self.objective
            self._search(step, 1.0)
            self.n_iter += 1
            if not self.objective < before:
                break
        self.objectives.append(self.objective)

    def _grow(self, chosen: list[int], Z: Rows) -> None:
        self.basis += chosen
        self.Z = Z if self.Z is None else stacked([self.Z, Z])
        old = len(self.weights)
        self.weights = np.append(self.weights, np.zeros(len(chosen)))
        K = self.gram
        K[old:, self.offset :] = kernel_matrix(self.kernel, Z, self.Z, dtype=np.float64)
        K[:old, old:] = K[old:, :old].T

    def _search(self, step: Vector, t: float | None) -> None:
        """Go along the direction to where the objective, convex in t, is least.

        Its slope rises piecewise linearly: Newton's method in t, kept within the interval in
        which the slope changes its sign.
        """
        linear = float(step @ (self.gram @ self.weights))
        square = float(step @ (self.gram @ step))
        regular = 0.5 * float(self.weights @ (self.gram @ self.weights))
        value, slope, curvature = self.sum("along", 0.0) + np.array([regular, linear, square])
        steepest, low, high = abs(slope), 0.0, np.inf
        sign = -1.0 if slope > 0.0 else 1.0
        reached, best = 0.0, value
        t = sign * abs(slope) / max(curvature, 1e-300) if t is None else t
        for _ in range(_LINE_STEPS):
            added = (regular + t * linear + 0.5 * t * t * square, linear + t * square, square)
            value, slope, curvature = self.sum("along", t) + added
            if value < best:
                reached, best = t, value
            if abs(slope) <= 1e-3 * steepest:
                break
            if sign * slope < 0.0:
                low = abs(t)
            else:
                high = abs(t)
            t = abs(t) - sign * slope / max(curvature, 1e-300)
            if not low < t < high:
                t = 0.5 * (low + high) if high < np.inf else 2.0 * low
            t *= sign
        self.everywhere("move", reached)
        self.weights += reached * step
        self.objective = float(best)


def solve_definite(hessian: NDArray[np.float64], gradient: Vector) -> Vector:
    """Solve with a matrix that is positive definite but for rounding and repeated rows."""
    diagonal = hessian.diagonal().copy()
    ridge = 1e-14 * float(diagonal.max(initial=0.0))
    while True:
        hessian[np.diag_indices_from(hessian)] = diagonal + ridge
        try:
            return cho_solve(cho_factor(hessian, lower=True), gradient)
        except LinAlgError:
            ridge = max(100.0 * ridge, 1e-300)
