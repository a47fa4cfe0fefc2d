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
    from dcsvm_dask.estimators import (
        DCSVC,
        DCSVR,
        BaggingSVC,
        BudgetedSVC,
        BudgetedSVR,
        CascadeSVC,
        DCNuSVC,
        DCNuSVR,
        DCOneClassSVM,
        DCQuantileSVR,
        DCSVMSearchCV,
        FourierSVC,
        GreedySVC,
        LinearDCSVC,
        LinearDCSVR,
        LtpuSVC,
        NystromSVC,
        OnlineSVC,
        to_libsvm,
        to_onnx,
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
_API = frozenset(__all__)
__all__ += [
    "DCSVC",
    "DCSVR",
    "BaggingSVC",
    "BudgetedSVC",
    "BudgetedSVR",
    "CascadeSVC",
    "DCNuSVC",
    "DCNuSVR",
    "DCOneClassSVM",
    "DCQuantileSVR",
    "DCSVMSearchCV",
    "FourierSVC",
    "GreedySVC",
    "LinearDCSVC",
    "LinearDCSVR",
    "LtpuSVC",
    "NystromSVC",
    "OnlineSVC",
    "to_libsvm",
    "to_onnx",
]


def __getattr__(name: str) -> Any:
    # Imported on first use, so that the command and `import dcsvm_dask` start fast.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = "api" if name in _API else "estimators"
    return getattr(importlib.import_module(f"{__name__}.{room}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
