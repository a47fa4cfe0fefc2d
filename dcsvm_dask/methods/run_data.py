"""The training data of a run, as far as its method looks at them, and its settings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.resources import cache_bytes
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_sample import Data, SampledDataSet, sampled
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.rows.cache import CachedRows
from dcsvm_dask.storage.rows.selected import SelectedRows
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import TASKS


def settings_of(run: RunFolder) -> Settings:
    """Return the settings of a run."""
    return Settings.from_json(run.header["settings"])


def number_of_classes(run: RunFolder) -> int:
    """Return the number of classes of a run, 0 for a task without classes."""
    if not TASKS[settings_of(run).task].has_classes:
        return 0
    return len(run.header.get("shape", {}).get("class_rows", ())) or 2


def stored_targets(run: RunFolder, y: NDArray[Any]) -> NDArray[Any]:
    """Return targets as a run keeps them: codes of more than two classes, else those of the task.

    Parameters
    ----------
    run : RunFolder
    y : ndarray, shape (n,)
        Codes or targets of the data set.
    """
    if number_of_classes(run) > 2:
        return y.astype(np.int32)
    return settings_of(run).make_task().targets(y)


def data_of(run: RunFolder) -> Data:
    """Open the run's training data, as far as its method looks at them.

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
    settings = settings_of(run)
    return seen_by(data, settings.options, settings.seed)


def seen_by(data: DataSet, options: Record, seed: int) -> Data:
    """Return the rows of a data set that a method looks at: a share of them if it says so."""
    return sampled(data, options["fraction"], seed) if "fraction" in options else data


def data_rows(run: RunFolder) -> CachedRows | SelectedRows:
    """Return the rows of the run's training data; those read last stay until they are arranged."""
    data = data_of(run)
    rows = cached_rows(data.url, data.attempt)
    return SelectedRows(rows, data.index) if isinstance(data, SampledDataSet) else rows


@lru_cache(maxsize=1)
def cached_rows(url: str, attempt: str) -> CachedRows:
    """Return the rows of a data set, of which those read last stay in memory."""
    del attempt  # part of the cache's key: data that were ingested again under the same name
    return CachedRows(DataSet.open(url).rows, cache_bytes())
