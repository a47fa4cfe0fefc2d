"""Schemes: how the SVMs of a model share its support vectors, and how their values decide.

One SVM for two classes; one-vs-one, whose SVMs vote as LIBSVM and scikit-learn count; one-vs-rest,
whose largest decision value wins.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kernel_product, kernel_products, tile_order
from dcsvm_dask.kernels.bounds import CONFIDENCE, dot_error
from dcsvm_dask.kernels.rows import squared_norms
from dcsvm_dask.solvers import coefficient_rows, labels_of_classes, machines_of

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

# Standard deviation of the error of a float32 kernel value of a shift-invariant kernel, at most.
DECAY_DEVIATION = 2.0**-18

# Fewer support vectors cost less than ordering the rows would save.
ORDER_FROM = 4096

# Error of a decision value by leaving out pairs of rows that are far apart.
FAR_PAIRS = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-9}


class Expansion(NamedTuple):
    """The SVMs of a block, or of the whole problem.

    Attributes
    ----------
    support : Rows, shape (m, n_features)
        Support vectors, group after group.
    coef : ndarray, shape (n_coefficients, m), float64
        Their coefficients.
    counts : ndarray, shape (n_groups,), int64
        Support vectors of each group.
    bias : ndarray, shape (n_svms,), float64
    """

    kernel: Kernel
    support: Rows
    coef: Vector
    counts: Index
    bias: Vector


@dataclass(frozen=True, slots=True)
class Scheme(ABC):
    """How the SVMs of a model share support vectors, and how their decision values decide.

    Attributes
    ----------
    n_classes : int
        Of `Outputs` the number of outputs.
    """

    n_classes: int

    name: ClassVar[str]

    @property
    def n_svms(self) -> int:
        """Number of SVMs, in the order of `dcsvm_dask.solvers.machines_of`."""
        return len(machines_of(self.n_classes, self.name))

    @property
    def n_coefficients(self) -> int:
        """Coefficients of a support vector, one for each SVM that it belongs to.

        `dcsvm_dask.solvers.Machine.place` has their order.
        """
        return coefficient_rows(self.n_classes, self.name)

    @property
    def n_groups(self) -> int:
        """Groups of support vectors: one for each class."""
        return self.n_classes

    @abstractmethod
    def sums(self, own: Expansion, X: Rows, *, dtype: Any = np.float32, threads: int = 1) -> Vector:
        """Return the decision values of all SVMs without their biases, shape (n, n_svms).

        Parameters
        ----------
        own : Expansion
        X : ndarray or CSR, shape (n, n_features), float32
        dtype : float32 or float64
            Precision of kernel values.
        threads : int, default 1
        """

    @abstractmethod
    def weights(self, own: Expansion) -> Vector:
        """Return the weights of features, shape (n_svms, n_features), for the linear kernel."""

    @abstractmethod
    def in_doubt(self, values: Vector, error: float) -> NDArray[np.bool_]:
        """Return the rows whose class may change by an error of decision values."""

    @abstractmethod
    def classes_of(self, values: Vector) -> Index:
        """Return the class of each row, given decision values."""

    def values_of_classes(self, values: Vector) -> Vector:
        """Return the decision values that users see: one for each class of more than two."""
        return values

    def losing(self, values: Vector, present: NDArray[np.bool_]) -> Vector:
        """Return decision values in which classes without training rows lose.

        An SVM that was trained on one of its classes alone decides for that class; one that was
        trained on neither is 0.

        Parameters
        ----------
        values : ndarray, shape (n, n_svms)
        present : ndarray of bool, shape (n_classes,)
        """
        labels = labels_of_classes(len(present), self.name)[present]
        first, second = (labels > 0).any(axis=0), (labels < 0).any(axis=0)
        return np.where(first & second, values, first.astype(float) - second)

    def rounding(self, own: Expansion, X: Rows) -> float:
        """Return a bound on the error of decision values by kernel values in float32."""
        of_rows = [rounding(own.kernel, X, own.support, row) for row in own.coef]
        return 2.0 * max(of_rows, default=0.0)

    def decide(
        self, own: Expansion, X: Rows, *, dtype: Any = np.float32, threads: int = 1
    ) -> Vector:
        """Return the decision values of all SVMs, those of rows in doubt in float64.

        Parameters
        ----------
        own : Expansion
        X : ndarray or CSR, shape (n, n_features), float32
        dtype : float32 or float64
            Precision of kernel values.
        threads : int, default 1

        Returns
        -------
        ndarray, shape (n, n_svms), float64
        """

        def values(rows: Rows, dtype: Any) -> Vector:
            return self.sums(own, rows, dtype=dtype, threads=threads) + own.bias

        if dtype != np.float32:
            return values(X, dtype)
        return self.decide_by(values, X, self.rounding(own, X))

    def decide_by(self, values: Callable[[Rows, Any], Vector], X: Rows, error: float) -> Vector:
        """Return decision values in float32, those of rows in doubt in float64.

        Parameters
        ----------
        values : callable
            Returns decision values, given rows and a dtype.
        X : Rows
        error : float
            See `rounding`.
        """
        found = values(X, np.float32)
        if len(found) and error > 0.0:
            unsure = np.flatnonzero(self.in_doubt(found, error))
            if len(unsure):
                found[unsure] = values(X[unsure], np.float64)
        return found


@dataclass(frozen=True, slots=True)
class Single(Scheme):
    """One SVM, of two classes, the second of which is positive, or of a task without classes."""

    n_classes: int = 2

    name: ClassVar[str] = "single"

    @property
    def n_svms(self) -> int:
        """Number of SVMs."""
        return 1

    @property
    def n_coefficients(self) -> int:
        """Coefficients of a support vector."""
        return 1

    @property
    def n_groups(self) -> int:
        """Groups of support vectors: all are one."""
        return 1

    def sums(
        self,
        own: Expansion,
        X: Rows,
        *,
        dtype: Any = np.float32,
        threads: int = 1,
    ) -> Vector:
        """Return the decision values without the bias, shape (n, 1); see `Scheme.sums`."""
        coef = own.coef[0]
        values = np.zeros((X.shape[0], 1))
        if coef.size == 0:
            return values
        order: slice | Index = slice(None)
        budget = 0.0
        if coef.size >= ORDER_FROM and own.kernel.is_shift_invariant and not is_sparse(X):
            order, budget = tile_order(own.kernel, X), FAR_PAIRS[np.dtype(dtype)]
        values[order, 0], _ = kernel_product(
            own.kernel, X[order], own.support, coef, dtype=dtype, budget=budget, threads=threads
        )
        return values

    def weights(self, own: Expansion) -> Vector:
        """Return the weights of features, shape (1, n_features), for the linear kernel."""
        return np.asarray(own.coef @ own.support.astype(np.float64))

    def in_doubt(self, values: Vector, error: float) -> NDArray[np.bool_]:
        """Return the rows whose sign may change by an error of decision values."""
        return np.asarray(np.abs(values[:, 0]) <= error)

    def classes_of(self, values: Vector) -> Index:
        """Return 1 where the decision value, shape (n,), is above 0, else 0."""
        return (values > 0).astype(np.int64)

    def rounding(self, own: Expansion, X: Rows) -> float:
        """Return a bound on the error of decision values by kernel values in float32."""
        return rounding(own.kernel, X, own.support, own.coef[0])


@dataclass(frozen=True, slots=True)
class OneVsOne(Scheme):
    """An SVM for each pair of classes, (0, 1), (0, 2) to (k - 2, k - 1); the first is positive.

    Row k of the coefficients of class c belongs to the SVM of c and the k-th of the other classes.
    """

    name: ClassVar[str] = "ovo"

    def sums(self, own: Expansion, X: Rows, *, dtype: Any = np.float32, threads: int = 1) -> Vector:
        """Return the decision values of all pairs without biases; see `Scheme.sums`."""
        groups = np.concatenate([[0], np.cumsum(own.counts)])
        of_classes = kernel_products(
            own.kernel, X, own.support, own.coef.T, groups=groups, dtype=dtype, threads=threads
        )
        values = np.empty((X.shape[0], len(own.bias)))
        for number, (a, b) in enumerate(combinations(range(self.n_classes), 2)):
            values[:, number] = of_classes[:, a, b - 1] + of_classes[:, b, a]
        return values

    def weights(self, own: Expansion) -> Vector:
        """Return the weights of features, shape (n_svms, n_features), for the linear kernel."""
        stop = np.cumsum(own.counts)
        found = np.empty((len(own.bias), own.support.shape[1]))
        for number, (a, b) in enumerate(combinations(range(self.n_classes), 2)):
            one, other = (slice(stop[c] - own.counts[c], stop[c]) for c in (a, b))
            found[number] = own.coef[b - 1, one] @ own.support[one].astype(np.float64)
            found[number] += own.coef[a, other] @ own.support[other].astype(np.float64)
        return found

    def in_doubt(self, values: Vector, error: float) -> NDArray[np.bool_]:
        """Return the rows of which a vote may change by an error of decision values."""
        return np.asarray((np.abs(values) <= error).any(axis=1))

    def classes_of(self, values: Vector) -> Index:
        """Return the class with the most votes, the first of several, which is LIBSVM's rule.

        Parameters
        ----------
        values : ndarray, shape (n, n_svms)
            Above 0: a vote for the pair's first class, else for its second.
        """
        return np.asarray(np.argmax(self._votes(values > 0), axis=1))

    def values_of_classes(self, values: Vector) -> Vector:
        """Return the votes of each class, with less than half a vote from decision values.

        It is scikit-learn's ``decision_function_shape="ovr"``: the sum s of a class's decision
        values, those for it less those against it, adds s / (3 (abs(s) + 1)) to its votes.

        Parameters
        ----------
        values : ndarray, shape (n, n_svms)

        Returns
        -------
        ndarray, shape (n, n_classes), float64
        """
        votes, sums = self._votes(values >= 0), np.zeros((len(values), self.n_classes))
        for number, (a, b) in enumerate(combinations(range(self.n_classes), 2)):
            sums[:, a] += values[:, number]
            sums[:, b] -= values[:, number]
        return votes + sums / (3.0 * (np.abs(sums) + 1.0))

    def _votes(self, first: NDArray[np.bool_]) -> Index:
        """Return the votes of each class, given the pairs that decide for their first class."""
        pairs = list(combinations(range(self.n_classes), 2))
        if first.shape[1] != len(pairs):
            raise InputError(f"{first.shape[1]} columns for {len(pairs)} pairs of classes.")
        counts = np.zeros((len(first), self.n_classes), dtype=np.int64)
        for number, (a, b) in enumerate(pairs):
            counts[:, a] += first[:, number]
            counts[:, b] += ~first[:, number]
        return counts


class _OfAllRows(Scheme):
    """SVMs of all rows: row k of the coefficients belongs to SVM k."""

    __slots__ = ()

    def sums(self, own: Expansion, X: Rows, *, dtype: Any = np.float32, threads: int = 1) -> Vector:
        """Return the decision values of all SVMs without biases; see `Scheme.sums`."""
        return kernel_products(own.kernel, X, own.support, own.coef.T, dtype=dtype, threads=threads)

    def weights(self, own: Expansion) -> Vector:
        """Return the weights of features, shape (n_svms, n_features), for the linear kernel."""
        return np.asarray(own.coef @ own.support.astype(np.float64))


@dataclass(frozen=True, slots=True)
class OneVsRest(_OfAllRows):
    """An SVM for each class, which is positive against all others."""

    name: ClassVar[str] = "ovr"

    def in_doubt(self, values: Vector, error: float) -> NDArray[np.bool_]:
        """Return the rows whose largest decision value may change by an error."""
        best = np.partition(values, -2, axis=1)[:, -2:]
        return np.asarray(best[:, 1] - best[:, 0] <= 2.0 * error)

    def classes_of(self, values: Vector) -> Index:
        """Return the class of the largest decision value, the first of equal ones."""
        return np.asarray(np.argmax(values, axis=1))

    def losing(self, values: Vector, present: NDArray[np.bool_]) -> Vector:
        """Return decision values in which classes without training rows come after all others."""
        found = Scheme.losing(self, values, present)
        if not present.all():
            found[:, ~present] = np.minimum(found[:, present].min(axis=1), 0.0)[:, None] - 1.0
        return found


@dataclass(frozen=True, slots=True)
class Outputs(_OfAllRows):
    """An SVM for each output of a task without classes, as for each of several quantiles."""

    name: ClassVar[str] = "outputs"

    @property
    def n_svms(self) -> int:
        """Number of SVMs."""
        return self.n_classes

    @property
    def n_coefficients(self) -> int:
        """Coefficients of a support vector."""
        return self.n_classes

    @property
    def n_groups(self) -> int:
        """Groups of support vectors: all are one."""
        return 1

    def losing(self, values: Vector, present: NDArray[np.bool_]) -> Vector:
        """Return the values as they are: there are no classes."""
        del present
        return values

    def in_doubt(self, values: Vector, error: float) -> NDArray[np.bool_]:
        """Return no row: there is no class that an error could change."""
        del error
        return np.zeros(len(values), dtype=np.bool_)

    def classes_of(self, values: Vector) -> Index:
        """Refuse: values are predicted targets."""
        raise InputError(f"{values.shape[1]} predicted targets of a row are no class.")


SINGLE = Single()
SCHEMES: dict[str, type[Scheme]] = {
    kind.name: kind for kind in (Single, OneVsOne, OneVsRest, Outputs)
}


def scheme_for(n_classes: int, multiclass: str) -> Scheme:
    """Return the scheme of a run.

    Parameters
    ----------
    n_classes : int
    multiclass : {"ovo", "ovr"}
        The scheme of more than two classes.
    """
    return SINGLE if n_classes <= 2 else SCHEMES[multiclass](n_classes)


def rounding(kernel: Kernel, X: Rows, support: Rows, coef: Vector) -> float:
    """Return a bound on the error of a sum of float32 kernel values; see `kernel_product`.

    Parameters
    ----------
    kernel : Kernel
    X : Rows, shape (n, n_features)
    support : Rows, shape (m, n_features)
    coef : ndarray, shape (m,)
    """
    return float(bound_of(np.sum((deviation(kernel, X, support) * coef) ** 2)))


def deviation(kernel: Kernel, X: Rows, support: Rows) -> Any:
    """Return the standard deviation of the error of float32 kernel values.

    Returns
    -------
    float, or ndarray of shape (m,)
        One for all support vectors, or one for each.
    """
    if kernel.is_shift_invariant:
        return DECAY_DEVIATION
    radius = float(np.sqrt(squared_norms(X).max(initial=0.0)))
    return dot_error(kernel, np.float32, X.shape[1], radius, np.sqrt(squared_norms(support)))


def bound_of(variance: Any) -> Any:
    """Return a bound on the error of a decision value, given the variance of the error."""
    return CONFIDENCE * np.sqrt(variance) + FAR_PAIRS[np.dtype(np.float32)]
