"""Estimators read again from the runs that trained them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.methods.run_data import settings_of
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import is_several, words_of_task


def opened(run: Any, task: str) -> tuple[RunFolder, Settings, DataSet]:
    """Return the folder of a run of a task, its settings and its data.

    Parameters
    ----------
    run : str or path
    task : str
        Its name in `dcsvm_dask.tasks`.

    Warns
    -----
    DcsvmWarning
        If the rows of the run were scaled, which the estimator does not do.

    Raises
    ------
    InputError
        If there is no such run, or it is of another method or task.
    """
    folder = RunFolder.open(Location.of(run))
    settings = settings_of(folder)
    if settings.method != DEFAULT_METHOD:
        raise InputError(f"run: {folder.place} is one of method {settings.method}, not dcsvm.")
    if settings.task != task:
        raise InputError(f"run: {folder.place} is one of task {settings.task}, not {task}.")
    data = DataSet.open(folder.header["data"]["url"])
    if data.scaling is not None:
        warnings.warn(
            f"{folder.place}: the run was trained on scaled rows, and the estimator takes rows "
            "that are scaled alike: give it those of Run.scale(X), or use Run.predict or "
            "Run.to_sklearn(), which take rows as they were before",
            DcsvmWarning,
            stacklevel=4,
        )
    return folder, settings, data


def with_parameters(
    kind: type[Any], folder: RunFolder, settings: Settings, data: DataSet, **own: Any
) -> Any:
    """Return an estimator with the parameters of a run and what it knows of the data.

    Parameters
    ----------
    kind : type
    folder : RunFolder
    settings : Settings
    data : DataSet
    **own
        Parameters that are neither common nor of the task.
    """
    goals, task = folder.header["goals"], settings.make_task()
    of_task = {word: getattr(task, word) for word in words_of_task(settings.task)}
    words = {
        "C": settings.C,
        "kernel": settings.kernel.name,
        "degree": settings.kernel.degree,
        "gamma": settings.kernel.gamma,
        "coef0": settings.kernel.coef0,
        "fit_intercept": settings.fit_intercept,
        "tol": goals["tol"],
        "inner": settings.inner,
        "random_state": settings.seed,
        "run": folder.place.url,
        "stop_at": goals["stop_at"],
        **{word: list(one) if is_several(one) else one for word, one in of_task.items()},
        **own,
    }
    # Where nu stands for C there is none, and an offset always.
    known = kind._get_param_names()
    made = kind(**{word: value for word, value in words.items() if word in known})
    made._kernel = settings.kernel
    if data.feature_names is not None and data.scaling is None:  # scaled rows have lost them
        made.feature_names_in_ = np.array(data.feature_names, dtype=object)
    made.n_features_in_, made.shape_fit_ = data.n_features, (data.n_rows, data.n_features)
    return made
