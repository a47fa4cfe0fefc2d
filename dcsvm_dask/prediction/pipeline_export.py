"""A run as a scikit-learn Pipeline: the preparation of its table, then its model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.prediction.batches import prepare_rows, rows_in_memory
from dcsvm_dask.storage.preparation import Preparation


def prepared_rows(X: Any, prepared: Preparation) -> NDArray[np.float32]:
    """Return rows of a table as a run's model takes them: numbers, scaled.

    Parameters
    ----------
    X : data frame of pandas or Polars, shape (n, n_columns)
        With the columns of the training table, in any order.
    prepared : Preparation

    Returns
    -------
    ndarray, shape (n, n_features), float32
    """
    source = rows_in_memory(X, None, prepared, labelled=False)
    blocks, first = [], 0
    for rows, _ in source.blocks():
        blocks.append(np.asarray(prepare_rows(rows, prepared, source.name, first)))
        first += rows.shape[0]
    return np.concatenate(blocks)


def with_preparation(prepared: Preparation, svc: Any) -> Any:
    """Return a fitted `sklearn.pipeline.Pipeline` of a preparation and a fitted SVM.

    Its step "prepare" does to the columns of a table what the ingest did to those of the training
    data: it makes numbers of them and scales these. Its step "svm" is the SVM.

    Parameters
    ----------
    prepared : Preparation
        With `columns`.
    svc : SVC, SVR, OneClassSVM, LinearSVC or LinearSVR
    """
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    step = FunctionTransformer(prepared_rows, kw_args={"prepared": prepared})
    return Pipeline([("prepare", step), ("svm", svc)])
