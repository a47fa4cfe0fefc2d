"""Fitted estimators as model files of LIBSVM."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators.expansion import KernelExpansion, dense
from dcsvm_dask.estimators.known_kernel import refuse_known
from dcsvm_dask.estimators.nu_svc import DCNuSVC
from dcsvm_dask.estimators.nu_svr import DCNuSVR
from dcsvm_dask.estimators.one_class import DCOneClassSVM
from dcsvm_dask.estimators.quantile_svr import DCQuantileSVR
from dcsvm_dask.estimators.runs import run_labels
from dcsvm_dask.estimators.svc import DCSVC
from dcsvm_dask.estimators.svr import DCSVR
from dcsvm_dask.models.libsvm import label_integers, ovo_lines, sum_lines
from dcsvm_dask.storage.outputs import output

SVM_TYPES: dict[type[Any], str] = {
    DCSVC: "c_svc",
    DCNuSVC: "nu_svc",
    DCSVR: "epsilon_svr",
    DCQuantileSVR: "epsilon_svr",
    DCNuSVR: "nu_svr",
    DCOneClassSVM: "one_class",
}
"""LIBSVM's types. It has no quantiles, whose models predict as those of epsilon-SVR do."""


def to_libsvm(
    estimator: DCSVC | DCNuSVC | KernelExpansion,
    file: str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> tuple[int, ...]:
    """Write a fitted estimator as a model file of LIBSVM, which ``svm-predict`` reads.

    Parameters
    ----------
    estimator : DCSVC, DCNuSVC, DCSVR, DCQuantileSVR, DCNuSVR or DCOneClassSVM
        Fitted.
    file : str or path
    overwrite : bool, default False
        Whether an existing file is replaced.

    Returns
    -------
    tuple of int
        What stands for each of ``classes_``, since LIBSVM's labels are integers: the labels
        themselves where they are such; else -1 and 1 for two classes, and 0, 1, ... for more.
        Empty without classes.

    Raises
    ------
    InputError
        If the estimator is another, its model is an early one or one-vs-rest, it has several
        quantiles, LIBSVM has no such kernel, or the file exists.
    sklearn.exceptions.NotFittedError
    """
    svm_type = next((name for kind, name in SVM_TYPES.items() if isinstance(estimator, kind)), None)
    if svm_type is None:
        *names, last = (kind.__name__ for kind in SVM_TYPES)
        raise InputError(
            f"to_libsvm takes a {', '.join(names)} or {last}, not a {type(estimator).__name__}"
        )
    check_is_fitted(estimator)
    refuse_known("to_libsvm", getattr(estimator, "_kernel", None))
    if getattr(estimator, "level_", 0):
        raise InputError(
            "to_libsvm: LIBSVM has no early models, in which each block has an SVM of its own; fit "
            "with stop_at=0"
        )
    if isinstance(estimator, KernelExpansion) and len(estimator.intercept_) > 1:
        raise InputError(
            "to_libsvm: a file of LIBSVM holds one regression SVM, and this estimator has "
            f"{len(estimator.intercept_)} quantiles; fit one for each file"
        )
    labels: tuple[int, ...] = ()
    if isinstance(estimator, DCSVC | DCNuSVC):
        labels = label_integers(run_labels(estimator.classes_).tolist())
    target = output(file, "file", overwrite=overwrite)
    target.write_bytes("".join(_lines(estimator, svm_type, labels)).encode())
    return labels


def _lines(estimator: Any, svm_type: str, labels: tuple[int, ...]) -> Iterator[str]:
    """Return the lines of the model file."""
    if not labels:
        coef, bias = dense(estimator.dual_coef_)[0], float(estimator.intercept_[0])
        return sum_lines(svm_type, estimator._kernel, estimator.support_vectors_, coef, bias)
    if estimator._scheme != "ovo":
        raise InputError('to_libsvm: LIBSVM has no one-vs-rest; fit with multiclass="ovo"')
    return ovo_lines(estimator._model(), labels, svm_type=svm_type)
