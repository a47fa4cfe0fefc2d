"""C and the parameters of a task (epsilon, nu, quantile) in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dcsvm_dask.tasks import OF_TASKS, WITHOUT_C

NUMBERS = ("epsilon", "nu", "quantile")
"""Parameters of tasks that headers show; the loss is not one of them."""


def penalties(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return C, where the task has it, and the task's own numbers, as texts by their names.

    Parameters
    ----------
    settings : dict
        ``C``, and unless the task is classification ``task`` and ``task_options``; see
        `dcsvm_dask.methods.settings.Settings`.
    """
    task = settings.get("task", "classification")
    options = settings.get("task_options") or {}
    found = {} if task in WITHOUT_C else {"C": f"{settings['C']:g}"}
    for name in NUMBERS:
        if task in OF_TASKS[name] and name in options:
            values = options[name]
            listed = values if isinstance(values, (list, tuple)) else (values,)
            found[name] = ", ".join(f"{value:g}" for value in listed)
    return found
