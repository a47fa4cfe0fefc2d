"""The method of a linear kernel where none is named: solvers that need no kernel values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from dcsvm_dask.kernels import KERNELS
from dcsvm_dask.parameters import DEFAULT_METHOD
from dcsvm_dask.pipeline.training import Training, parameter_names
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.tasks import SUPERVISED, task_and_type

IN_MEMORY, STREAMED = "dcd", "ocas"
WITH_BIAS: dict[str, Any] = {"bias": "free"}
"""What makes the bias of `IN_MEMORY` that of `dcsvm`; `STREAMED` has no such bias."""


def suited(
    training: Training,
    data: DataSet,
    pieces: Callable[[Training], int],
    say: Callable[[str], None],
) -> Training:
    """Return the training with the method that suits data and memory, where none was named.

    It solves the problem of `dcsvm`. With a bias that is dual coordinate descent whose bias is
    free, because other linear solvers regularise the bias.

    Parameters
    ----------
    training : Training
    data : DataSet
    pieces : callable
        In how many pieces the tasks of a training read their rows, to hold one at a time; 0 where
        it does not fit the memory in any.
    say : callable
        Takes a sentence on what was chosen and why.
    """
    if not is_open(training):
        return training
    lacking = lacks(training, data)
    if lacking:
        say(
            f"method {DEFAULT_METHOD}: {lacking}, which linear solvers lack, so it computes values "
            "of the linear kernel"
        )
        return training
    linear = as_linear(training, IN_MEMORY)
    assert linear is not None
    read_in = pieces(linear)
    if training.fit_intercept:
        return _with_bias(training, linear, read_in, say)
    same = "the kernel is linear and there is no bias, so it solves the problem of dcsvm"
    if read_in == 1:
        say(f"method {IN_MEMORY}: {same}, without kernel values; name a method to have another")
        return linear
    streamed = as_linear(training, STREAMED)
    assert streamed is not None
    say(
        f"method {STREAMED}: {same}, over rows that do not fit the workers' memory; tol is its gap "
        "as a share of the objective; name a method to have another"
    )
    return streamed


def _with_bias(
    training: Training, linear: Training, pieces: int, say: Callable[[str], None]
) -> Training:
    """Return the training where there is a bias; see `suited`."""
    words = " ".join(f"-P {name}={value}" for name, value in WITH_BIAS.items())
    if not pieces:
        say(
            f"method {DEFAULT_METHOD}: vectors of {IN_MEMORY} {words} do not fit the workers' "
            "memory, however its rows are read; it computes values of the linear kernel"
        )
        return training
    read = "" if pieces == 1 else f"; rows do not fit the workers' memory and are read in {pieces}"
    say(
        f"method {IN_MEMORY} {words}: the kernel is linear and the bias is not regularised, so it "
        f"solves the problem of {DEFAULT_METHOD}, without kernel values"
        f"{read + ' pieces, again for each pass' if read else ''}; name a method to have another"
    )
    return linear


def is_open(training: Training) -> bool:
    """Return whether no method was named, and linear solvers may be chosen."""
    return training.chooses and KERNELS[training.kernel].is_linear


def lacks(training: Training, data: DataSet) -> str:
    """Return what is asked for that linear solvers do not have; empty: they have all."""
    task = training.of_task.chosen(data.task)
    if task not in SUPERVISED:
        name, svm_type = task_and_type(task)
        return f"{name} with svm-type nu is asked for" if svm_type == "nu" else f"task {name}"
    others = sorted(given(training).keys() - set(parameter_names(IN_MEMORY)))
    return "" if not others else f"{', '.join(others).replace('_', '-')} is given"


def as_begun(training: Training, method: str) -> Training:
    """Return a training that names no method as `suited` may have begun it, by a run's method."""
    return (method in (IN_MEMORY, STREAMED) and as_linear(training, method)) or training


def as_linear(training: Training, method: str) -> Training | None:
    """Return a training by a linear method that was begun without a name; None if it is none.

    Where levels or others of its parameters are given, or a bias for which the method has another
    problem, `dcsvm` is meant.
    """
    if not is_open(training) or (training.fit_intercept and method != IN_MEMORY):
        return None
    words = given(training)
    if words.keys() - set(parameter_names(method)):
        return None
    bias = WITH_BIAS if training.fit_intercept else {}
    return Training.of({**words, **bias, "method": method})


def given(training: Training) -> dict[str, Any]:
    """Return the parameters of a training that are not the usual ones, but for its method."""
    usual = {one.name: one.default for one in fields(Training)}
    return {
        name: value
        for name, value in training.words().items()
        if name != "method"
        and not np.array_equal(np.asarray(value, object), np.asarray(usual[name], object))
    }
