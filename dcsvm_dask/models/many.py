"""Machines of many classes over support vectors that they share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, is_sparse
from dcsvm_dask.models.model import rounding
from dcsvm_dask.solvers import coefficient_rows, machines_of

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ManyModel(ABC):
    """Machines of two classes each, by which many are told apart.

    Attributes
    ----------
    support : Rows, shape (n_support, n_features), float32
        Class after class.
    dual_coef : ndarray, shape (n_coefficients, n_support), float64
        y_i alpha_i of the support vectors; row k of one of class c belongs to the machine that
        `dcsvm_dask.solvers.Machine.place` says.
    of_class : ndarray, shape (n_classes,), int64
        Support vectors of each class.
    bias : ndarray, shape (n_machines,), float64
        In the order of `dcsvm_dask.solvers.machines_of`.
    """

    kernel: Kernel
    support: Rows
    dual_coef: NDArray[np.float64]
    of_class: NDArray[np.int64]
    bias: Vector

    scheme: ClassVar[str]
    """Which machines there are: "ovo" or "ovr"."""

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return int(self.support.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features of the rows that it decides."""
        return int(self.support.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.of_class)

    @property
    def is_sparse(self) -> bool:
        """Whether the support vectors are CSR."""
        return is_sparse(self.support)

    def any_row(self) -> Rows:
        """Return a row that it can decide."""
        return self.support[:1]

    def check(self) -> None:
        """Refuse arrays that cannot be a model.

        Raises
        ------
        InputError
            If shapes do not fit to each other or a number is not finite.
        """
        k, n = self.n_classes, self.n_support
        wrong = None
        if k < 2 or (self.of_class < 0).any() or self.of_class.sum() != n:
            wrong = f"{n} support vectors, of classes {self.of_class.tolist()}"
        elif self.dual_coef.shape != (coefficient_rows(k, self.scheme), n):
            wrong = f"coefficients of shape {self.dual_coef.shape} for {k} classes"
        elif self.bias.shape != (len(machines_of(k, self.scheme)),):
            wrong = f"{self.bias.size} biases for {k} classes"
        elif not (np.isfinite(self.dual_coef).all() and np.isfinite(self.bias).all()):
            wrong = "a coefficient or a bias is not finite"
        if wrong is not None:
            raise InputError(f"not a model: {wrong}")

    def decide(self, X: Rows, *, dtype: Any = np.float32, threads: int = 1) -> Vector:
        """Return the decision values of all machines; above 0 means a machine's positive class.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, n_features), float32
        dtype : float32 or float64
            Precision of kernel values. Rows that float32 leaves in doubt about their class are
            decided again in float64.
        threads : int, default 1

        Returns
        -------
        ndarray, shape (n, n_machines), float64
        """

        def values(rows: Rows, dtype: Any) -> Vector:
            return self.sums(rows, dtype=dtype, threads=threads) + self.bias

        return decided(values, self.in_doubt, X, self.rounding(X), dtype)

    def rounding(self, X: Rows) -> float:
        """Return what rounding of kernel values to float32 may change a decision value by."""
        of_rows = [rounding(self.kernel, X, self.support, row) for row in self.dual_coef]
        return 2.0 * max(of_rows, default=0.0)

    @abstractmethod
    def weights(self) -> Vector:
        """Return the weights of the features in all machines, for the linear kernel."""

    @abstractmethod
    def sums(self, X: Rows, *, dtype: Any = np.float32, threads: int = 1) -> Vector:
        """Return the decision values of all machines without their biases."""

    @staticmethod
    @abstractmethod
    def in_doubt(values: Vector, error: float) -> NDArray[np.bool_]:
        """Return of which rows an error of decision values may change the class."""


def decided(
    values: Callable[[Rows, Any], Vector],
    in_doubt: Callable[[Vector, float], NDArray[np.bool_]],
    X: Rows,
    error: float,
    dtype: Any,
) -> Vector:
    """Return decision values in a precision, those of rows in doubt in float64."""
    found = values(X, dtype)
    if dtype == np.float32 and len(found) and error > 0.0:
        unsure = np.flatnonzero(in_doubt(found, error))
        if len(unsure):
            found[unsure] = values(X[unsure], np.float64)
    return found
