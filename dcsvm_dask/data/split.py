"""The split of rows into a training and a test part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.labels import Label, LabelTable, choose_classes
from dcsvm_dask.readers.targets import TargetTable

Index = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """How rows are split; see `split_order`."""

    test_fraction: float | None
    shuffle: bool
    seed: int
    train_rows: int | None

    @property
    def permutes(self) -> bool:
        """Whether rows are permuted, all or those of each part."""
        return self.test_fraction is not None or self.shuffle

    @property
    def chooses(self) -> bool:
        """Whether only some rows train."""
        return self.test_fraction is not None or self.train_rows is not None

    def order(self, n: int, classes: NDArray[Any] | None) -> tuple[Index | None, Index | None]:
        """Return the training and the test rows of `n`; see `split_order`."""
        return split_order(
            n, self.test_fraction, self.shuffle, self.seed, self.train_rows, classes=classes
        )


def split_order(
    n: int,
    test_fraction: float | None,
    shuffle: bool,
    seed: int,
    train_rows: int | None = None,
    *,
    classes: NDArray[Any] | None = None,
) -> tuple[Index | None, Index | None]:
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
    classes : ndarray, shape (n,), optional
        The class of each row: every part has its share of each.

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
    order, test = np.random.default_rng(seed).permutation(n), None
    if test_fraction is not None:
        n_test = round(test_fraction * n)
        if not 0 < n_test < n:
            raise InputError(
                f"test_fraction must leave rows in both parts, got {test_fraction} of {n} rows"
            )
        order, test = cut(order, n_test, classes)
    if train_rows is not None and train_rows < len(order):
        order, _ = cut(order, len(order) - train_rows, classes)
    return order, test


def cut(order: Index, n_off: int, classes: NDArray[Any] | None) -> tuple[Index, Index]:
    """Return the rows that are left of an order and those that are cut off its end.

    Parameters
    ----------
    order : ndarray of int64
        Row numbers.
    n_off : int
        Number of rows to cut off.
    classes : ndarray, optional
        The class of each row, by its number: of each the last ones are cut off, as by `shares`.
    """
    if classes is None:
        return order[: len(order) - n_off], order[len(order) - n_off :]
    _, codes, counts = np.unique(classes[order], return_inverse=True, return_counts=True)
    off = np.zeros(len(order), dtype=np.bool_)
    by_class = np.argsort(codes, kind="stable")
    for end, many in zip(np.cumsum(counts), shares(counts, n_off), strict=True):
        off[by_class[end - many : end]] = True
    return order[~off], order[off]


def shares(counts: NDArray[np.integer], n_off: int) -> Index:
    """Return how many rows of each class are cut off, so many in all.

    A class gives its share, rounded by the largest remainders. A class of two rows or more has one
    on either side, and one of a single row keeps it, as far as there are rows enough for that.

    Parameters
    ----------
    counts : ndarray of int
        Rows of each class.
    n_off : int
    """
    share = counts * (n_off / counts.sum())
    least, most = np.minimum(counts - 1, 1), counts - 1
    if least.sum() > n_off:
        least = np.zeros_like(counts)
    if most.sum() < n_off:
        most = counts
    found = np.clip(np.floor(share).astype(np.int64), least, most)
    while left := n_off - int(found.sum()):
        step = 1 if left > 0 else -1
        free = found < most if left > 0 else found > least
        gain = np.where(free, step * (share - found), -np.inf)
        nearest = np.argsort(-gain, kind="stable")[: min(abs(left), int(free.sum()))]
        found[nearest] += step
    return found


def classes_of(table: Any, values: NDArray[Any], positive: Sequence[Label] | None) -> Any:
    """Return the classes by which rows are split; None where y are real targets.

    Parameters
    ----------
    table : LabelTable, TargetTable or SignTable
        What has read y.
    values : ndarray, shape (n,)
        What it returned.
    positive : sequence of labels, optional
        Labels that are joined into one class.
    """
    if isinstance(table, TargetTable):
        return None
    if not isinstance(table, LabelTable):
        return values
    # Codes of a table depend on where its blocks end, those of sorted classes do not.
    _, code_of = choose_classes(table, positive)
    return np.array([code_of[label] for label in table.labels], np.int32)[values]
