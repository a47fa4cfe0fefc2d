"""The method of a linear kernel where none is named: solvers that need no kernel values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

import numpy as np

from dcsvm_dask.kernels import KERNELS
from dcsvm_dask.pipeline.training import Training, parameter_names
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.tasks import SUPERVISED

IN_MEMORY, STREAMED = "dcd", "ocas"


def suited(
    training: Training,
    data: DataSet,
    fits: Callable[[Training], bool],
    say: Callable[[str], None],
) -> Training:
    """Return the training with the method that suits data and memory, where none was named.

    Without a bias linear solvers have the problem of `dcsvm`. With one they regularise it, which is
    another problem, so that nobody gets it without asking.

    Parameters
    ----------
    training : Training
    data : DataSet
    fits : callable
        Whether the tasks of a training hold their rows in memory.
    say : callable
        Takes a sentence on what was chosen and why.
    """
    linear = as_linear(training, IN_MEMORY)
    if linear is None or training.task_of(data) not in SUPERVISED:
        return training
    if training.fit_intercept:
        say(
            "kernel linear: the method dcd needs no kernel values and takes a fraction of the "
            "time; its bias is regularised, as LIBLINEAR's, unless -P bias=free is given"
        )
        return training
    same = "the kernel is linear and there is no bias, so it solves the problem of dcsvm"
    if fits(linear):
        say(f"method {IN_MEMORY}: {same}, without kernel values; name a method to have another")
        return linear
    streamed = as_linear(training, STREAMED)
    assert streamed is not None
    say(
        f"method {STREAMED}: {same}, over rows that do not fit the workers' memory; tol is its gap "
        "as a share of the objective; name a method to have another"
    )
    return streamed


def as_begun(training: Training, method: str) -> Training:
    """Return a training that names no method as `suited` may have begun it, by a run's method."""
    if training.fit_intercept:
        return training
    return (method in (IN_MEMORY, STREAMED) and as_linear(training, method)) or training


def as_linear(training: Training, method: str) -> Training | None:
    """Return a training by a linear method that was begun without a name; None if it is none.

    Where levels or others of its parameters are given, `dcsvm` is meant.
    """
    if not training.chooses or not KERNELS[training.kernel].is_linear:
        return None
    usual = {one.name: one.default for one in fields(Training)}
    given = {
        name: value
        for name, value in training.words().items()
        if not np.array_equal(np.asarray(value, object), np.asarray(usual[name], object))
    }
    given.pop("method", None)
    if given.keys() - set(parameter_names(method)):
        return None
    return Training.of({**given, "method": method})
