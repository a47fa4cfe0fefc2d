"""Rows that stand, in the SVM of a block, for the rows of other blocks that its kernel reaches.

A block's SVM knows its own rows. Where a kernel is smooth, the SVM of all rows is shaped by
all others as much, and the two differ. A random sample of the other rows, each with the weight of
those that it stands for, brings the block's objective close to that of all rows: exact where the
block decides, sampled elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import locality
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.random_streams import WEIGHTED_SAMPLE, generator

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

SAMPLE = 2048
"""Rows on which it is seen how far a kernel reaches, and of which stand-ins are taken."""
MOST = 1024
"""Stand-ins, at most; at most half as many as the largest block has rows, too."""
SLACK = 10.0
"""Times the tolerance: how far SVMs with stand-ins are solved; a sample leaves more open."""
LOCAL = 0.5
"""Share of the kernel's mass inside blocks from which on blocks have none."""


def sample_of(codes: NDArray[np.integer], weight: Vector, rows: Index, seed: int) -> Index:
    """Draw up to `SAMPLE` of some rows, class by class, each as often as its weight demands.

    Parameters
    ----------
    codes : ndarray, shape (n,), integers
        Classes.
    weight : ndarray, shape (n,)
        Factors of C. A row that would be drawn twice is drawn once.
    rows : ndarray of int64
        Of these; their order and the seed decide which are drawn.
    seed : int
    """
    order = generator(seed, WEIGHTED_SAMPLE).permutation(rows[weight[rows] > 0])
    order = order[np.argsort(codes[order], kind="stable")]
    if len(order) <= SAMPLE:
        return order
    below = np.cumsum(weight[order])
    steps = (np.arange(SAMPLE) + 0.5) * (below[-1] / SAMPLE)
    return np.asarray(order[np.unique(np.searchsorted(below, steps))])


def weighted_sample(kernel: Kernel, X: Rows, labels: NDArray[np.integer], largest: int) -> Index:
    """Return the places of a sample's rows that stand for others: none where the kernel is local.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (m, d), float32
        The rows of `sample_of`.
    labels : ndarray, shape (m,), integers
        Their blocks.
    largest : int
        Rows of the largest block.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        inside = locality(kernel, X, labels)
    return _evenly(len(labels), min(MOST, largest // 2) if inside < LOCAL else 0)


def weights_of_sample(codes: NDArray[np.integer], total: Vector) -> Vector:
    """Return the weights of stand-ins of these classes, given those of all that they stand for.

    Parameters
    ----------
    codes : ndarray, shape (m,), integers
    total : ndarray, shape (n_classes,)
        Sums of weights, by class.
    """
    return np.asarray(total[codes] / np.bincount(codes, minlength=len(total))[codes])


def _evenly(n: int, most: int) -> Index:
    """Return places among n, evenly spaced: all of them, or so many."""
    return np.arange(min(n, most), dtype=np.int64) * n // max(1, min(n, most))
