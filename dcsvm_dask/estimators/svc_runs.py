"""DCSVC trained as a run, by divide and conquer: when, with which parameters, and read again."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.exact import of_run
from dcsvm_dask.estimators.fit_tasks import FitTasks, StageTasks
from dcsvm_dask.estimators.runs import reached, rows_of_weight, trained, training_parameters
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.problem import settings_of
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.pipeline.training import LEAST_ROWS_FOR_LEVELS
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.predictions import label_array
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]

WISHES = ("run", "client", "stop_at", "time_budget", "callbacks")
"""Parameters that only a run can serve."""


def divides(estimator: Any, n: int, *, known: bool) -> bool:
    """Return whether `fit` trains a run: if a parameter asks for one, or n is large.

    Parameters
    ----------
    estimator : DCSVC
    n : int
        Number of distinct rows.
    known : bool
        Whether a solution is known from which `fit` starts warm; then n does not count.

    Raises
    ------
    InputError
        If `max_iter` is set with a parameter that asks for a run.
    """
    asked = [name for name in WISHES if _is_given(getattr(estimator, name))]
    bounded = estimator.max_iter != -1
    if asked and bounded:
        raise InputError(
            f"max_iter is not possible with {asked[0]}: a run takes its steps in many blocks and "
            "rounds, which a time_budget bounds. Leave one of them out."
        )
    many = n >= LEAST_ROWS_FOR_LEVELS and len(estimator.classes_) == 2
    return bool(asked) or (many and not bounded and not known)


def _is_given(value: Any) -> bool:
    nothing = isinstance(value, str | bytes | numbers.Number | Sequence) and not value
    return value is not None and not nothing


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
        Is told of its stages.
    """
    rows = np.arange(len(codes))
    if weights is not None:
        rows = rows_of_weight(codes, weights, estimator.classes_)
    words = training_parameters(estimator, kernel)
    words |= {"multiclass": estimator._scheme, "stop_at": estimator.stop_at}
    how = {name: getattr(estimator, name) for name in ("client", "time_budget", "callbacks")}
    how["more_callbacks"] = [StageTasks(tasks)]
    how |= {"weights": weights, "feature_names": checking.names_of(estimator)}
    with (
        checking.threads_for_tasks(estimator.n_jobs),
        trained(estimator.run, X, codes, estimator.classes_, words, **how) as run,
    ):
        take_over(estimator, run.folder, rows, codes, lambda index: X[index])


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
    estimator._learn_early(model, choice.level)


def restored(kind: type[Any], run: Any) -> Any:
    """Return the `DCSVC` that a run has trained; see `DCSVC.from_run`."""
    folder = RunFolder.open(Location.of(run))
    settings = settings_of(folder)
    if settings.method != DEFAULT_METHOD:
        raise InputError(f"run: {folder.place} is one of method {settings.method}, not dcsvm.")
    data = DataSet.open(folder.header["data"]["url"])
    labels = label_array(data.classes)
    goals = folder.header["goals"]
    made: Any = kind(
        C=settings.C,
        kernel=settings.kernel.name,
        degree=settings.kernel.degree,
        gamma=settings.kernel.gamma,
        coef0=settings.kernel.coef0,
        fit_intercept=settings.fit_intercept,
        tol=goals["tol"],
        multiclass=settings.multiclass,
        class_weight=dict(zip(labels.tolist(), settings.class_weight, strict=False)) or None,
        random_state=settings.seed,
        run=folder.place.url,
        stop_at=goals["stop_at"],
    )
    made.classes_, made._kernel, made._scheme = labels, settings.kernel, settings.multiclass
    made.class_weight_ = np.array(settings.class_weight or np.ones(len(labels)))
    if data.feature_names is not None and data.scaling is None:  # scaled rows have lost them
        made.feature_names_in_ = np.array(data.feature_names, dtype=object)
    made.n_features_in_, made.shape_fit_ = data.n_features, (data.n_rows, data.n_features)
    codes = data.read_codes(0, data.n_rows)
    take_over(made, folder, np.arange(len(codes)), codes, data.rows.take)
    return made
