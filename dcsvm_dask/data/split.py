"""The split of rows into a training and a test part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError


@dataclass(frozen=True)
class Split:
    """How rows are split; see `split_order`."""

    test_fraction: float | None
    shuffle: bool
    seed: int
    train_rows: int | None

    @property
    def chooses(self) -> bool:
        """Whether only some rows train."""
        return self.test_fraction is not None or self.train_rows is not None

    def order(self, n: int) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
        """Return the training and the test rows of `n`; see `split_order`."""
        return split_order(n, self.test_fraction, self.shuffle, self.seed, self.train_rows)


def split_order(
    n: int, test_fraction: float | None, shuffle: bool, seed: int, train_rows: int | None = None
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """Return the training and the test rows in their order.

    Parameters
    ----------
    n : int
        Number of rows.
    test_fraction : float or None
        Share of the rows in the test part, in (0, 1).
    shuffle : bool
        Whether to permute the rows.
    seed : int
    train_rows : int, optional
        Largest number of training rows; others are dropped.

    Returns
    -------
    train, test : ndarray of int64 or None
        None: all rows in the order of the source, and no test part.

    Raises
    ------
    InputError
        If a part is empty, or `train_rows` is given without a permutation.
    """
    if test_fraction is None and not shuffle:
        if train_rows is not None:
            raise InputError("train_rows needs a test_fraction or shuffle, which permute the rows")
        return None, None
    order = np.random.default_rng(seed).permutation(n)
    if test_fraction is None:
        return order[:train_rows], None
    n_test = round(test_fraction * n)
    if not 0 < n_test < n:
        raise InputError(
            f"test_fraction must leave rows in both parts, got {test_fraction} of {n} rows"
        )
    return order[: n - n_test][:train_rows], order[n - n_test :]
