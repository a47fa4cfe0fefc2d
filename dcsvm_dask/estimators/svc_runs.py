"""Classifiers trained as a run, by divide and conquer, and read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators.early import learn_early
from dcsvm_dask.estimators.exact import Exact
from dcsvm_dask.estimators.fit_tasks import FitTasks
from dcsvm_dask.estimators.restoring import opened, with_parameters
from dcsvm_dask.estimators.runs import (
    labels_and_weights,
    reached,
    rows_of_weight,
    trained_as_asked,
)
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.dcsvm.classes.machines import NAMES
from dcsvm_dask.readers.label_array import label_array
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]


def fit(
    estimator: Any,
    kernel: Kernel,
    X: Rows,
    codes: NDArray[np.int32],
    weights: NDArray[np.float64] | None,
    tasks: FitTasks,
) -> None:
    """Train a `DCSVC` or `DCNuSVC` as a run, to the exact model or an early one.

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
    own |= {"multiclass": estimator._scheme}
    with trained_as_asked(estimator, kernel, X, y, weights, tasks, **own) as folder:
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
    choice, node, model = reached(run)
    if choice.level:
        learn_early(estimator, model, choice.level)
        return
    found = _exact(run, codes[rows], estimator.tol)
    coef = np.zeros((len(found.coef), len(codes)))
    coef[:, rows] = found.coef
    estimator._learn(replace(found, coef=coef), codes, take)
    estimator._learn_of_run(node.record)


def _exact(run: RunFolder, codes: NDArray[np.int32], tol: float) -> Exact:
    """Return the coefficients and measures of the exact model of a run.

    Parameters
    ----------
    run : RunFolder
    codes : ndarray, shape (n,), int32
        Classes of the run's rows.
    tol : float

    Returns
    -------
    Exact
    """
    _, node, model = reached(run)
    alpha, record = node.read("alpha"), node.record
    if not model.is_single:
        coef, bias, each = alpha, model.bias[0], record[f"of_{NAMES[model.scheme.name]}"]
    else:
        # Of two classes a run has the second one positive.
        coef, bias = np.where(codes == 0, alpha, -alpha), -model.bias[0]
        each = {"objective": [record["objective"]], "violation": [record["violation"]]}
    return Exact(
        coef,
        bias,
        np.array(each["objective"]),
        np.array(each["violation"]),
        np.array(each.get("iterations", [1]), dtype=np.int64),
        [violation <= tol for violation in each["violation"]],
    )


def restored(kind: type[Any], run: Any) -> Any:
    """Return the classifier that a run has trained; see `WithRun.from_run`."""
    folder, settings, data = opened(run, kind.task_name)
    known, factors = kind._get_param_names(), np.array(settings.class_weight)
    given = {
        "class_weight": bool((factors != 1.0).any()),
        "multiclass='ovr'": settings.multiclass == "ovr",
    }
    for word, is_given in given.items():
        if is_given and word.split("=")[0] not in known:
            raise InputError(
                f"run: {folder.place} was trained with {word}, which {kind.__name__} does not "
                "have; read it by dcsvm_dask.open_run."
            )
    labels = label_array(data.classes)
    weights = dict(zip(labels.tolist(), settings.class_weight, strict=False)) or None
    own = {"multiclass": settings.multiclass, "class_weight": weights}
    made = with_parameters(kind, folder, settings, data, **own)
    made.classes_, made._scheme = labels, settings.multiclass
    if "class_weight" in known:
        made.class_weight_ = factors if len(factors) else np.ones(len(labels))
    codes = data.read_codes(0, data.n_rows)
    take_over(made, folder, np.arange(len(codes)), codes, data.rows.take)
    return made
