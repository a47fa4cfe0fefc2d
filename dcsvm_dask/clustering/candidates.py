"""The clusterings that are tried for a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dcsvm_dask.clustering.input_partition import InputPartition
from dcsvm_dask.clustering.kernel_partition import KernelPartition
from dcsvm_dask.clustering.partition import Partition
from dcsvm_dask.clustering.rows import as_rows, at_most
from dcsvm_dask.kernels import Kernel, Rows, distances_apart

MOST_BY_KERNEL = 4096
"""Largest number of clusters for which kernel k-means is tried."""

_STARTS = 3

Fit = Callable[[Rows, int, np.random.Generator], Partition]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A clustering to try."""

    name: str
    """Its name in the record of the choice."""

    fit: Fit
    """Function that clusters a sample: rows, number of clusters, generator."""

    n_starts: int = 1
    """Number of partitions to make and measure, of which the best is used.

    In input space a start is cheap, and the sum of distances that k-means lowers says little
    about the kernel mass between blocks, so starts are measured like candidates."""


def candidates(
    kernel: Kernel, X: Rows, n_clusters: int, rng: np.random.Generator
) -> list[Candidate]:
    """Return the clusterings to try, those with the cheapest labels first.

    =================  ==============================================================
    kernel             tried
    =================  ==============================================================
    shift-invariant    k-means in input space; kernel k-means with the kernel widened
                       to gamma = 1 / (median distance); kernel k-means as it is
    linear             k-means of the rows divided by their norms; of the rows
    of inner products  the same two; kernel k-means of K / sqrt(K_ii K_jj)
    never psd          k-means in input space; of the rows divided by their norms
    =================  ==============================================================

    Kernel k-means stores rows for every centre, so it is not tried for many clusters.

    A shift-invariant kernel that hardly changes over the median distance clusters like input space
    and is not tried.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (m, d), float32
        A sample, from which the median distance is computed.
    n_clusters : int
    rng : numpy.random.Generator

    Returns
    -------
    list of Candidate
    """
    plain = Candidate("input", _input_space(X, n_clusters, cosine=False), _STARTS)
    cosine = Candidate("cosine", _input_space(X, n_clusters, cosine=True), _STARTS)
    own = partial(_by_kernel, kernel, normalised=not kernel.is_shift_invariant)
    if n_clusters > MOST_BY_KERNEL:
        return [plain] if kernel.is_shift_invariant else [cosine, plain]
    if kernel.is_shift_invariant:
        wide = widened(kernel, at_most(X, 512, rng))
        found = [plain]
        if wide.gamma < 0.7 * kernel.gamma:
            found.append(Candidate("widened kernel", partial(_by_kernel, wide, normalised=False)))
        if wide.gamma < 10 * kernel.gamma:
            found.append(Candidate("kernel", own))
        return found
    if not kernel.kind.can_be_psd:
        return [plain, cosine]
    normalised = Candidate("normalised kernel", own)
    return [cosine, plain] if kernel.is_linear else [cosine, plain, normalised]


def widened(kernel: Kernel, X: Rows) -> Kernel:
    """Return a shift-invariant kernel with gamma = 1 / (median distance between rows).

    The distance is the one in the kernel's exponent. If all rows are equal the kernel is returned
    unchanged.

    Parameters
    ----------
    kernel : Kernel
        Shift-invariant.
    X : ndarray or CSR, shape (m, d), float32
        A few hundred rows; the cost is m^2.

    Returns
    -------
    Kernel
    """
    apart = distances_apart(kernel, as_rows(X))
    return replace(kernel, gamma=1 / float(np.median(apart))) if apart.size else kernel


def _by_kernel(
    kernel: Kernel, X: Rows, n_clusters: int, rng: np.random.Generator, *, normalised: bool
) -> Partition:
    return KernelPartition.fit(kernel, X, n_clusters, rng, normalised=normalised)


def _input_space(X: Rows, n_clusters: int, *, cosine: bool) -> Fit:
    # Twice the clusters, since the size cap may split some.
    if InputPartition.fits(2 * n_clusters, X.shape[1]):
        return partial(InputPartition.fit, cosine=cosine, n_starts=1)
    # The same clusters with centres that are means of rows, not dense vectors.
    return partial(_by_kernel, Kernel("linear"), normalised=cosine)
