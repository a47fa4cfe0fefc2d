"""Kernel mass between the blocks of a partition, and the bounds of the theorems."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dcsvm_dask.clustering.rows import as_rows, block_rows
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix

_TILE_NUMBERS = 1 << 24
"""Number of kernel values in memory at once (64 MiB)."""


@dataclass(frozen=True, slots=True, eq=False)
class RowMass:
    """Kernel mass of every row: w_i w_j |K_ij| summed over j other than i."""

    total: NDArray[np.float64]
    """Sum over all other rows, shape (n,)."""

    between: NDArray[np.float64]
    """Sum over the rows of other blocks, shape (n,)."""


@dataclass(frozen=True, slots=True)
class Mass:
    """Kernel mass between blocks over ordered pairs, D(pi), from all rows or from a sample."""

    between: float
    """D(pi) of all n rows."""

    between_error: float
    """Its standard error; 0 where all rows were measured."""

    share: float
    """D(pi) over the mass of all pairs of different rows, in [0, 1]; 0 where that is 0."""

    share_error: float
    """Its standard error."""


class SampleMass:
    """Kernel mass of a sample under several partitions; its kernel matrix stays in memory.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (e, d), float32
        A few thousand rows: e^2 float32 values are stored.
    """

    def __init__(self, kernel: Kernel, X: Rows) -> None:
        self._K = kernel_matrix(kernel, as_rows(X))
        np.abs(self._K, out=self._K)
        np.fill_diagonal(self._K, 0)
        self._total: NDArray[np.float64] = np.sum(self._K, axis=1, dtype=np.float64)

    def rows(self, labels: NDArray[np.integer]) -> RowMass:
        """Return every row's kernel mass under one partition."""
        within = np.zeros(len(self._total))
        for own in block_rows(labels):
            within[own] = np.sum(self._K[np.ix_(own, own)], axis=1, dtype=np.float64)
        return RowMass(self._total, np.maximum(self._total - within, 0))


