"""A sample of the rows of a data set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.random_streams import SUBSAMPLE, generator
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.rows.cache import CachedRows
from dcsvm_dask.storage.rows.selected import SelectedRows


class SampledDataSet:
    """Some rows of a data set, numbered by their position in an index.

    Parameters
    ----------
    data : DataSet
    index : ndarray of int64, shape (m,)
        Ascending row numbers.

    Attributes
    ----------
    n_distinct : int
        Upper bound on the rows that differ in x or in y.
    counts : list of int
        Empty: the rows of each class are not counted.
    """

    def __init__(self, data: DataSet, index: NDArray[np.int64]) -> None:
        self.data, self.index = data, index
        self.url, self.fingerprint, self.attempt = data.url, data.fingerprint, data.attempt
        self.n_rows, self.n_features = len(index), data.n_features
        self.is_sparse, self.chunk_rows = data.is_sparse, data.chunk_rows
        self.classes, self.targets, self.one_class = data.classes, data.targets, data.one_class
        self.n_distinct = min(len(index), data.n_distinct)
        self.counts: list[int] = []

    @property
    def rows(self) -> SelectedRows:
        """The rows, without a cache."""
        return SelectedRows(CachedRows(self.data.rows, 0), self.index)

    def read_y(self, start: int, stop: int) -> NDArray[Any]:
        """Return y of the rows start:stop; see `DataSet.read_y`."""
        return self.data.take_y(self.index[start:stop])

    def take_y(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Return y of some rows; see `DataSet.read_y`."""
        return self.data.take_y(self.index[index])

    def read_codes(self, start: int, stop: int) -> NDArray[np.int32]:
        """Return the codes of the rows start:stop; see `DataSet.read_codes`."""
        return self.data.take_codes(self.index[start:stop])

    def take_codes(self, index: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the codes of some rows."""
        return self.data.take_codes(self.index[index])

    def read_weights(self, start: int, stop: int) -> NDArray[np.float64] | None:
        """Return the weights of the rows start:stop; see `DataSet.read_weights`."""
        return self.data.take_weights(self.index[start:stop])

    def take_weights(self, index: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the weights of some rows."""
        return self.data.take_weights(self.index[index])

    def read_hashes(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Return the hashes of the rows start:stop; see `DataSet.read_hashes`."""
        return self.data.read_hashes(0, self.data.n_rows)[self.index[start:stop]]


Data = DataSet | SampledDataSet


def sampled(data: DataSet, fraction: float, seed: int) -> SampledDataSet:
    """Return a random sample of a data set's rows.

    Parameters
    ----------
    data : DataSet
    fraction : float
        Share of the rows, in (0, 1].
    seed : int

    Returns
    -------
    SampledDataSet
    """
    order = generator(seed, SUBSAMPLE).permutation(data.n_rows)
    return SampledDataSet(data, np.sort(order[: sample_rows(data.n_rows, fraction)]))


def sample_rows(n_rows: int, fraction: float) -> int:
    """Return the number of rows of a sample."""
    return max(1, round(fraction * n_rows))
