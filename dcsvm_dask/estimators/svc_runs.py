"""DCSVC trained as a run, by divide and conquer, and read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.estimators.early import learn_early
from dcsvm_dask.estimators.exact import of_run
from dcsvm_dask.estimators.fit_tasks import FitTasks
from dcsvm_dask.estimators.restoring import opened, with_parameters
from dcsvm_dask.estimators.runs import (
    labels_and_weights,
    reached,
    rows_of_weight,
    trained_as_asked,
)
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.storage.predictions import label_array
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Classification

Index = NDArray[np.int64]


def fit(
    estimator: Any,
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    tasks: FitTasks,
) -> None:
    """Train a `DCSVC` as a run, to the exact model or an early one.

    Parameters
    ----------
    weights : ndarray, shape (n,), float64, optional
        Weights of rows, 0 or more.
    tasks : FitTasks
        Reports its stages to callbacks.
    """
    rows = np.arange(len(codes))
    if weights is not None:
        rows = rows_of_weight(codes, weights, estimator.classes_)
    y, own = labels_and_weights(estimator, codes)
    own |= {"multiclass": estimator._scheme, "loss": estimator.loss}
    with trained_as_asked(estimator, kernel, X, y, weights, tasks, own) as folder:
        take_over(estimator, folder, rows, codes, lambda index: X[index])


def take_over(
    estimator: Any,
    run: RunFolder,
    rows: Index,
    codes: NDArray[np.int32],
    take: Callable[[Index], Rows],
) -> None:
    """Set the attributes of what a run has reached.

    Parameters
    ----------
    rows : ndarray of int64, shape (n_run,)
        Which of all rows those of the run are.
    codes : ndarray, shape (n,), int32
        Of all rows.
    take : callable
        Returns some of all rows.
    """
    choice, _, model = reached(run)
    if not choice.level:
        found = of_run(run, codes[rows], estimator.tol)
        coef = np.zeros((len(found.coef), len(codes)))
        coef[:, rows] = found.coef
        estimator._learn(replace(found, coef=coef), codes, take)
        return
    learn_early(estimator, model, choice.level)


def restored(kind: type[Any], run: Any) -> Any:
    """Return the `DCSVC` that a run has trained; see `DCSVC.from_run`."""
    folder, settings, data = opened(run, "classification")
    labels = label_array(data.classes)
    weights = dict(zip(labels.tolist(), settings.class_weight, strict=False)) or None
    task = settings.make_task()
    assert isinstance(task, Classification)
    own = {"loss": task.loss, "multiclass": settings.multiclass, "class_weight": weights}
    made = with_parameters(kind, folder, settings, data, **own)
    made.classes_, made._scheme = labels, settings.multiclass
    made.class_weight_ = np.array(settings.class_weight or np.ones(len(labels)))
    codes = data.read_codes(0, data.n_rows)
    take_over(made, folder, np.arange(len(codes)), codes, data.rows.take)
    return made
