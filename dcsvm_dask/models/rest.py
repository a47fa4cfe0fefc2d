"""Decisions of many classes: each class against the rest; the largest decision value wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, kernel_products
from dcsvm_dask.models.many import ManyModel

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RestModel(ManyModel):
    """One machine for each class, in their order, to which all others are negative.

    Row k of `dual_coef` belongs to class k's machine.
    """

    scheme: ClassVar[str] = "ovr"

    def weights(self) -> Vector:
        """Return the weights of the features in each class's machine, for the linear kernel.

        Returns
        -------
        ndarray, shape (n_classes, n_features), float64
        """
        return np.asarray(self.dual_coef @ self.support.astype(np.float64))

    def sums(self, X: Rows, *, dtype: Any = np.float32, threads: int = 1) -> Vector:
        """Return the decision values of all classes without their biases."""
        return kernel_products(
            self.kernel, X, self.support, self.dual_coef.T, dtype=dtype, threads=threads
        )

    @staticmethod
    def in_doubt(values: Vector, error: float) -> NDArray[np.bool_]:
        """Return of which rows an error of decision values may change the largest one."""
        best = np.partition(values, -2, axis=1)[:, -2:]
        return np.asarray(best[:, 1] - best[:, 0] <= 2.0 * error)
