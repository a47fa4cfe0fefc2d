"""The problem in the run's own order of rows: arranged rows, labels, upper bounds.

Rows equal in x and y are one variable (its bound is the sum of theirs). Where there are blocks,
variables are numbered in the order in which ``arrange`` put them on disk: block after block of the
bottom partition; else in the order of the data set, whose rows are read where they lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.steps.resources import cache_bytes
from dcsvm_dask.steps.settings import Settings
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.rows import ConcatRows, open_rows
from dcsvm_dask.storage.rows_cache import CachedRows
from dcsvm_dask.storage.rows_selected import SelectedRows
from dcsvm_dask.storage.run import RunFolder

ARRANGE = "arrange"
PROBE = "probe"


@dataclass(frozen=True)
class Problem:
    """Variables of the dual problem, numbered in the run's order.

    Attributes
    ----------
    y : ndarray, shape (n,), float64
        Labels, -1 or +1.
    C : ndarray, shape (n,), float64
        Upper bounds.
    rows : ndarray, shape (n,), int64
        The row of the data set that stands for each variable.
    """

    settings: Settings
    X: CachedRows | SelectedRows
    y: NDArray[np.float64]
    C: NDArray[np.float64]
    rows: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.y)

    @property
    def row_values(self) -> float:
        """Values that a row holds, on average."""
        return max(1.0, self.X.nbytes_of(0, self.n) / (4 * max(1, self.n)))

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return the rows of some variables."""
        return self.X.take(index)


def settings_of(run: RunFolder) -> Settings:
    """Return the settings of a run."""
    return Settings.from_json(run.header["settings"])


def data_of(run: RunFolder) -> DataSet:
    """Open the run's training data.

    Raises
    ------
    InputError
        If others lie there now than those that the run was begun with.
    """
    data = DataSet.open(run.header["data"]["url"])
    if data.fingerprint != run.header["data"]["fingerprint"]:
        raise InputError(
            f"{run.place}: was begun with other data than {data.url} holds now "
            "(the fingerprints differ); train a new run"
        )
    return data


def data_rows(run: RunFolder) -> CachedRows:
    """Return the rows of the run's training data; those read last stay until they are arranged."""
    data = data_of(run)
    return _cached_rows(data.url, data.fingerprint)


@lru_cache(maxsize=1)
def _cached_rows(url: str, fingerprint: str) -> CachedRows:
    del fingerprint  # part of the cache's key: other data under the same name
    return CachedRows(DataSet.open(url).rows, cache_bytes())


def read_problem(run: RunFolder) -> Problem:
    """Open the arranged problem of a run; kept for the next step of the same process."""
    commit = run.node(ARRANGE, "commit")
    return _read_problem(run.place.url, commit.attempt)


@lru_cache(maxsize=1)
def _read_problem(run_url: str, attempt: str) -> Problem:
    del attempt  # part of the cache's key: another attempt is another problem
    run = RunFolder.open(run_url)
    commit = run.node(ARRANGE, "commit")
    if commit.record["parts"]:
        return _arranged(run, commit.record["parts"])
    data, order = data_of(run), run.node(ARRANGE, "order")
    settings, rows = settings_of(run), order.read("rows")
    return Problem(
        settings=settings,
        X=SelectedRows(data_rows(run), rows),
        y=np.where(data.read_codes(0, data.n_rows)[rows] == 1, 1.0, -1.0),
        C=settings.C * order.read("weight"),
        rows=rows,
    )


def _arranged(run: RunFolder, n_parts: int) -> Problem:
    _cached_rows.cache_clear()
    settings = settings_of(run)
    parts = [run.node(ARRANGE, f"part-{i:04d}") for i in range(n_parts)]
    weight = np.concatenate([part.read("weight") for part in parts])
    return Problem(
        settings=settings,
        X=CachedRows(ConcatRows([open_rows(part.place / "X") for part in parts]), cache_bytes()),
        y=np.concatenate([part.read("y") for part in parts]).astype(np.float64),
        C=settings.C * weight,
        rows=np.concatenate([part.read("rows") for part in parts]),
    )
