"""Decisions of many classes: pairs of classes that vote, as LIBSVM and scikit-learn count."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kernel_products
from dcsvm_dask.models.model import rounding

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairsModel:
    """One machine for each pair of classes, over support vectors that they share.

    Attributes
    ----------
    support : Rows, shape (n_support, n_features), float32
        Class after class.
    dual_coef : ndarray, shape (n_classes - 1, n_support), float64
        y_i alpha_i of the support vectors of class c: row k belongs to the machine of c and the
        k-th of the other classes. The first class of a pair is positive.
    of_class : ndarray, shape (n_classes,), int64
        Support vectors of each class.
    bias : ndarray, shape (n_classes (n_classes - 1) / 2,), float64
        Of the pairs (0, 1), (0, 2) to (n_classes - 2, n_classes - 1).
    """

    kernel: Kernel
    support: Rows
    dual_coef: NDArray[np.float64]
    of_class: NDArray[np.int64]
    bias: Vector

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
        elif self.dual_coef.shape != (k - 1, n):
            wrong = f"coefficients of shape {self.dual_coef.shape} for {k} classes"
        elif self.bias.shape != (k * (k - 1) // 2,):
            wrong = f"{self.bias.size} biases for {k} classes"
        elif not (np.isfinite(self.dual_coef).all() and np.isfinite(self.bias).all()):
            wrong = "a coefficient or a bias is not finite"
        if wrong is not None:
            raise InputError(f"not a model: {wrong}")

    def decide(self, X: Rows, *, dtype: type = np.float32, threads: int = 1) -> Vector:
        """Return the decision values of all pairs; above 0 means the first class.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, n_features), float32
        dtype : float32 or float64
            Precision of kernel values. Rows that float32 leaves in doubt about a pair's vote are
            decided again in float64.
        threads : int, default 1

        Returns
        -------
        ndarray, shape (n, n_pairs), float64
        """
        values = self._decide(X, dtype, threads)
        if dtype == np.float32 and len(values) and self.support.shape[0]:
            unsure = np.flatnonzero((np.abs(values) <= self.rounding(X)).any(axis=1))
            if len(unsure):
                values[unsure] = self._decide(X[unsure], np.float64, threads)
        return values

    def rounding(self, X: Rows) -> float:
        """Return what rounding of kernel values to float32 may change a decision value by."""
        of_rows = [rounding(self.kernel, X, self.support, row) for row in self.dual_coef]
        return 2.0 * max(of_rows, default=0.0)

    def weights(self) -> Vector:
        """Return the weights of the features in each pair's machine, for the linear kernel.

        Returns
        -------
        ndarray, shape (n_pairs, n_features), float64
        """
        stop = np.cumsum(self.of_class)
        found = np.empty((len(self.bias), self.support.shape[1]))
        for number, (a, b) in enumerate(combinations(range(self.n_classes), 2)):
            one, other = (slice(stop[c] - self.of_class[c], stop[c]) for c in (a, b))
            found[number] = self.dual_coef[b - 1, one] @ self.support[one].astype(np.float64)
            found[number] += self.dual_coef[a, other] @ self.support[other].astype(np.float64)
        return found

    def _decide(self, X: Rows, dtype: type, threads: int) -> Vector:
        n_classes = self.n_classes
        stop = np.cumsum(self.of_class)
        sums = [
            kernel_products(
                self.kernel,
                X,
                self.support[last - count : last],
                self.dual_coef[:, last - count : last].T,
                dtype=dtype,
                threads=threads,
            )
            for count, last in zip(self.of_class, stop, strict=True)
        ]
        values = np.empty((X.shape[0], len(self.bias)))
        for number, (a, b) in enumerate(combinations(range(n_classes), 2)):
            values[:, number] = sums[a][:, b - 1] + sums[b][:, a] + self.bias[number]
        return values


def winners(values: Vector, n_classes: int) -> NDArray[np.int64]:
    """Return the class with the most votes; of several the first, which is LIBSVM's rule.

    Parameters
    ----------
    values : ndarray, shape (n, n_pairs)
        Above 0: a vote for the pair's first class, else for its second.

    Returns
    -------
    ndarray, shape (n,), int64
    """
    return np.asarray(np.argmax(_votes(values > 0, n_classes), axis=1))


def confidences(values: Vector, n_classes: int) -> Vector:
    """Return a value for each class: its votes, and less than half a vote by its decision values.

    scikit-learn's ``decision_function_shape="ovr"``: the sum s of a class's decision values, those
    for it less those against it, adds s / (3 (abs(s) + 1)) to its votes.

    Parameters
    ----------
    values : ndarray, shape (n, n_pairs)

    Returns
    -------
    ndarray, shape (n, n_classes), float64
    """
    votes, sums = _votes(values >= 0, n_classes), np.zeros((len(values), n_classes))
    for number, (a, b) in enumerate(combinations(range(n_classes), 2)):
        sums[:, a] += values[:, number]
        sums[:, b] -= values[:, number]
    return votes + sums / (3.0 * (np.abs(sums) + 1.0))


def _votes(first: NDArray[np.bool_], n_classes: int) -> NDArray[np.int64]:
    """Return how many pairs decide for each class; `first` says which do for their first one."""
    pairs = list(combinations(range(n_classes), 2))
    if first.shape[1] != len(pairs):
        raise InputError(f"{first.shape[1]} columns for {len(pairs)} pairs of classes.")
    counts = np.zeros((len(first), n_classes), dtype=np.int64)
    for number, (a, b) in enumerate(pairs):
        counts[:, a] += first[:, number]
        counts[:, b] += ~first[:, number]
    return counts
