"""The tasks by name."""

from __future__ import annotations

from dcsvm_dask.tasks.classification import Classification
from dcsvm_dask.tasks.task import Task

TASKS: dict[str, Task] = {"classification": Classification()}
