"""The doors for Python: `ingest`, `train`, `easy`, `search`, `resume`, `open_run`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcsvm_dask.api.easy_run import EasyRun, easy
    from dcsvm_dask.api.ingesting import ingest
    from dcsvm_dask.api.or_resuming import train_or_resume
    from dcsvm_dask.api.pipelines import forget, run_pipeline
    from dcsvm_dask.api.planning import plan, plan_on
    from dcsvm_dask.api.resuming import resume
    from dcsvm_dask.api.run import Run, compare, open_run
    from dcsvm_dask.api.searching import search
    from dcsvm_dask.api.training import train
    from dcsvm_dask.readers.memory import memory_bound
    from dcsvm_dask.runtime.callbacks import Callback, StopRun
    from dcsvm_dask.runtime.events import StageDone
    from dcsvm_dask.runtime.execution import Execution
    from dcsvm_dask.runtime.workers import planned_workers

__all__ = [
    "Callback",
    "EasyRun",
    "Execution",
    "Run",
    "StageDone",
    "StopRun",
    "compare",
    "easy",
    "forget",
    "ingest",
    "memory_bound",
    "open_run",
    "plan",
    "plan_on",
    "planned_workers",
    "resume",
    "run_pipeline",
    "search",
    "train",
    "train_or_resume",
]

_MODULES = {
    "Callback": "dcsvm_dask.runtime.callbacks",
    "EasyRun": "dcsvm_dask.api.easy_run",
    "Execution": "dcsvm_dask.runtime.execution",
    "Run": "dcsvm_dask.api.run",
    "StageDone": "dcsvm_dask.runtime.events",
    "StopRun": "dcsvm_dask.runtime.callbacks",
    "compare": "dcsvm_dask.api.run",
    "easy": "dcsvm_dask.api.easy_run",
    "forget": "dcsvm_dask.api.pipelines",
    "ingest": "dcsvm_dask.api.ingesting",
    "memory_bound": "dcsvm_dask.readers.memory",
    "open_run": "dcsvm_dask.api.run",
    "plan": "dcsvm_dask.api.planning",
    "plan_on": "dcsvm_dask.api.planning",
    "planned_workers": "dcsvm_dask.runtime.workers",
    "resume": "dcsvm_dask.api.resuming",
    "run_pipeline": "dcsvm_dask.api.pipelines",
    "search": "dcsvm_dask.api.searching",
    "train": "dcsvm_dask.api.training",
    "train_or_resume": "dcsvm_dask.api.or_resuming",
}


def __getattr__(name: str) -> Any:
    # Imported on first use: a command needs few of them, and each takes half a second or more.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return found
