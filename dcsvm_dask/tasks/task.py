"""The contract of a task."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks.dual import Dual

Vector = NDArray[np.float64]


class Task(Protocol):
    """What is learned of the targets."""

    name: ClassVar[str]
    """Name in settings and run folders."""
    has_classes: ClassVar[bool]
    """Whether targets are classes: more than two need several SVMs."""
    has_sum: ClassVar[bool]
    """Whether the variables have a given sum, not zero: levels begin with an estimated bias."""

    @property
    def centre(self) -> float:
        """What the dual problem leaves out of targets: decision values are f + bias + centre."""

    @property
    def unit(self) -> float:
        """Size of the targets in the dual problem: 1 for classes, else about their spread."""

    @property
    def has_kinks(self) -> bool:
        """Whether its dual problem has kinks, which solvers have compiled code of their own for."""

    @property
    def product_range(self) -> float | None:
        """Width of the range of beta_i beta_j where C is 1, which Theorem 1 asks for.

        The objective of separate blocks is within C^2 D(pi) / 2 times it of the best (Hsieh, Si,
        Dhillon 2014, Theorem 1, where it is 1). None: the variables have no bounds.
        """

    def targets(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the targets of rows, in the dtype in which a run keeps them.

        Parameters
        ----------
        y : ndarray, shape (n,)
            What the data set holds: codes of classes, or real targets.
        """

    def to_json(self) -> dict[str, Any]:
        """Return its parameters as JSON values, for `make_task`."""

    def dual(self, targets: Vector, C: Vector) -> Dual:
        """Return the dual problem of some rows.

        Parameters
        ----------
        targets : ndarray, shape (n,), float64
        C : ndarray, shape (n,), float64
            Weight of each row's loss, 0 or more.
        """

    def total(self, C: Vector) -> float:
        """Return the sum that the variables of all rows have where there is a bias.

        Parameters
        ----------
        C : ndarray, shape (n,), float64
            Weight of each row's loss.
        """

    def size(self, C: Vector) -> float | None:
        """Return the largest sum of the sizes of all rows' variables; None: there is none.

        It is met unless its multiplier is zero; the positive and the negative variables have one
        half each.

        Parameters
        ----------
        C : ndarray, shape (n,), float64
            Weight of each row's loss.
        """

    def decision_scale(self, epsilon: float) -> float:
        """Return what variables and bias are divided by where they decide.

        Parameters
        ----------
        epsilon : float
            The multiplier of the sum of sizes; see `Dual.eased`.
        """

    def margin(self, bias: float | None, multiplier: float | None) -> float | None:
        """Return the margin rho, in the scale of the problem that is solved; None: it has none.

        Parameters
        ----------
        bias, multiplier : float or None
            Those of a solution, as far as they are known; the multiplier is the size of that of
            the sum of sizes.
        """

    def alpha(self, beta: Vector) -> Vector:
        """Return the dual variables as the field writes them: without signs for classes."""

    def scores(self, decision: Vector, targets: Vector) -> dict[str, Any]:
        """Return how good decision values are, by the names of the scores.

        Parameters
        ----------
        decision : ndarray, shape (n,), float64
            Decision values with the bias.
        targets : ndarray, shape (n,), float64
        """
