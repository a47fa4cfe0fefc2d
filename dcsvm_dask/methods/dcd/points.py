"""Where rounds begin: variables and sums that the round before has committed, and nodes by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.storage.run import RunFolder

DESCEND, JOIN, MEASURE, SLOPES = "descend", "join", "measure", "slopes"
"""The layers."""

Vector = NDArray[np.float64]


def name_of(layer: str, machine: int, part: int | None = None) -> str:
    """Return the name of a node for one of the SVMs, and one of the parts of the rows."""
    return f"{layer}-{machine:04d}" + ("" if part is None else f"-{part:04d}")


def variables(
    run: RunFolder, previous: str | None, machine: int, index: NDArray[np.int64]
) -> Vector:
    """Return the variables of a part where a round starts."""
    if previous is None:
        return np.zeros(len(index))
    before = run.node(previous, "commit")
    return before.read(f"alpha_{machine:04d}", slice(*ends(index)))


def sums_of(
    run: RunFolder, problem: Problem, previous: str | None, machine: int, parts: int
) -> Vector:
    """Return what each part gives to w where a round starts."""
    if previous is None:
        return np.zeros((parts, problem.X.n_features + 1))
    return run.node(previous, "commit").read(f"sums_{machine:04d}")


def moved(start: Vector, end: Vector, factor: Any) -> Vector:
    """Return variables that have gone a share of a step; all of it leads to its very end."""
    return end if factor == 1.0 else start + factor * (end - start)


def ends(index: NDArray[np.int64]) -> tuple[int, int]:
    """Return the first of consecutive variables, and the one behind the last."""
    return int(index[0]), int(index[-1]) + 1
