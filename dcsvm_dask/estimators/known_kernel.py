"""Kernels whose values estimators are given: as a matrix, or by a function that returns one.

scikit-learn's ``kernel="precomputed"`` and callables. Nothing is known of the rows but their kernel
values with each other, so that these take the place of the rows, in float64 and all in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _num_samples, validate_data

from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.clients import gathered
from dcsvm_dask.solvers.smo.columns import take

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

PRECOMPUTED = "precomputed"
"""The value of ``kernel`` with which X holds kernel values."""
ASYMMETRY = 1e-5
"""Of the largest value: more than rounding in float32, of which solvers would notice nothing."""
# Rows and columns whose symmetry is checked at a time: they fit into a core's cache.
_TILE = 256


def is_known(kernel: Any) -> bool:
    """Return whether a parameter ``kernel`` means that values are given."""
    return callable(kernel) or (isinstance(kernel, str) and kernel == PRECOMPUTED)


@dataclass(frozen=True, eq=False)
class KnownKernel:
    """The kernel of a fitted estimator that was given the values.

    Attributes
    ----------
    function : callable or None
        Returns kernel values of rows with `rows`; None: they are precomputed.
    rows : Any
        What the estimator was fitted to, as it was given; None without a function.
    n_rows : int
    digest : bytes
        Of the matrix, where the next fit may begin at this one's solution.
    """

    function: Callable[[Any, Any], Any] | None
    rows: Any
    n_rows: int
    digest: bytes = b""

    is_shift_invariant = False

    def values(self, estimator: Any, X: Any) -> Vector:
        """Return the kernel values of rows with those that an estimator was fitted to.

        Parameters
        ----------
        estimator : estimator
            Fitted with this kernel.
        X : Any
            Rows, as the function takes them; or the kernel values, shape (m, n_rows).

        Returns
        -------
        ndarray, shape (m, n_rows), float64

        Raises
        ------
        InputError
            If there are not as many for each row as the estimator was fitted to.
        """
        if self.function is None:
            how = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "reset": False}
            found: Vector = _dense(validate_data(estimator, gathered(X), **how))
        else:
            found = _computed(self.function, X, self.rows)
        if found.shape[1] != self.n_rows:
            raise InputError(
                f"X.shape[1] = {found.shape[1]} should be equal to {self.n_rows}, the number of "
                "samples at training time: kernel values of each row with all of these."
            )
        return found


class KnownRows:
    """Rows of which the kernel values with each other are known, and nothing else.

    They stand where the numerics have rows, as far as these ask for a matrix.

    Parameters
    ----------
    kernel : KnownKernel
    K : ndarray, shape (n, n), float64
        Of all rows.
    index : ndarray of int64, optional
        Which rows these are; all by default.
    """

    def __init__(self, kernel: KnownKernel, K: Vector, index: Index | None = None) -> None:
        self.kernel = kernel
        self._K = K
        self._index = np.arange(len(K)) if index is None else index

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of values of each."""
        return len(self._index), len(self._K)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._index)

    def __getitem__(self, rows: Any) -> Self:
        """Return some of the rows."""
        return type(self)(self.kernel, self._K, self._index[rows])

    def matrix(self) -> Vector:
        """Return the kernel values of the rows with each other; those of all without a copy."""
        if np.array_equal(self._index, np.arange(len(self._K))):
            return self._K
        return np.asarray(take(self._K, self._index, np.empty(len(self._index) ** 2)))