def row_mass(
    kernel: Kernel, X: Rows, labels: NDArray[np.integer], weights: ArrayLike | None = None
) -> RowMass:
    """Return every row's kernel mass; n^2 kernel values in float32, summed in float64.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    labels : ndarray, shape (n,), int
        Each row's block, from 0.
    weights : float or array of shape (n,), optional
        w_i, at least 0; 1 by default.

    Returns
    -------
    RowMass

    Raises
    ------
    InputError
        If there is not one label for each row.
    """
    X, labels = as_rows(X), np.asarray(labels)
    n = X.shape[0]
    if labels.shape != (n,):
        raise InputError(f"there are {labels.size} labels for {n} rows; give one for each row.")
    # Sorted by block, so that the pairs of one block are a rectangle of a tile.
    own = block_rows(labels)
    order = np.concatenate(own) if own else np.arange(0)
    Z = X[order]
    w = np.broadcast_to(np.asarray(1.0 if weights is None else weights, np.float64), (n,))[order]
    cuts = np.cumsum([0] + [len(rows) for rows in own])
    total, between = np.empty(n), np.empty(n)
    height = max(1, _TILE_NUMBERS // max(n, 1))
    for start in range(0, n, height):
        stop = min(start + height, n)
        tile = np.abs(kernel_matrix(kernel, Z[start:stop], Z))
        tile[np.arange(stop - start), np.arange(start, stop)] = 0
        total[start:stop] = _times(tile, w)
        for first, last in pairwise(cuts):
            tile[max(first - start, 0) : max(last - start, 0), first:last] = 0
        between[start:stop] = _times(tile, w)
    out = RowMass(np.empty(n), np.empty(n))
    out.total[order], out.between[order] = w * total, w * between
    return out


def _times(tile: NDArray[np.float32], w: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ij,j->i", tile, w, dtype=np.float64))


def estimate_mass(rows: RowMass, n_rows: int | None = None) -> Mass:
    """Return D(pi) of `n_rows` rows from the mass of a uniform sample of them.

    The sum over pairs is a U-statistic; its standard error is the jackknife's, times the
    correction for a sample that is a large part of all rows. It is too small where a few pairs of
    rows have most of the mass and the sample misses them.

    Parameters
    ----------
    rows : RowMass
    n_rows : int, optional
        Number of rows that the sample was drawn from; by default the sample is all rows.

    Returns
    -------
    Mass
    """
    e = len(rows.total)
    n = e if n_rows is None else n_rows
    between, total = float(np.sum(rows.between)), float(np.sum(rows.total))
    scale = n * (n - 1) / (e * (e - 1)) if e > 1 else 0.0
    share = between / total if total > 0 else 0.0
    if n <= e or e < 3:
        return Mass(scale * between, 0.0, share, 0.0)
    shares, masses = leave_one_out(rows)
    spread = np.sqrt((e - 1) / e * (1 - e / n))
    return Mass(
        scale * between,
        float(spread * np.linalg.norm(masses - masses.mean()) * n * (n - 1)),
        share,
        float(spread * np.linalg.norm(shares - shares.mean())),
    )


def leave_one_out(rows: RowMass) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share between blocks, and the mean over pairs, without each row in turn."""
    e = len(rows.total)
    between = rows.between.sum() - 2 * rows.between
    total = rows.total.sum() - 2 * rows.total
    shares = np.divide(between, total, out=np.zeros(e), where=total > 0)
    return shares, between / ((e - 1) * (e - 2))


def between_mass(
    kernel: Kernel, X: Rows, labels: NDArray[np.integer], weights: ArrayLike | None = None
) -> float:
    """Return D(pi) exactly: the sum of w_i w_j |K_ij| over ordered pairs in different blocks.

    (Hsieh, Si and Dhillon, ICML 2014, Theorem 1, with w_i = 1.) It takes n^2 kernel values.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    labels : ndarray, shape (n,), int
    weights : float or array of shape (n,), optional
        w_i, at least 0; 1 by default.

    Returns
    -------
    float
    """
    return float(np.sum(row_mass(kernel, X, labels, weights).between))


def partition_quality(
    kernel: Kernel, X: Rows, labels: NDArray[np.integer], *, n_rows: int | None = None
) -> Mass:
    """Return D(pi) and its share of all kernel mass, from all rows or from a sample.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
        All rows, or a uniform sample of a few thousand.
    labels : ndarray, shape (n,), int
    n_rows : int, optional
        Rows that X was drawn from; by default X is all.

    Returns
    -------
    Mass
    """
    return estimate_mass(row_mass(kernel, X, labels), n_rows)


def theorem_bound(
    kernel: Kernel,
    X: Rows,
    labels: NDArray[np.integer],
    C: ArrayLike,
    *,
    support: NDArray[np.bool_] | None = None,
) -> float:
    """Return the bound on f(level) - f(best) without a bias, for a positive semi-definite kernel.

    Theorem 1 (Hsieh, Si and Dhillon, ICML 2014): at most C^2 D(pi) / 2, with a weight for every
    row half the sum of C_i C_j |K_ij| over ordered pairs in different blocks. Theorem 3: the sum
    may be restricted to support vectors of the level or of the best solution.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    labels : ndarray, shape (n,), int
    C : float or array of shape (n,)
        Upper bounds of the dual variables, at least 0.
    support : ndarray, shape (n,), bool, optional
        Rows of the union of both sets of support vectors (Theorem 3).

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the kernel is not positive semi-definite, so that the theorems do not apply.
    """
    if not kernel.is_psd:
        raise InputError(
            f"the {kernel.name} kernel with coef0 = {kernel.coef0} is not positive semi-definite;"
            " the theorems give no bound for it."
        )
    bounds = np.broadcast_to(np.asarray(C, dtype=np.float64), (X.shape[0],))
    if support is None:
        return 0.5 * between_mass(kernel, X, labels, bounds)
    rows = np.flatnonzero(support)
    if rows.size == 0:
        return 0.0
    return 0.5 * between_mass(kernel, X[rows], np.asarray(labels)[rows], bounds[rows])
