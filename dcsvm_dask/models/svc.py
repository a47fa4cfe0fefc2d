"""A model as a fitted scikit-learn SVC, SVR, OneClassSVM or LinearSVC."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kernels_of_libsvm
from dcsvm_dask.models.model import Model

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trained:
    """An SVM with one decision value, sum_i coef_i K(x_i, x) + bias, and the rows it comes from."""

    kernel: Kernel
    """Any that LIBSVM knows: not the Laplacian one."""
    support: Rows
    """Support vectors, shape (m, d)."""
    rows: NDArray[np.int64]
    """Their row numbers in the training data, shape (m,)."""
    coef: Vector
    """y_i alpha_i, or alpha_i - alpha_i*, shape (m,); not 0."""
    bias: float
    n_rows: int
    """Rows of the training data."""


def require_sklearn(what: str) -> None:
    """Refuse something that needs scikit-learn where it is not installed.

    Raises
    ------
    InputError
    """
    if find_spec("sklearn") is None:
        raise InputError(f"{what} needs scikit-learn: pip install scikit-learn")


def to_svc(trained: Trained, C: float, tol: float, classes: list[Any]) -> Any:
    """Return a fitted `sklearn.svm.SVC` that makes the same decisions.

    scikit-learn has no public way to fill an SVC, so its private attributes are set; a test pins
    them to the version that is installed.

    Parameters
    ----------
    trained : Trained
    C, tol : float
        Parameters to put into the SVC.
    classes : list of two labels
        The second one is the positive class.

    Raises
    ------
    InputError
        If scikit-learn is not installed or has no such kernel.
    """
    # The negative class comes first; inside, SVC keeps coefficients with the other sign.
    coef = trained.coef
    order = np.concatenate([np.flatnonzero(coef < 0), np.flatnonzero(coef > 0)])
    dual = np.asarray(coef, dtype=np.float64)[order][None, :]
    counts = np.array([np.count_nonzero(coef < 0), np.count_nonzero(coef > 0)])
    svc = _svc(trained.kernel, C, tol, classes)
    support, rows = trained.support[order], trained.rows[order]
    _fill(svc, trained.kernel, support, rows, dual, counts, trained.n_rows)
    svc.intercept_ = np.array([trained.bias])
    svc._dual_coef_, svc._intercept_ = -svc.dual_coef_, np.array([-trained.bias])
    return svc


def to_ovo_svc(
    model: Model,
    C: float,
    tol: float,
    rows: NDArray[np.int64],
    classes: list[Any],
    n_rows: int,
) -> Any:
    """Return a fitted `sklearn.svm.SVC` that makes the same decisions of many classes.

    Parameters
    ----------
    model : Model
        A one-vs-one model of the whole problem.
    C, tol : float
        Parameters to put into the SVC.
    rows : ndarray, shape (n_support,), int64
        The row numbers of its support vectors in the training data.
    classes : list of labels
    n_rows : int
        Rows of the training data.

    Raises
    ------
    InputError
        If scikit-learn is not installed or has no such kernel.
    """
    dual = np.ascontiguousarray(model.coef, dtype=np.float64)
    svc = _svc(model.kernel, C, tol, classes)
    _fill(svc, model.kernel, model.support, rows, dual, model.counts[0], n_rows)
    svc.intercept_ = np.array(model.bias[0])
    svc._dual_coef_, svc._intercept_ = svc.dual_coef_, svc.intercept_
    svc.n_iter_ = svc._num_iter = np.zeros(model.bias.shape[1], np.int32)
    return svc


def to_svr(trained: Trained, C: float, tol: float, epsilon: float) -> Any:
    """Return a fitted `sklearn.svm.SVR` that makes the same predictions; see `to_svc`.

    Parameters
    ----------
    trained : Trained
    C, tol, epsilon : float
        Parameters to put into the SVR.

    Raises
    ------
    InputError
        If scikit-learn is not installed or has no such kernel.
    """
    require_sklearn("to_sklearn")
    from sklearn.svm import SVR

    svr = SVR(C=C, tol=tol, epsilon=epsilon, **_words(trained.kernel, "SVR"))
    return _filled(svr, trained)


def to_one_class(trained: Trained, nu: float, tol: float) -> Any:
    """Return a fitted `sklearn.svm.OneClassSVM` that makes the same decisions; see `to_svr`.

    Parameters
    ----------
    trained : Trained
        The offset is minus the bias.
    nu, tol : float
        Parameters to put into the OneClassSVM.

    Raises
    ------
    InputError
        If scikit-learn is not installed or has no such kernel.
    """
    require_sklearn("to_sklearn")
    from sklearn.svm import OneClassSVM

    found = OneClassSVM(nu=nu, tol=tol, **_words(trained.kernel, "OneClassSVM"))
    found.offset_ = np.array([-trained.bias])
    return _filled(found, trained)


def _filled(machine: Any, trained: Trained) -> Any:
    """Return an estimator without classes, with all that it has learned."""
    machine.class_weight_ = np.empty(0)
    dual, m = np.asarray(trained.coef, dtype=np.float64)[None, :], len(trained.coef)
    counts = np.array([m, m])
    _fill(machine, trained.kernel, trained.support, trained.rows, dual, counts, trained.n_rows)
    machine.intercept_ = machine._intercept_ = np.array([trained.bias])
    machine._dual_coef_, machine.n_iter_ = machine.dual_coef_, 0
    return machine


def _words(kernel: Kernel, name: str) -> dict[str, Any]:
    """Return a kernel as parameters of scikit-learn's estimators."""
    if kernel.kind.libsvm is None:
        known = ", ".join(kernels_of_libsvm())
        raise InputError(f"to_sklearn: {name} has no {kernel.name} kernel; it has {known}")
    return {
        "kernel": kernel.name,
        "degree": kernel.degree,
        "gamma": kernel.gamma,
        "coef0": kernel.coef0,
    }


