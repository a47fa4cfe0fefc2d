"""A task's share of a level, and the gathered solutions of its blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.storage.node import Record

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """The share of a task in the blocks of a level.

    Attributes
    ----------
    slot, slots : int
        The task and the number of tasks; see `BlockTable.of_slot`.
    below : str or None
        The stage of the level below, whose solution is the warm start; None: zero.
    tol : float
        Tolerance of each block.
    """

    slot: int
    slots: int
    below: str | None
    tol: float


@dataclass(frozen=True, slots=True)
class Gathered:
    """The solutions of all blocks of a level.

    Attributes
    ----------
    support : ndarray of int64, shape (n_support,)
        Variables that are support vectors, in the order of the model; see `Model`.
    coef, counts, bias : ndarray
        Coefficients, counts and biases of the model.
    record : dict
        Sums over the blocks and, for a single SVM, the bias.
    class_rows : ndarray, shape (n_blocks, n_classes), int64, or None
        Training rows of each class in each block, for more than two classes.
    """

    support: Index
    coef: Vector
    counts: Index
    bias: Vector
    record: dict[str, Any] | Record
    class_rows: Index | None = None
