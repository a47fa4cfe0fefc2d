"""The tasks by name."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.tasks.classification import Classification
from dcsvm_dask.tasks.one_class import OneClass
from dcsvm_dask.tasks.quantiles import Quantiles, is_several
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
OF_TASKS = {
    "epsilon": "regression",
    "loss": "regression",
    "quantile": "quantile",
    "nu": "one-class",
}
"""The task that has a parameter which users set."""


def make_task(name: str, options: dict[str, Any]) -> Task:
    """Return a task by its name and its parameters.

    A list of quantiles is a task of several, unless it holds one alone.

    Raises
    ------
    InputError
        If a parameter is outside its range.
    """
    if is_several(options.get("quantile")):
        several = Quantiles(**options)
        return several if len(several.quantile) > 1 else several.members[0]
    return TASKS[name](**options)