def _svc(kernel: Kernel, C: float, tol: float, classes: list[Any]) -> Any:
    """Return an SVC with its classes."""
    require_sklearn("to_sklearn")
    from sklearn.svm import SVC

    svc = SVC(C=C, tol=tol, **_words(kernel, "SVC"))
    svc.classes_ = np.array(classes)
    svc.class_weight_ = np.ones(len(classes))
    return svc


def _fill(
    svc: Any,
    kernel: Kernel,
    support: Rows,
    rows: NDArray[np.int64],
    dual: Vector,
    counts: NDArray[np.int64],
    n_rows: int,
) -> None:
    """Set all but an estimator's offsets and coefficients as it keeps them inside.

    Parameters
    ----------
    svc : estimator
        An SVC, SVR or OneClassSVM. Updated.
    kernel : Kernel
    support : Rows, shape (m, d)
        One class after the other.
    rows : ndarray, shape (m,), int64
    dual : ndarray, shape (n_coefficients, m), float64
    counts : ndarray, shape (n_classes,), int64
        Support vectors of each class; of an estimator without classes their number, twice.
    n_rows : int
        Rows of the training data.
    """
    from scipy import sparse

    sparse_rows = is_sparse(support)
    svc.n_features_in_ = int(support.shape[1])
    svc.shape_fit_ = (n_rows, svc.n_features_in_)
    svc.fit_status_ = 0
    svc.support_ = rows.astype(np.int32)
    kept = support.astype(np.float64)
    if sparse_rows:
        kept.indices, kept.indptr = kept.indices.astype(np.int32), kept.indptr.astype(np.int32)
        # SVC looks at the stored values alone, so zeros are stored too.
        m, n = dual.shape
        stored = dual.ravel(), np.tile(np.arange(n, dtype=np.int32), m), n * np.arange(m + 1)
        kept, dual = sparse.csr_array(kept), sparse.csr_array(stored, shape=(m, n))
    else:
        kept = np.ascontiguousarray(kept)
    svc.support_vectors_ = kept
    svc._n_support = counts.astype(np.int32)
    svc.dual_coef_ = dual
    svc._probA = svc._probB = np.empty(0)
    svc._gamma = float(kernel.gamma)
    svc._sparse = sparse_rows
    svc._effective_probability = False
    svc.n_iter_ = svc._num_iter = np.array([0], np.int32)


def to_linear_svm(
    w: Vector, bias: Vector, classes: list[Any] | None, *, n_iter: int, **parameters: Any
) -> Any:
    """Return a fitted `sklearn.svm.LinearSVC` or `LinearSVR` of some weights.

    All that it learns is public.

    Parameters
    ----------
    w : ndarray, shape (n_svms, d)
    bias : ndarray, shape (n_svms,)
    classes : list of labels, or None
        Of two the second one is the positive class; of more there is an SVM for each. None: a
        LinearSVR.
    n_iter : int
        Iterations that training took.
    **parameters
        Those of the estimator.

    Raises
    ------
    InputError
        If scikit-learn is not installed.
    """
    require_sklearn("to_sklearn")
    from sklearn.svm import LinearSVC, LinearSVR

    svm = LinearSVR(**parameters) if classes is None else LinearSVC(**parameters)
    svm.n_features_in_, svm.n_iter_ = w.shape[1], n_iter
    svm.coef_ = np.asarray(w, dtype=np.float64)
    svm.intercept_ = bias.copy() if parameters.get("fit_intercept", True) else 0.0
    if classes is None:
        svm.coef_ = svm.coef_[0]
    else:
        svm.classes_ = np.array(classes)
    return svm
