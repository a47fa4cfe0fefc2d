"""The variance of all values of a data set, by which gamma is scaled."""

from __future__ import annotations

from itertools import pairwise

from dcsvm_dask.kernels.gamma import RunningVariance
from dcsvm_dask.storage.dataset import DataSet

_KNOWN: dict[tuple[str, str, str], float] = {}
"""Variances by URL, attempt and fingerprint: a command settles a training several times."""


def variance_of(data: DataSet) -> float:
    """Return the variance of all values of the rows as they are stored.

    Rows are read a chunk at a time, in order, so that the result depends on them alone.

    Parameters
    ----------
    data : DataSet
    """
    key = (data.url, data.attempt, data.fingerprint)
    if key not in _KNOWN:
        found = RunningVariance()
        for start, stop in pairwise(data.rows.borders().tolist()):
            found.update(data.rows.read(start, stop))
        _KNOWN[key] = found.variance
    return _KNOWN[key]
