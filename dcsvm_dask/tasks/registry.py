"""The tasks by name."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.tasks.classification import Classification
from dcsvm_dask.tasks.nu import NuClassification, NuRegression
from dcsvm_dask.tasks.one_class import OneClass
from dcsvm_dask.tasks.quantiles import Quantiles, is_several
from dcsvm_dask.tasks.regression import Quantile, Regression
from dcsvm_dask.tasks.task import Task

TASKS: dict[str, type[Task]] = {
    "classification": Classification,
    "regression": Regression,
    "quantile": Quantile,
    "one-class": OneClass,
    "nu-classification": NuClassification,
    "nu-regression": NuRegression,
}
SUPERVISED = ("classification", "regression", "quantile")
"""Tasks that learn from targets."""
DATA_TASKS = ("classification", "regression", "quantile", "one-class")
"""What users name as the task of data; a type of SVM makes others of the first two."""
ONE_CLASS = OneClass.name
WITH_COMMITTEE = (
    Classification.name,
    Regression.name,
    NuClassification.name,
    NuRegression.name,
)
"""Tasks whose SVMs can be calibrated as probabilities, for a committee."""
WITHOUT_C = (OneClass.name, NuClassification.name)
"""Tasks in which nu stands for C."""
OF_TASKS: dict[str, tuple[str, ...]] = {
    "epsilon": ("regression",),
    "loss": ("classification", "regression"),
    "quantile": ("quantile",),
    "nu": ("one-class", "nu-classification", "nu-regression"),
}
"""The tasks that have a parameter which users set."""
_NU = "nu-"


def words_of_task(name: str) -> list[str]:
    """Return the parameters of a task, as users name them."""
    return [word for word, owners in OF_TASKS.items() if name in owners]


def task_name(task: str, svm_type: str) -> str:
    """Return the name of a task whose SVM is that of a type, "c" or "nu"."""
    return _NU + task if svm_type == "nu" and _NU + task in TASKS else task


def task_and_type(name: str) -> tuple[str, str]:
    """Return what `task_name` made a name of."""
    return (name.removeprefix(_NU), "nu") if name.startswith(_NU) else (name, "c")


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
