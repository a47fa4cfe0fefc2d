"""The tasks by name."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.tasks.classification import Classification
from dcsvm_dask.tasks.one_class import OneClass
from dcsvm_dask.tasks.regression import Quantile, Regression
from dcsvm_dask.tasks.task import Task

TASKS: dict[str, type[Task]] = {
    "classification": Classification,
    "regression": Regression,
    "quantile": Quantile,
    "one-class": OneClass,
}
SUPERVISED = ("classification", "regression", "quantile")
"""Tasks that learn from targets."""
ONE_CLASS = OneClass.name
WITH_COMMITTEE = (Classification.name, Regression.name)
"""Tasks whose SVMs can be calibrated as probabilities, for a committee."""
OF_TASKS = {
    "epsilon": "regression",
    "loss": "regression",
    "quantile": "quantile",
    "nu": "one-class",
}
"""The task that has a parameter which users set."""


def make_task(name: str, options: dict[str, Any]) -> Task:
    """Return a task by its name and its parameters.

    Raises
    ------
    InputError
        If a parameter is outside its range.
    """
    return TASKS[name](**options)
