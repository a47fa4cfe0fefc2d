"""scikit-learn estimators: parameters and fitted attributes as SVC and LinearSVC have them.

They need scikit-learn, the extra ``sklearn``. Nothing is solved here: that is `dcsvm_dask.solvers`.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from dcsvm_dask.lazy import on_first_use

if find_spec("sklearn") is None:
    raise ModuleNotFoundError(
        "estimators need scikit-learn: pip install scikit-learn", name="sklearn"
    )

if TYPE_CHECKING:
    from dcsvm_dask.estimators.budgeted_svc import BudgetedSVC
    from dcsvm_dask.estimators.budgeted_svr import BudgetedSVR
    from dcsvm_dask.estimators.libsvm import to_libsvm
    from dcsvm_dask.estimators.linear_svc import LinearDCSVC
    from dcsvm_dask.estimators.linear_svr import LinearDCSVR
    from dcsvm_dask.estimators.methods import (
        BaggingSVC,
        CascadeSVC,
        FourierSVC,
        GreedySVC,
        LtpuSVC,
        NystromSVC,
        OnlineSVC,
    )
    from dcsvm_dask.estimators.nu_svc import DCNuSVC
    from dcsvm_dask.estimators.nu_svr import DCNuSVR
    from dcsvm_dask.estimators.one_class import DCOneClassSVM
    from dcsvm_dask.estimators.onnx import to_onnx
    from dcsvm_dask.estimators.quantile_svr import DCQuantileSVR
    from dcsvm_dask.estimators.search import DCSVMSearchCV
    from dcsvm_dask.estimators.svc import DCSVC
    from dcsvm_dask.estimators.svr import DCSVR
else:
    # Most programs use one of them.
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "budgeted_svc": ("BudgetedSVC",),
            "budgeted_svr": ("BudgetedSVR",),
            "libsvm": ("to_libsvm",),
            "linear_svc": ("LinearDCSVC",),
            "linear_svr": ("LinearDCSVR",),
            "methods": (
                "BaggingSVC",
                "CascadeSVC",
                "FourierSVC",
                "GreedySVC",
                "LtpuSVC",
                "NystromSVC",
                "OnlineSVC",
            ),
            "nu_svc": ("DCNuSVC",),
            "nu_svr": ("DCNuSVR",),
            "one_class": ("DCOneClassSVM",),
            "onnx": ("to_onnx",),
            "quantile_svr": ("DCQuantileSVR",),
            "search": ("DCSVMSearchCV",),
            "svc": ("DCSVC",),
            "svr": ("DCSVR",),
        },
    )

__all__ = [
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
