"""Starts whose variables have the sums that a problem asks for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers.inner.signs import by_signs
from dcsvm_dask.tasks import Dual, Task

Vector = NDArray[np.float64]

EXACT = 1e-12
"""Share of the size by which it may be missed: rounding."""


def brought_to_task(
    beta: Vector, dual: Dual, task: Task, C: Vector, gradient: Vector, *, share: float = 1.0
) -> Vector:
    """Return variables with the sum that a task asks for, or with those of each sign.

    Parameters
    ----------
    beta : ndarray, shape (n,), float64
    dual : Dual
    task : Task
        With `Task.has_sum`.
    C : ndarray, shape (n,), float64
        Weights of the losses.
    gradient : ndarray, shape (n,), float64
        As for `brought_to_sums`.
    share : float, default 1.0
        So much of the sums, in (0, 1].

    Raises
    ------
    InputError
        If the bounds do not allow it.
    """
    size = task.size(C)
    if size is None:
        return brought_to_sums(beta, dual, [share * task.total(C)], gradient)
    return brought_to_size(beta, dual, share * size, gradient)


def brought_to_sums(beta: Vector, dual: Dual, totals: list[float], gradient: Vector) -> Vector:
    """Return variables with given sums: those move that raise the objective least.

    Parameters
    ----------
    beta : ndarray, shape (n,), float64
        Within the bounds.
    dual : Dual
    totals : list of float
        The sum of each group.
    gradient : ndarray, shape (n,), float64
        Gradient of the objective, by which variables are ordered.

    Raises
    ------
    InputError
        If the bounds of a group do not allow its sum.
    """
    beta = beta.copy()
    for mine, wanted in zip(dual.groups, totals, strict=True):
        missing = wanted - float(beta[mine].sum())
        ends = dual.upper[mine] if missing > 0.0 else dual.lower[mine]
        slope = gradient[mine] if missing > 0.0 else -gradient[mine]
        order = np.argsort(slope, kind="stable")
        room = np.abs(ends - beta[mine])[order]
        before = np.cumsum(room) - room
        moved = np.clip(abs(missing) - before, 0.0, room)
        if moved.sum() < abs(missing) * (1.0 - 1e-9) - EXACT * abs(wanted):
            raise InputError("the bounds do not allow the sum of the variables: nu is too large.")
        values = beta[mine]
        values[order] = np.where(
            moved == room, ends[order], values[order] + np.copysign(moved, missing)
        )
        beta[mine] = values
    return beta


def brought_to_size(beta: Vector, dual: Dual, size: float, gradient: Vector) -> Vector:
    """Return variables whose negative and positive ones have half of a size each.

    Less where the bounds leave no more: a single row of regression has no other to balance it.

    Parameters
    ----------
    beta, dual, gradient
        As for `brought_to_sums`; with `Dual.spare`.
    size : float
        Sum of abs(beta).
    """
    index, grouped = by_signs(dual)
    half, reached = 0.5 * size, -1.0
    while True:
        start = grouped.clip(beta[index])
        of_signs = brought_to_sums(start, grouped, [-half, half], gradient[index])
        beta = np.zeros(len(dual))
        np.add.at(beta, index, of_signs)
        # What a row has of both signs is nothing: the rest is brought from there, if there is room.
        before, reached = reached, float(np.abs(beta).sum())
        if reached >= (1.0 - EXACT) * size or reached <= before:
            return beta
