"""Fitted estimators as ONNX graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators.expansion import dense
from dcsvm_dask.estimators.known_kernel import refuse_known
from dcsvm_dask.estimators.linear_svc import LinearDCSVC
from dcsvm_dask.estimators.linear_svr import LinearDCSVR
from dcsvm_dask.estimators.nu_svc import DCNuSVC
from dcsvm_dask.estimators.one_class import DCOneClassSVM
from dcsvm_dask.estimators.quantile_svr import DCQuantileSVR
from dcsvm_dask.estimators.regressors import KernelRegressor
from dcsvm_dask.estimators.svc import DCSVC
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models.onnx import (
    expansion_onnx,
    linear_onnx,
    outputs_onnx,
    ovo_onnx,
    ovr_onnx,
)
from dcsvm_dask.models.schemes import OneVsRest

KINDS = (DCSVC, DCNuSVC, LinearDCSVC, LinearDCSVR, KernelRegressor, DCOneClassSVM)


def to_onnx(
    estimator: DCSVC | LinearDCSVC | LinearDCSVR | KernelRegressor | DCOneClassSVM,
) -> Any:
    """Return a fitted estimator as an ONNX graph, which `onnx.save_model` writes to a file.

    Parameters
    ----------
    estimator : object
        Fitted: a DCSVC, DCNuSVC, LinearDCSVC, DCSVR, DCNuSVR, DCQuantileSVR, LinearDCSVR or
        DCOneClassSVM.

    Returns
    -------
    onnx.ModelProto
        Input ``rows``, float32, shape (N, n_features). Outputs ``label``, shape (N,), of what
        ``classes_`` has (int64, float64, bool or strings; of a DCOneClassSVM 1 and -1), and
        ``decision``, float32, of the shape that ``decision_function`` has; of a regressor
        ``prediction``, float64, shape (N,), or (N, n_quantiles) of several quantiles. It computes
        in float64 and takes 16 bytes of memory for each pair of a row and a support vector (48 with
        the laplacian kernel): give many rows in batches.

    Raises
    ------
    InputError
        If the estimator is another, its model is an early one, the package onnx is not installed,
        labels have a type that ONNX has not, or the model is above 2 GB.
    sklearn.exceptions.NotFittedError
    """
    if not isinstance(estimator, KINDS):
        raise InputError(
            "to_onnx takes a classifier, a regressor or a DCOneClassSVM of dcsvm_dask, not a "
            f"{type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    refuse_known("to_onnx", getattr(estimator, "_kernel", None))
    if getattr(estimator, "level_", 0):
        raise InputError(
            "to_onnx: there is no graph of an early model, in which each block has an SVM of its "
            "own; fit with stop_at=0"
        )
    if isinstance(estimator, KernelRegressor):
        if isinstance(estimator, DCQuantileSVR) and estimator._quantiles:
            return outputs_onnx(estimator._model(), sort=bool(estimator.sort_quantiles))
        coef, bias = dense(estimator.dual_coef_)[0], float(estimator.intercept_[0])
        return expansion_onnx(estimator._kernel, estimator.support_vectors_, coef, bias, None)
    if isinstance(estimator, DCOneClassSVM):
        coef, rho = dense(estimator.dual_coef_)[0], float(estimator.offset_[0])
        signs = np.array([-1, 1])
        return expansion_onnx(estimator._kernel, estimator.support_vectors_, coef, -rho, signs)
    if isinstance(estimator, LinearDCSVR):
        # The weights are the only support vector.
        linear, bias = Kernel("linear"), float(estimator.intercept_[0])
        return expansion_onnx(linear, estimator.coef_[None, :], np.ones(1), bias, None)
    if isinstance(estimator, LinearDCSVC):
        weights: Any = estimator.coef_  # sparse after `sparsify`
        weights = weights.toarray() if sparse.issparse(weights) else weights
        return linear_onnx(weights, np.asarray(estimator.intercept_), estimator.classes_)
    model = estimator._model()
    if isinstance(model.scheme, OneVsRest):
        return ovr_onnx(model, estimator.classes_)
    return ovo_onnx(
        model,
        estimator.classes_,
        shape=estimator.decision_function_shape,
        break_ties=estimator.break_ties,
    )
