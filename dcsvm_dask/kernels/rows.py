"""Rows of a data set as the numerics take them: dense C order or CSR, float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError

Rows: TypeAlias = Any
"""A C-contiguous float32 ndarray (n, d), or a csr_array / csr_matrix float32 (n, d)."""

FEW_FEATURES = 64
"""Features up to which kernel values of dense rows cost no more than those of sparse rows."""
SPARSE_BELOW, DENSE_ABOVE = 0.2, 0.4
"""Shares of values other than 0 below and above which, of more features, one of them is faster."""
LARGEST_VALUE = 1e18
"""Largest size of a feature whose products with others of its size are float32 numbers."""
# Rows that show that a table has hardly a 0.
_SEEN = 64


def is_sparse(X: Rows) -> bool:
    """Whether the rows are a SciPy sparse array or matrix."""
    return bool(sparse.issparse(X))


def stored_like(X: Rows, *, as_csr: bool) -> Rows:
    """Return rows as CSR, or dense; those that are stored so already as they are."""
    if is_sparse(X) == as_csr:
        return X
    return sparse.csr_array(X) if as_csr else np.ascontiguousarray(X.toarray())


def stored_for_speed(X: Rows) -> Rows:
    """Return rows stored in the way in which their kernel values cost least.

    Parameters
    ----------
    X : ndarray or CSR, shape (n, d)

    Returns
    -------
    ndarray or CSR, shape (n, d)
    """
    n, d = X.shape
    if is_sparse(X):
        return stored_like(X, as_csr=d > FEW_FEATURES and X.nnz <= DENSE_ABOVE * n * d)
    return stored_like(X, as_csr=d > FEW_FEATURES and _has_few_values(X))


def _has_few_values(X: NDArray[Any]) -> bool:
    """Return whether few values of dense rows are not 0, after a look at some of the rows.

    Most tables have hardly a 0, which each pass over the values would take its time to find.
    """
    n, d = X.shape
    if n > _SEEN:
        seen = X[np.linspace(0, n - 1, _SEEN).astype(np.int64)]
        if np.count_nonzero(seen) > DENSE_ABOVE * seen.size:
            return False
    return bool(np.count_nonzero(X) < SPARSE_BELOW * n * d)


def stacked(parts: Sequence[Rows]) -> Rows:
    """Return rows as one, part after part; a single part as it is."""
    if len(parts) == 1:
        return parts[0]
    return sparse.csr_array(sparse.vstack(parts)) if is_sparse(parts[0]) else np.concatenate(parts)


def check_rows(X: Rows, name: str) -> Rows:
    """Return X in the form that compiled code takes.

    Dense rows become C-contiguous float32 or stay float64; sparse ones a csr_array with
    sorted indices and no repeats.

    Raises
    ------
    InputError
        If X is not a two-dimensional array of numbers.
    """
    if is_sparse(X):
        if not isinstance(X, sparse.csr_array):  # a copy would lose that its indices are sorted
            X = sparse.csr_array(X)
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float32)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X
    X = np.asarray(X)
    if X.ndim != 2:
        raise InputError(f"{name} has {X.ndim} axes; give a table of shape (rows, features).")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float32)
    return np.ascontiguousarray(X)


def check_pair(X: Rows, Z: Rows) -> tuple[Rows, Rows]:
    """Check two sets of rows that are to meet in a kernel, and return them as `check_rows` does.

    Raises
    ------
    InputError
        If one is sparse and the other is not, or their numbers of features differ.
    """
    X, Z = check_rows(X, "X"), check_rows(Z, "Z")
    if is_sparse(X) != is_sparse(Z):
        raise InputError("One of X and Z is sparse, the other dense; store both in the same way.")
    if X.shape[1] != Z.shape[1]:
        raise InputError(
            f"X has {X.shape[1]} features and Z has {Z.shape[1]}; give rows of the same kind."
        )
    return X, Z


def squared_norms(X: Rows, centre: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return ||x_i||^2 for every row, accumulated in float64; of dense rows less a centre."""
    if is_sparse(X):
        return row_sums(np.square(X.data, dtype=np.float64), X.indptr)
    out = np.empty(X.shape[0])
    for start in range(0, X.shape[0], 4096):
        tile = X[start : start + 4096].astype(np.float64)
        if centre is not None:
            tile -= centre
        out[start : start + 4096] = np.einsum("ij,ij->i", tile, tile)
    return out


def row_sums(values: NDArray[np.float64], indptr: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the sum of the stored values of every sparse row.

    Parameters
    ----------
    values : ndarray, shape (nnz,), float64
        One for each stored value of the rows.
    indptr : ndarray, shape (n + 1,), integers
        Where each row begins.
    """
    sums, filled = np.zeros(len(indptr) - 1), np.flatnonzero(np.diff(indptr))
    if len(filled):
        sums[filled] = np.add.reduceat(values, indptr[filled])
    return sums


def largest_value(X: Rows) -> tuple[int, int, float] | None:
    """Return the row, the feature and the value that is largest in size; None: there is none.

    Where some values are not finite it is one of them.

    Parameters
    ----------
    X : Rows, shape (n, d)
    """
    values = X.data if is_sparse(X) else X.reshape(-1)
    if values.size == 0:
        return None
    # Without a temporary of the size of the rows.
    high, low = int(values.argmax()), int(values.argmin())
    at = high if values[high] >= -values[low] else low
    if is_sparse(X):
        row = int(np.searchsorted(X.indptr, at, side="right")) - 1
        return row, int(X.indices[at]), float(values[at])
    return *divmod(at, X.shape[1]), float(values[at])


def too_large_message(feature: str, row: str, value: float) -> str:
    """Return what is wrong with a feature of a row whose products are too large."""
    return (
        f"feature {feature} of row {row} is {value:.3g}; linear methods take values up to "
        f"{LARGEST_VALUE:g} in size: scale the features"
    )


def check_values(X: Rows, start: int = 0) -> None:
    """Refuse a feature whose products are too large for linear methods, or that is not finite.

    Parameters
    ----------
    X : Rows, shape (n, d)
    start : int
        Number of the first row.

    Raises
    ------
    InputError
    """
    found = largest_value(X)
    if found is not None and not abs(found[2]) <= LARGEST_VALUE:
        row, feature, value = found
        if not np.isfinite(value):
            raise InputError("X holds a value that is not finite: give finite numbers.")
        raise InputError(f"X: {too_large_message(str(feature), str(start + row), value)}.")
