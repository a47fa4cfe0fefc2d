"""The balance of a partition's blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Balance:
    """Sizes of blocks, from the labels of all rows or of a uniform sample."""

    n_blocks: int
    """Number of blocks."""

    largest_share: float
    """Share of the rows in the largest block."""

    pairs_within: float
    """Share of pairs of different rows inside a block, which is the cost of solving every block
    over that of solving the whole at once (the sum of n_b^2 over n^2)."""

    effective_blocks: float
    """Number of equal blocks with the same share of pairs: 1 / pairs_within, at most n_blocks."""

    empty_blocks: int
    """Blocks without a row."""


def balance(labels: NDArray[np.integer], n_blocks: int) -> Balance:
    """Measure how evenly labels fall on blocks.

    Parameters
    ----------
    labels : ndarray, shape (n,), int
        In 0 to n_blocks - 1.
    n_blocks : int

    Returns
    -------
    Balance
    """
    n = len(labels)
    counts = np.bincount(labels, minlength=n_blocks).astype(np.float64)
    pairs = float(np.sum(counts * (counts - 1))) / (n * (n - 1)) if n > 1 else 1.0
    # No partition is better than equal blocks; a sample with few rows a block may suggest it.
    pairs = max(pairs, 1.0 / n_blocks)
    return Balance(
        n_blocks=n_blocks,
        largest_share=float(counts.max()) / max(n, 1),
        pairs_within=pairs,
        effective_blocks=1.0 / pairs,
        empty_blocks=int(np.count_nonzero(counts == 0)),
    )
