"""Training as a run: arrays become a data set beside the run's folder, which may be kept."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask import api
from dcsvm_dask.api.ingesting import data_for_run, data_place
from dcsvm_dask.api.or_resuming import differences, in_words
from dcsvm_dask.api.warned import narrow_left_to_caller
from dcsvm_dask.checks import check
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, given_rows
from dcsvm_dask.estimators.fit_tasks import FitTasks
from dcsvm_dask.estimators.stage_tasks import StageTasks
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.methods.choice import Choice, choose_model, reached_model
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.methods.registry import approximation
from dcsvm_dask.models.model import Model
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.readers.source import ArraySource
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import checked_quantiles, is_several, task_and_type, words_of_task

OWN_NAMES = {"seed": "random_state"}
"""Parameters of a run that estimators call otherwise."""


def training_parameters(estimator: Any, kernel: Kernel) -> dict[str, Any]:
    """Return the parameters of `dcsvm_dask.train` that every estimator has.

    Those without C or `fit_intercept` have nu in the place of C, and an offset always.
    """
    return {
        "kernel": kernel.name,
        "gamma": kernel.gamma,
        "degree": kernel.degree,
        "coef0": kernel.coef0,
        "C": float(getattr(estimator, "C", 1.0)),
        "fit_intercept": bool(getattr(estimator, "fit_intercept", True)),
        "tol": checking.tolerance(estimator.tol),
        "seed": checking.seed_of(estimator.random_state),
    }


def task_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of `dcsvm_dask.train` that name the task, and those that it has.

    Parameters
    ----------
    estimator : WithRun
    """
    name = estimator.task_name
    task, svm_type = task_and_type(name)
    found: dict[str, Any] = {"task": task, "svm_type": svm_type}
    for word in words_of_task(name):
        value = getattr(estimator, word)
        if is_several(value):
            found[word] = list(checked_quantiles(value))
        else:
            found[word] = value if isinstance(value, str) else float(value)
    return found


