"""Kernel support vector machines by divide and conquer, as a Dask task graph over Zarr arrays."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dcsvm_dask.api import (
        Callback,
        EasyRun,
        Execution,
        Run,
        StageDone,
        StopRun,
        compare,
        easy,
        ingest,
        memory_bound,
        open_run,
        plan,
        resume,
        run_pipeline,
        search,
        train,
        train_or_resume,
    )

__all__ = [
    "Callback",
    "EasyRun",
    "Execution",
    "Run",
    "StageDone",
    "StopRun",
    "compare",
    "easy",
    "ingest",
    "memory_bound",
    "open_run",
    "plan",
    "resume",
    "run_pipeline",
    "search",
    "train",
    "train_or_resume",
]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that the command and `import dcsvm_dask` start fast.
    if name in __all__:
        return getattr(importlib.import_module("dcsvm_dask.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
