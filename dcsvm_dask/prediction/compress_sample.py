"""The rows with which a model is compressed: those it is measured on, and those it is fitted to."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows, is_sparse
from dcsvm_dask.prediction.batches import SentRows, StoredRows, open_batches
from dcsvm_dask.random_streams import COMPRESSION, generator
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.preparation import Preparation
from dcsvm_dask.storage.rows.read import stack_rows, take_rows
from dcsvm_dask.storage.run import RunFolder

# Training rows at which smaller models are fitted.
FIT_ROWS = 2048


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows on which a model is measured and fitted."""

    check: Rows
    fit: Rows
    of: str
    labels: NDArray[Any] | None
    """Class codes or targets of `check`, where it is also the data for scoring."""
    data: Any
    """Other data for scoring."""


def draw_sample(
    run: RunFolder, prepared: Preparation, data: Any, n: int, seed: int, encoding: str | None
) -> Sample:
    """Draw the rows with which a model is compressed.

    It is measured on the given rows, else on held-out rows, else on the test part of the training
    data, else on training rows; it is fitted to training rows where these exist.
    """
    rng = generator(seed, COMPRESSION)
    try:
        train = DataSet.open(run.header["data"]["url"])
    except InputError:
        train = None
    if data is None:
        data = _held_out(run, train)
    if data is None and train is None:
        raise InputError(
            f"{run.place}: its training data {run.header['data']['url']} are missing: "
            "give rows on which the change is measured (--data)"
        )
    if data is None:
        assert train is not None
        order = rng.permutation(train.n_rows)
        many = max(1, min(n, train.n_rows - min(FIT_ROWS, train.n_rows // 4)))
        chosen, others = np.sort(order[:many]), np.sort(order[many : many + FIT_ROWS])
        checked, fit = take_rows(train.rows, chosen), take_rows(train.rows, others)
        return Sample(checked, fit, train.url, train.take_y(chosen), None)
    source = open_batches(data, prepared, labelled=True, encoding=encoding)
    checked = _drawn(source, prepared, n, rng)
    if checked.shape[0] == 0:
        raise InputError(f"{source.name}: has no rows")
    fit = checked[:0]
    if train is not None:
        chosen = np.sort(rng.permutation(train.n_rows)[:FIT_ROWS])
        fit = take_rows(train.rows, chosen)
    return Sample(checked, fit, source.name, None, data)


def _held_out(run: RunFolder, train: DataSet | None) -> Any:
    """Return rows that were not used in training; None without any.

    They are held-out rows, or a test part.
    """
    url = run.header.get("holdout")
    if url is not None:
        with contextlib.suppress(InputError):
            return DataSet.open(url)
    return train.open_part("test") if train is not None and "test" in train.parts else None


def _drawn(
    source: StoredRows | SentRows, prepared: Preparation, n: int, rng: np.random.Generator
) -> Rows:
    """Return n random rows of a source, or all where it has fewer, in bounded memory."""
    if isinstance(source, StoredRows):
        return source.take(np.sort(rng.permutation(source.n_rows or 0)[:n]))
    drawn, lots = stack_rows([], prepared.n_features, prepared.is_sparse), np.zeros(0)
    for batch in source.batches():
        rows = batch.arguments[0]
        if prepared.is_sparse and not is_sparse(rows):
            rows = sparse.csr_array(rows)
        rows = stack_rows([drawn, rows], prepared.n_features, prepared.is_sparse)
        lots = np.append(lots, rng.random(batch.n_rows))
        least = np.sort(np.argsort(lots, kind="stable")[:n])
        drawn, lots = rows[least], lots[least]
    return drawn
