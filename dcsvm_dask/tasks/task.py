"""The contract of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks.dual import Dual

Vector = NDArray[np.float64]


class Task(Protocol):
    """What is learned of the targets."""

    @property
    def name(self) -> str:
        """Name in settings and run folders."""

    @property
    def has_classes(self) -> bool:
        """Whether targets are classes: more than two need several SVMs."""

    def targets(self, codes: NDArray[np.integer], labels: Sequence[Any]) -> NDArray[Any]:
        """Return the targets of rows, in the dtype in which a run keeps them.

        Parameters
        ----------
        codes : ndarray, shape (n,), integers
            Which of the labels each row has.
        labels : sequence of int, float or str
            Those of the data set, in its order.

        Raises
        ------
        InputError
            If the labels are no targets of this task.
        """

    def dual(self, targets: Vector, C: Vector) -> Dual:
        """Return the dual problem of some rows.

        Parameters
        ----------
        targets : ndarray, shape (n,), float64
        C : ndarray, shape (n,), float64
            Weight of each row's loss, 0 or more.
        """

    def alpha(self, beta: Vector) -> Vector:
        """Return the dual variables as the field writes them: without signs for classes."""

    def scores(self, decision: Vector, targets: Vector) -> dict[str, float]:
        """Return how good decision values are, by the names of the scores.

        Parameters
        ----------
        decision : ndarray, shape (n,), float64
            Decision values with the bias.
        targets : ndarray, shape (n,), float64
        """
