"""The step of a free bias, by the length of a data set's rows."""

from __future__ import annotations

from functools import lru_cache

from dcsvm_dask.methods.sizes import share
from dcsvm_dask.solvers import step_of
from dcsvm_dask.storage.dataset_sample import Data

# Rows that are read: pieces that are spread over the data set, whose rows may be sorted.
PIECES, PIECE_ROWS = 4, 1024
DIGITS = 3


def usual_step(data: Data) -> float:
    """Return the step of a free bias for some rows; see `dcsvm_dask.solvers.step_of`.

    It is a function of the rows alone, and rounded to three digits: what is written down in a run,
    or given to another one, is all of it.

    Parameters
    ----------
    data : DataSet or SampledDataSet
    """
    return _step(_Key(data))


class _Key:
    """A data set, equal to itself however often it is opened."""

    def __init__(self, data: Data) -> None:
        self.data, self.name = data, (data.url, data.attempt, data.n_rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


@lru_cache(maxsize=1)
def _step(key: _Key) -> float:
    rows, n = key.data.rows, key.data.n_rows
    pieces = []
    for number in range(PIECES):
        start, stop = share(n, number, PIECES)
        if start < stop:
            pieces.append(rows.read(start, min(stop, start + PIECE_ROWS)))
    return float(f"{step_of(pieces):.{DIGITS}g}")
