"""Decisions of many classes: pairs of classes that vote, as LIBSVM and scikit-learn count."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows, kernel_products
from dcsvm_dask.models.many import ManyModel

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairsModel(ManyModel):
    """One machine for each pair of classes, the pairs (0, 1), (0, 2) to (k - 2, k - 1).

    The first class of a pair is positive. Row k of `dual_coef` belongs, of support vectors of class
    c, to the machine of c and the k-th of the other classes.
    """

    scheme: ClassVar[str] = "ovo"

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

    def sums(self, X: Rows, *, dtype: Any = np.float32, threads: int = 1) -> Vector:
        """Return the decision values of all pairs without their biases."""
        stop = np.cumsum(self.of_class)
        of_classes = [
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
        for number, (a, b) in enumerate(combinations(range(self.n_classes), 2)):
            values[:, number] = of_classes[a][:, b - 1] + of_classes[b][:, a]
        return values

    @staticmethod
    def in_doubt(values: Vector, error: float) -> NDArray[np.bool_]:
        """Return of which rows an error of decision values may change a vote."""
        return np.asarray((np.abs(values) <= error).any(axis=1))


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