def labels_and_weights(
    estimator: Any, codes: NDArray[np.int32]
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Return the labels of rows as a run has them, and the weights of classes by these labels.

    Parameters
    ----------
    estimator : classifier
        With ``classes_``, and ``class_weight_`` where classes may have weights.
    codes : ndarray, shape (n,), int32

    Returns
    -------
    labels : ndarray, shape (n,)
    words : dict
        ``class_weight`` of `dcsvm_dask.train`, or none.
    """
    labels = run_labels(estimator.classes_)
    if not hasattr(estimator, "class_weight_"):
        return labels[codes], {}
    weights = dict(zip(labels.tolist(), estimator.class_weight_.tolist(), strict=True))
    return labels[codes], {"class_weight": weights}


def rows_of_weight(
    codes: NDArray[np.int32], weights: NDArray[np.float64], classes: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the rows with a weight above 0, which train.

    Parameters
    ----------
    codes : ndarray, shape (n,), int32
    weights : ndarray, shape (n,)
    classes : ndarray, shape (n_classes,)
        Labels.

    Raises
    ------
    InputError
        If a class has none.
    """
    rows = np.flatnonzero(weights > 0)
    counts = np.bincount(codes[rows], minlength=len(classes))
    for label, count in zip(classes.tolist(), counts.tolist(), strict=True):
        if not count:
            raise InputError(
                f"sample_weight: no row of class {label!r} weighs more than 0; a run "
                "needs one of each class. Leave the rows of this class out."
            )
    return rows


@contextmanager
def trained_as_asked(
    estimator: Any,
    kernel: Kernel,
    X: Rows,
    y: NDArray[Any] | None,
    weights: NDArray[np.float64] | None,
    tasks: FitTasks,
    **own: Any,
) -> Iterator[RunFolder]:
    """Train an estimator that has the parameters `RUN_PARAMETERS` as a run; yield its folder.

    Parameters
    ----------
    estimator : WithRun
    kernel : Kernel
    X : Rows, shape (n, n_features)
    y : ndarray, shape (n,), or None
        See `trained`.
    weights : ndarray, shape (n,), float64, optional
        Weights of rows, 0 or more.
    tasks : FitTasks
        Reports the run's stages to callbacks.
    **own
        Parameters of `dcsvm_dask.train` that are neither common nor of the task.
    """
    words = {
        **training_parameters(estimator, kernel),
        "stop_at": estimator.stop_at,
        "inner": checking.inner_solver(estimator.inner),
        **task_parameters(estimator),
        **own,
    }
    how = {name: getattr(estimator, name) for name in ("client", "time_budget", "callbacks")}
    how["more_callbacks"] = [StageTasks(tasks)]
    how["verbose"] = bool(getattr(estimator, "verbose", False))
    how |= {"weights": weights, "feature_names": given_rows.names_of(estimator)}
    with (
        checking.threads_for_tasks(estimator.n_jobs),
        narrow_left_to_caller(),
        trained(estimator.run, X, y, words, **how) as run,
    ):
        yield run.folder


@contextmanager
def trained(
    place: Any,
    X: Rows,
    y: NDArray[Any] | None,
    words: dict[str, Any],
    *,
    weights: NDArray[np.float64] | None = None,
    feature_names: list[str] | None = None,
    client: Any = None,
    time_budget: float | None = None,
    callbacks: Any = None,
    more_callbacks: Sequence[Callback] = (),
    verbose: bool = False,
) -> Iterator[api.Run]:
    """Train in a run folder, or go on with the run that is there; yield it.

    Parameters
    ----------
    place : str, path or None
        The run's folder; the data lie beside it, as ``PLACE.data.zarr``. None: a temporary folder.
    X : ndarray or CSR, shape (n, d), float32
    y : ndarray, shape (n,), or None
        Labels, see `labels_and_weights`, or targets where a task of `words` has them; None where
        it has neither.
    words : dict
        Parameters of `dcsvm_dask.train`.
    weights : ndarray, shape (n,), float64, optional
        Weights of rows, above 0.
    feature_names : list of str, optional
        By which the run finds the features of rows to predict.
    client : distributed.Client, optional
        Whose cluster trains; None: this process.
    time_budget : float, optional
        Seconds.
    callbacks, more_callbacks : sequence of Callback, optional
        The user's, and the estimator's own.
    verbose : bool, default False
        Whether progress is printed.

    Raises
    ------
    InputError
        If the run was begun with other data or parameters.
    """
    # Estimators promise the attributes of theirs: none is chosen for them.
    words = {"method": DEFAULT_METHOD, **words}
    task = words.get("task", "classification")
    taken = {"weights": weights, "task": task, "scale": "none"}
    source = ArraySource(X, y, feature_names=feature_names)
    is_path = isinstance(place, os.PathLike | Location)
    named = place is None or is_path or (isinstance(place, str) and place.strip() != "")
    check(named, "run", place, "the path or URL of a folder, or None")
    if callbacks is not None and not isinstance(callbacks, list | tuple):
        raise InputError(f"callbacks is {callbacks!r:.80}; give a list of dcsvm_dask.Callback.")
    workers = 0 if client is None else None
    how: dict[str, Any] = {
        "execution": api.Execution(workers=workers, client=client, time_budget=time_budget),
        "quiet": not verbose,
        "report": False,
        "callbacks": (*(callbacks or ()), *more_callbacks),
    }
    if place is None:
        with tempfile.TemporaryDirectory(prefix="dcsvm-") as folder:
            data = api.ingest(source, Path(folder) / "data.zarr", **taken)
            run = api.train(data.url, Path(folder) / "run", **how, **words)
            if time_budget is not None and reached_model(run.folder) is None:
                raise InputError(
                    f"time_budget: no level was solved within {time_budget:g} s, and a run without "
                    "a folder is not kept: give more time, or a `run` to go on with."
                )
            yield run
        return
    target = Location.of(place)
    if not (target / "run.json").exists():
        with data_for_run(source, target, **taken) as data:
            yield api.train(data.url, target, **how, **words)
        return
    _refuse_others(target, data_place(target), X, y, taken, words)
    goals = {"tol": words["tol"]} | {key: words[key] for key in ("stop_at",) if key in words}
    yield api.resume(target, **how, **goals)


def run_labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return what stands for classes in a data set, in the same order.

    The labels, where they are numbers, or strings that are none; else the codes.
    """
    if classes.dtype.kind in "iuf":  # scikit-learn takes whole numbers only
        return classes.astype(np.int64)
    words = [one for one in classes.tolist() if isinstance(one, str)]
    if len(words) == len(classes) and not any(map(_is_number, words)):
        return np.array(words)
    return np.arange(len(classes))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _refuse_others(
    target: Location,
    place: Location,
    X: Rows,
    y: NDArray[Any] | None,
    taken: dict[str, Any],
    words: dict[str, Any],
) -> None:
    """Refuse a run that was begun with other data or parameters."""
    data, header = DataSet.open(place), RunFolder.open(target).header
    with tempfile.TemporaryDirectory(prefix="dcsvm-") as folder:
        given = api.ingest((X, y), Path(folder) / "data.zarr", **taken).fingerprint
    if given != data.fingerprint or given != header["data"]["fingerprint"]:
        raise InputError(f"run: {target} was begun with other data; name another folder.")
    differing = differences(Training.of(words), data, header, None)
    if differing:
        own = {OWN_NAMES.get(name, name): values for name, values in differing.items()}
        raise InputError(
            f"run: {target} was begun with other parameters ({in_words(own, as_options=False)}); "
            "give what it was begun with, or name another folder."
        )


def reached(run: RunFolder) -> tuple[Choice, Committed, Model]:
    """Return the model that a run has reached: how it decides, its commit, and itself.

    Raises
    ------
    InputError
        If there is none.
    """
    choice = choose_model(run, approximation=approximation(run.header["settings"]))
    return choice, run.node(choice.stage, "commit"), load_model(run, choice.stage)
