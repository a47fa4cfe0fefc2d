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
OF_TASKS: dict[str, tuple[str, ...]] = {
    "epsilon": ("regression",),
    "loss": ("classification", "regression"),
    "quantile": ("quantile",),
    "nu": ("one-class",),
}
"""The tasks that have a parameter which users set."""


def make_task(name: str, options: dict[str, Any]) -> Task:
    """Return a task by its name and its parameters.

    Raises
    ------
    InputError
        If a parameter is outside its range.
    """
    return TASKS[name](**options)
