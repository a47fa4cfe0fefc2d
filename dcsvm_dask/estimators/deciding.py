"""Decision values of models in memory, on several threads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.kernels import Rows
from dcsvm_dask.kernels.rows import DENSE_ABOVE, is_sparse
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.models.model import Model

# Where rounding to float32 might change a decision value by more, kernel values are in float64; it
# is a bound, some hundred times what errors are.
COARSE = 0.1
FEW_VALUES = 1 << 24
"""Up to so many kernel values a prediction has them in float64: it takes a fraction of a second."""
BATCH = 4096
"""Rows that a thread decides at a time."""


def decided(model: Model, rows: Rows, mode: str, threads: int) -> NDArray[np.float64]:
    """Return the decision values of a model on several threads, as `decide` does.

    Kernel values are in float64 where few are needed or rounding may matter.

    Parameters
    ----------
    model : Model
    rows : Rows, shape (n, n_features)
    mode : {"exact", "early"}
    threads : int

    Returns
    -------
    ndarray, float64
        Shape (n,) for a single SVM, else (n, n_svms).
    """
    if mode == "exact":
        model, rows = stored_to_decide(model, rows)
    few_values = FEW_VALUES * (1 if model.is_single else model.n_blocks)
    few = rows.shape[0] * model.n_support <= few_values
    dtype: Any = np.float64 if few or model.rounding(rows) > COARSE else np.float32
    n = rows.shape[0]
    values = np.empty(n if model.is_single else (n, model.bias.shape[1]))

    def work(start: int) -> None:
        part = slice(start, start + BATCH)
        values[part] = decide(model, rows[part], mode, dtype=dtype)

    with one_thread_each():
        if n <= BATCH:  # one batch, whose tiles several threads share
            return decide(model, rows, mode, dtype=dtype, threads=threads)
        for_each(work, range(0, n, BATCH), threads)
    return values


def stored_to_decide(model: Model, rows: Rows) -> tuple[Model, Rows]:
    """Return a model and rows that it decides, dense where that is faster and takes little memory.

    Parameters
    ----------
    model : Model
    rows : Rows, shape (n, n_features)
    """
    if not is_sparse(rows) or model.features is not None:
        return model, rows
    n, d = model.support.shape
    if model.support.nnz <= DENSE_ABOVE * n * d or rows.shape[0] * d > FEW_VALUES:
        return model, rows
    return replace(model, support=model.support.toarray()), rows.toarray()


def early_values(model: Model, rows: Rows, threads: int) -> NDArray[np.float64]:
    """Return the decision values of a level's SVMs, above 0 for the positive class of each.

    Of two classes the first one is positive, as in one-vs-one.

    Parameters
    ----------
    model : Model
    rows : Rows, shape (n, n_features)
    threads : int

    Returns
    -------
    ndarray, shape (n, n_svms), float64
    """
    values = decided(model, rows, "early", threads)
    return -values[:, None] if model.is_single else values
