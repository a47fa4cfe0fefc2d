"""A run as a scikit-learn Pipeline: the preparation and scaling of its rows, then its model."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.prediction.batches import prepared_rows
from dcsvm_dask.storage.preparation import Preparation


def with_preparation(prepared: Preparation, svc: Any) -> Any:
    """Return a fitted `sklearn.pipeline.Pipeline` of a preparation and a fitted SVM.

    Its step "prepare" does to rows what the ingest did to those of the training data: it makes
    numbers of the columns of a table, and scales them. Its step "svm" is the SVM.

    Parameters
    ----------
    prepared : Preparation
        With `columns` or a scaling.
    svc : SVC, SVR, OneClassSVM, LinearSVC or LinearSVR
    """
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer

    step = FunctionTransformer(prepared_rows, kw_args={"prepared": prepared})
    return Pipeline([("prepare", step), ("svm", svc)])
