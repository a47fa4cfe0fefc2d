"""Where a fit begins with `warm_start`: at the last solution, if that was of the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.estimators.given_rows import equal_rows
from dcsvm_dask.estimators.known_kernel import same_rows
from dcsvm_dask.estimators.variables import Variables
from dcsvm_dask.kernels import Rows
from dcsvm_dask.solvers import coefficient_rows

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class LastFit:
    """What a `DCSVC` has learned of exact SVMs, before it is fitted again."""

    classes: NDArray[Any]
    shape: tuple[int, int]
    support: NDArray[np.int32]
    support_vectors: Rows
    n_support: NDArray[np.int32]
    dual_coef: Any
    kernel: Any

    @classmethod
    def of(cls, estimator: Any) -> Self | None:
        """Return what an estimator has learned; None: nothing, or it is to start anew."""
        if not estimator.warm_start or not hasattr(estimator, "dual_coef_"):
            return None
        return cls(
            estimator.classes_,
            estimator.shape_fit_,
            estimator.support_,
            estimator.support_vectors_,
            estimator.n_support_,
            estimator.dual_coef_,
            estimator._kernel,
        )

    def alpha(
        self, X: Rows, codes: NDArray[np.int32], classes: NDArray[Any], scheme: str
    ) -> Vector | None:
        """Return the dual variables of the last fit, arranged as `dual_coef_`, for the same rows.

        Parameters
        ----------
        X : Rows, shape (n, n_features)
        codes : ndarray, shape (n,), int32
        classes : ndarray, shape (n_classes,)
        scheme : {"ovo", "ovr"}

        Returns
        -------
        ndarray, shape (n_coefficients, n), float64, or None
            None if the number of rows, the support vectors, the labels or the scheme differ.
        """
        own = np.repeat(np.arange(len(self.n_support)), self.n_support)
        same = (
            X.shape == self.shape
            and sparse.issparse(X) == sparse.issparse(self.support_vectors)
            and np.array_equal(classes, self.classes)
            and self.dual_coef.shape[0] == coefficient_rows(len(classes), scheme)
            and np.array_equal(codes[self.support], own)
            and self._has_rows(X)
        )
        if not same:
            return None
        dual = self.dual_coef.toarray() if sparse.issparse(self.dual_coef) else self.dual_coef
        found = np.zeros((len(dual), len(codes)))
        found[:, self.support] = np.abs(dual)
        return found

    def _has_rows(self, X: Rows) -> bool:
        """Return whether the support vectors are among the rows, at their places."""
        known = same_rows(X, self.kernel)
        return equal_rows(X[self.support], self.support_vectors) if known is None else known


def gathered(alpha: Vector, variables: Variables) -> Vector:
    """Return the dual variables of variables, each the sum of those of its rows."""
    kept, n = variables.of_row >= 0, len(variables.rows)
    place = variables.of_row[kept]
    return np.array([np.bincount(place, weights=one[kept], minlength=n) for one in alpha])
