"""Squared losses of outputs, for solvers that minimise the primal problem over all rows.

A loss is 0.5 C_i left_i^2: `left` is how far an output lies on the wrong side, and has a derivative
wherever the loss has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.tasks.classification import checked_labels
from dcsvm_dask.tasks.regression import Regression
from dcsvm_dask.tasks.task import Task
from dcsvm_dask.tasks.vectors import vector

Vector = NDArray[np.float64]


class SquaredLoss(Protocol):
    """A squared loss along a line in the outputs: margin - t falls at a distance t."""

    def checked(self, targets: ArrayLike, C: ArrayLike, n: int) -> tuple[Vector, Vector]:
        """Return targets and weights of n rows, checked."""

    def margin(self, targets: Vector, output: Vector) -> Vector:
        """Return what tells at an output how much is left, shape (n,)."""

    def falls(self, targets: Vector, direction: Vector) -> Vector:
        """Return by how much `margin` falls along a direction, shape (n,)."""

    def left(self, margin: Vector) -> Vector:
        """Return how far outputs lie on the wrong side, 0 or more."""

    def signs(self, targets: Vector, margin: Vector) -> Vector:
        """Return in which direction an output gets better, -1 or +1, where anything is left."""


@dataclass(frozen=True, slots=True)
class SquaredHinge:
    """max(0, 1 - y o)^2 of the labels -1 and +1."""

    def checked(self, targets: ArrayLike, C: ArrayLike, n: int) -> tuple[Vector, Vector]:
        """Return labels and weights of n rows, checked."""
        return checked_labels(targets, C, n)

    def margin(self, targets: Vector, output: Vector) -> Vector:
        """Return 1 - y o."""
        return 1.0 - targets * output

    def falls(self, targets: Vector, direction: Vector) -> Vector:
        """Return by how much `margin` falls along a direction."""
        return targets * direction

    def left(self, margin: Vector) -> Vector:
        """Return how far outputs lie on the wrong side of the margin."""
        return np.maximum(margin, 0.0)

    def signs(self, targets: Vector, margin: Vector) -> Vector:
        """Return the labels."""
        del margin
        return targets


@dataclass(frozen=True, slots=True)
class SquaredTube:
    """max(0, |z - centre - o| - epsilon)^2 of real targets z."""

    epsilon: float
    centre: float = 0.0

    def checked(self, targets: ArrayLike, C: ArrayLike, n: int) -> tuple[Vector, Vector]:
        """Return targets and weights of n rows, checked."""
        weights = vector(C, "C", n)
        if (weights < 0.0).any():
            raise InputError("C holds a negative value: weights of losses are 0 or more.")
        return vector(targets, "y", n), weights

    def margin(self, targets: Vector, output: Vector) -> Vector:
        """Return z - centre - o."""
        return targets - self.centre - output

    def falls(self, targets: Vector, direction: Vector) -> Vector:
        """Return by how much `margin` falls along a direction."""
        del targets
        return direction

    def left(self, margin: Vector) -> Vector:
        """Return how far outputs lie outside of the tube."""
        return np.maximum(np.abs(margin) - self.epsilon, 0.0)

    def signs(self, targets: Vector, margin: Vector) -> Vector:
        """Return on which side of the targets outputs lie."""
        del targets
        return np.sign(margin)


SQUARED_HINGE = SquaredHinge()


def squared_loss(task: Task) -> SquaredLoss:
    """Return the squared loss of a task: of classes, or of regression.

    Raises
    ------
    InputError
        If the task has another loss.
    """
    if task.has_classes:
        return SQUARED_HINGE
    if isinstance(task, Regression) and task.squared:
        return SquaredTube(task.epsilon, task.centre)
    what = f"regression with the loss {task.loss}" if isinstance(task, Regression) else task.name
    raise InputError(
        f"loss: there are squared losses only here, got {what}; give task regression the loss "
        "squared_epsilon_insensitive, or take another method"
    )