def known_rows(estimator: Any, X: Any, y: Any = None) -> KnownRows:
    """Return rows by their kernel values.

    Parameters
    ----------
    estimator : estimator
        Its ``kernel`` is one that `is_known`.
    X : Any
        Rows, as the callable takes them; or the kernel matrix, dense or sparse.
    y : array-like, shape (n,), optional
        Checked with the matrix, as `validate_data` does.

    Raises
    ------
    InputError
        If the matrix is not square, of finite numbers, and symmetric.
    """
    function = estimator.kernel if callable(estimator.kernel) else None
    if function is None:
        how: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
        if y is not None:
            how |= {"multi_output": False}
        found = validate_data(estimator, gathered(X), **({} if y is None else {"y": y}), **how)
        K = _dense(found if y is None else found[0])
    else:
        K = _computed(function, X, X)
    if K.shape[0] != K.shape[1]:
        raise InputError(
            "Precomputed matrix must be a square matrix. Input is a "
            f"{K.shape[0]}x{K.shape[1]} matrix."
        )
    _check_symmetric(K)
    digest = b""
    if getattr(estimator, "warm_start", False):
        digest = hashlib.blake2b(np.ascontiguousarray(K).data, digest_size=16).digest()
    return KnownRows(KnownKernel(function, None if function is None else X, len(K), digest), K)


def support_vectors(taken: Any) -> Any:
    """Return the support vectors that were taken of rows; of `KnownRows` an empty array, as SVC."""
    return np.empty((0, 0)) if isinstance(taken, KnownRows) else taken


def same_rows(X: Any, kernel: Any) -> bool | None:
    """Return whether known rows are those of the last fit; None: X or its kernel is not known.

    Parameters
    ----------
    X : Rows or KnownRows
    kernel : Kernel or KnownKernel
        Of the last fit.
    """
    if not isinstance(X, KnownRows) and not isinstance(kernel, KnownKernel):
        return None
    both = isinstance(X, KnownRows) and isinstance(kernel, KnownKernel)
    return bool(both and kernel.digest and X.kernel.digest == kernel.digest)


def refuse_known(what: str, kernel: Any) -> None:
    """Refuse an export of a model whose kernel is a matrix or a function of the user's.

    Parameters
    ----------
    what : str
        The function that exports.
    kernel : Kernel or KnownKernel

    Raises
    ------
    InputError
    """
    if isinstance(kernel, KnownKernel):
        raise InputError(
            f"{what}: the kernel is precomputed or a callable, and the model has no support "
            "vectors to write; fit with a kernel that has a name"
        )


def _computed(function: Callable[[Any, Any], Any], X: Any, Z: Any) -> Vector:
    """Return what a function says are the kernel values of rows with others."""
    found = np.asarray(_dense(function(X, Z)), dtype=np.float64, order="C")
    if found.ndim != 2:
        raise InputError(
            f"kernel returned an array of {found.ndim} axes: it must return a matrix, with a row "
            "for each of the first rows and a column for each of the second."
        )
    if found.shape != (wanted := (_num_samples(X), _num_samples(Z))):
        raise InputError(
            f"kernel returned a matrix of shape {found.shape}: of {wanted[0]} rows with "
            f"{wanted[1]} others it must be of shape {wanted}."
        )
    if not np.isfinite(found).all():
        raise InputError("kernel returned values that are not finite: see the rows, or scale them.")
    return found


def _dense(values: Any) -> Any:
    return values.toarray() if sparse.issparse(values) else values


def _check_symmetric(K: Vector) -> None:
    """Refuse a matrix that is no kernel's: solvers would read one half of it."""
    largest, most, where = 0.0, 0.0, (0, 0)
    for start in range(0, len(K), _TILE):
        for column in range(start, len(K), _TILE):
            rows, columns = slice(start, start + _TILE), slice(column, column + _TILE)
            one, other = K[rows, columns], K[columns, rows].T
            apart = np.abs(one - other)
            largest = max(largest, float(one.max()), -float(one.min()))
            if (worst := float(apart.max())) > most:
                below, right = divmod(int(np.argmax(apart)), apart.shape[1])
                most, where = worst, (start + below, column + right)
    if most > ASYMMETRY * largest:
        i, j = where
        raise InputError(
            f"the kernel matrix is not symmetric: the value of rows {i} and {j} is {K[i, j]:.6g}, "
            f"that of rows {j} and {i} {K[j, i]:.6g}. Give the kernel of the training rows with "
            "themselves."
        )
