"""What estimators make of X, y, weights and parameters before anything is solved."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import (
    assert_all_finite,
    check_consistent_length,
    check_random_state,
    compute_class_weight,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d, validate_data

from dcsvm_dask.checks import check, is_a, is_finite
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators.known_kernel import KnownRows, is_known, known_rows
from dcsvm_dask.estimators.pools import most_threads
from dcsvm_dask.kernels import Kernel, Rows, check_rule, gamma_by
from dcsvm_dask.methods import resources
from dcsvm_dask.pipeline.parameters import check_value
from dcsvm_dask.readers.frames import is_frame
from dcsvm_dask.readers.targets import MOST_TARGET
from dcsvm_dask.runtime.clients import check_client, default_client, is_collection
from dcsvm_dask.storage.rounding import RoundingLoss
from dcsvm_dask.tasks.dual import UNBOUNDED

FEW_VALUES = 1 << 24
"""Up to so many kernel values a prediction has them in float64: it takes a fraction of a second."""
MOST_THREADS = 4096
MOST_STEPS = 10_000_000
"""Of an SVM with an infinite C, or a hundred for each row."""
LARGEST_WEIGHT = 1e100
MOST_SEED = np.iinfo(np.int32).max


def training_rows(estimator: Any, X: Any, y: Any) -> tuple[Rows, NDArray[np.int32]]:
    """Return checked rows and the codes of their classes; set ``classes_``.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse, shape (n, n_features)
    y : array-like, shape (n,)

    Returns
    -------
    X : ndarray or CSR, shape (n, n_features), float32
    codes : ndarray, shape (n,), int32

    Raises
    ------
    ValueError
        If X or y cannot be used, or has one class only.
    """
    X, y = labelled_rows(estimator, X, y, stacklevel=5)
    estimator.classes_, codes = np.unique(y, return_inverse=True)
    if len(estimator.classes_) < 2:
        only = estimator.classes_.tolist()[0]
        raise InputError(f"y has one class only ({only!r}): a classifier needs at least two.")
    return X, codes.astype(np.int32)


def labelled_rows(
    estimator: Any, X: Any, y: Any, *, reset: bool = True, stacklevel: int = 4
) -> tuple[Rows, NDArray[Any]]:
    """Return checked rows and their labels, which may be all equal.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse, shape (n, n_features)
    y : array-like, shape (n,)
    reset : bool, default True
        Whether the features may be others than in an earlier call.
    stacklevel : int, default 4
        Of the warning that float32 takes differences between rows away: from here to the caller
        of `fit`.

    Returns
    -------
    X : ndarray or CSR, shape (n, n_features), float32
    y : ndarray, shape (n,)

    Raises
    ------
    ValueError
        If X or y cannot be used.
    """
    _check_clients(estimator, X, y)
    if _is_given_values(estimator):
        return known_rows(estimator, X, y), _known_labels(X, y)
    given = X
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=np.float32,
        order="C",
        multi_output=False,
        reset=reset,
    )
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    _warn_rounded(given, X, names_of(estimator), stacklevel)
    return as_rows(X), y


def training_targets(estimator: Any, X: Any, y: Any) -> tuple[Rows, NDArray[np.float64]]:
    """Return checked rows and their real targets.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse, shape (n, n_features)
    y : array-like, shape (n,)

    Returns
    -------
    X : ndarray or CSR, shape (n, n_features), float32
    y : ndarray, shape (n,), float64
        Zeros have no sign.

    Raises
    ------
    ValueError
        If X or y cannot be used.
    """
    _check_clients(estimator, X, y)
    given = X
    if _is_given_values(estimator):
        X, y = known_rows(estimator, X, y), _known_targets(X, y)
    else:
        X, y = validate_data(
            estimator, X, y, accept_sparse="csr", dtype=np.float32, order="C", y_numeric=True
        )
    y = column_or_1d(y, warn=True)
    try:
        targets = y.astype(np.float64) + 0.0
    except ValueError as error:
        raise InputError(
            f"y holds {y.tolist()[0]!r:.40}, and a regressor learns numbers: use a classifier for "
            "labels."
        ) from error
    if not np.isfinite(targets).all():  # objects, which scikit-learn lets pass
        raise InputError("y holds a target that is missing or not finite: give finite numbers.")
    largest = float(np.abs(targets).max(initial=0.0))
    if largest > MOST_TARGET:
        raise InputError(
            f"y holds a target of {largest:.3g}: {MOST_TARGET:g} is the largest possible; scale "
            "the targets."
        )
    if isinstance(X, KnownRows):
        return X, targets
    _warn_rounded(given, X, names_of(estimator))
    return as_rows(X), targets


def rows_alone(estimator: Any, X: Any) -> Rows:
    """Return checked rows of a task without labels or targets.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse, shape (n, n_features)

    Returns
    -------
    ndarray or CSR, shape (n, n_features), float32

    Raises
    ------
    ValueError
        If X cannot be used.
    """
    _check_clients(estimator, X, None)
    if _is_given_values(estimator):
        return known_rows(estimator, X)
    return as_rows(validate_data(estimator, X, accept_sparse="csr", dtype=np.float32, order="C"))


def _is_given_values(estimator: Any) -> bool:
    """Return whether an estimator is given kernel values, and takes them."""
    takes = getattr(estimator, "takes_kernel_values", False)
    return bool(takes and is_known(estimator.kernel))


def _known_labels(X: Any, y: Any) -> NDArray[Any]:
    """Return checked labels of rows of which the kernel values are known."""
    labels = _known_targets(X, y)
    check_classification_targets(labels)
    return labels


def _known_targets(X: Any, y: Any) -> NDArray[Any]:
    if y is None:
        raise InputError("y is missing: give a label or target for each row.")
    found: NDArray[Any] = np.asarray(column_or_1d(y, warn=True))
    check_consistent_length(X, found)
    assert_all_finite(found, input_name="y")
    return found


def _check_clients(estimator: Any, X: Any, y: Any) -> None:
    """Refuse a client that cannot be used, of an estimator or of Dask collections."""
    clients = [getattr(estimator, "client", None)]
    if is_collection((X, y)):  # which Dask computes here
        clients.append(default_client())
    for client in clients:
        if client is not None:
            check_client(client)


def names_of(estimator: Any) -> list[str] | None:
    """Return the names of the features that an estimator was given, None if they have none."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _warn_rounded(given: Any, X: Any, names: list[str] | None, stacklevel: int = 4) -> None:
    """Warn the caller of `fit` where float32 takes differences between rows away."""
    in_memory = isinstance(given, np.ndarray | list) or sparse.issparse(given) or is_frame(given)
    if not in_memory or getattr(given, "dtype", None) == np.float32:
        return
    given = as_rows(given.tocsr()) if sparse.issparse(given) else np.asarray(given, np.float64)
    loss = RoundingLoss()
    loss.update(given, as_rows(X))
    said = loss.warning(names, "scale the features before, as StandardScaler does in a pipeline")
    if said is not None:
        warnings.warn(DcsvmWarning(said), stacklevel=stacklevel)


def rows_to_decide(estimator: Any, X: Any, like: Rows) -> Rows:
    """Return checked rows, float32, stored as the training rows.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse, shape (n, n_features)
    like : Rows
        Training rows.
    """
    found = as_rows(
        validate_data(estimator, X, accept_sparse="csr", dtype=np.float32, order="C", reset=False)
    )
    if sparse.issparse(like) and not sparse.issparse(found):
        return sparse.csr_array(found)
    if not sparse.issparse(like) and sparse.issparse(found):
        return np.ascontiguousarray(found.toarray())
    return found


def equal_rows(one: Rows, other: Rows) -> bool:
    """Return whether rows of the same storage are equal."""
    if sparse.issparse(one):
        return bool(one.shape == other.shape and (one != other).nnz == 0)
    return np.array_equal(one, other)


def as_rows(X: Any) -> Rows:
    """Return an array as it is, and any CSR as a sorted `scipy.sparse.csr_array`."""
    if not sparse.issparse(X):
        return X
    X = sparse.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def bounds(
    estimator: Any,
    X: Rows,
    codes: NDArray[np.int32],
    sample_weight: Any,
    *,
    infinite: bool = False,
) -> NDArray[np.float64]:
    """Return the upper bound of each row's dual variable; set ``class_weight_``.

    Rows whose weight is not above 0 do not take part, as in LIBSVM.

    Parameters
    ----------
    estimator : estimator
    X : Rows, shape (n, n_features)
    codes : ndarray, shape (n,), int32
    sample_weight : array-like, shape (n,), or None
    infinite : bool, default False
        Whether C may be infinite.

    Raises
    ------
    ValueError
        If weights cannot be used, or only one class has rows of a weight above 0.
    """
    found = penalties(estimator, X, codes, sample_weight, infinite=infinite)
    found = found * estimator.class_weight_[codes]
    _check_classes(codes, found)
    return np.asarray(found)


def penalties(
    estimator: Any,
    X: Rows,
    codes: NDArray[np.int32],
    sample_weight: Any,
    *,
    infinite: bool = False,
) -> NDArray[np.float64]:
    """Return C times the weight of each row without class weights, and set ``class_weight_``.

    Parameters
    ----------
    estimator : estimator
    X : Rows, shape (n, n_features)
    codes : ndarray, shape (n,), int32
    sample_weight : array-like, shape (n,), or None
    infinite : bool, default False
        Whether C may be infinite.

    Raises
    ------
    ValueError
        As for `bounds`.
    """
    C = cost_of(estimator.C, infinite=infinite)
    weigh_classes(estimator, codes)
    weights = weights_of(X, sample_weight)
    found = np.full(len(codes), C) if weights is None else C * weights
    _check_classes(codes, found)
    return found


def weigh_classes(estimator: Any, codes: NDArray[np.int32]) -> None:
    """Set ``class_weight_`` by the parameter ``class_weight``.

    Parameters
    ----------
    estimator : estimator
        With ``classes_``.
    codes : ndarray, shape (n,), int32
    """
    n_classes = len(estimator.classes_)
    estimator.class_weight_ = (
        compute_class_weight(estimator.class_weight, classes=np.arange(n_classes), y=codes)
        if _by_rule(estimator.class_weight)
        else _of_classes(estimator)
    )


def cost_of(C: Any, *, infinite: bool = False) -> float:
    """Return a checked C; of an infinite one a number that no dual variable comes near.

    Parameters
    ----------
    C : float
    infinite : bool, default False
        Whether C may be infinite: no error is then accepted.

    Raises
    ------
    InputError
        If it is not a positive number.
    """
    if infinite and is_a(C, numbers.Real) and C == math.inf:  # noqa: SIM300
        return UNBOUNDED
    check_value("C", C)
    return float(C)


def weights_of(X: Rows, sample_weight: Any) -> NDArray[np.float64] | None:
    """Return the checked weights of rows, at least 0; None: they have none.

    Raises
    ------
    InputError
        If one is so large that products of two are not finite.
    """
    if sample_weight is None:
        return None
    _check_any_weight(sample_weight)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (largest := float(weights.max(initial=0.0))) > LARGEST_WEIGHT:
        raise InputError(
            f"sample_weight holds {largest:g}: divide all weights so that they are at most "
            f"{LARGEST_WEIGHT:g}."
        )
    return np.asarray(np.maximum(weights, 0.0))


def _check_any_weight(sample_weight: Any) -> None:
    """Refuse weights none of which is above 0, in the words of LIBSVM's users."""
    if isinstance(sample_weight, numbers.Number):
        return
    weights = np.asarray(sample_weight)
    if weights.dtype.kind in "iufb" and weights.size and (weights <= 0).all():
        raise InputError(
            "Invalid input - all samples have zero or negative weights. No row has a "
            "sample_weight above 0."
        )


def row_bounds(X: Rows, sample_weight: Any, C: float = 1.0) -> NDArray[np.float64]:
    """Return C times the weights of rows without classes, which are 1 where none are given.

    Raises
    ------
    InputError
        If no row has a weight above 0.
    """
    weights = weights_of(X, sample_weight)
    found = np.full(X.shape[0], C) if weights is None else C * weights
    if not (found > 0).any():
        raise InputError("No row has a weight above 0.")
    return np.asarray(found)


def is_squared(loss: Any, losses: dict[str, bool]) -> bool:
    """Return whether a loss is a square.

    Parameters
    ----------
    loss : str
    losses : dict of bool
        The losses that there are, and whether they are squares.

    Raises
    ------
    InputError
        If there is no such loss.
    """
    known = isinstance(loss, str) and loss in losses
    check(known, "loss", loss, f"one of {', '.join(losses)}")
    return losses[loss]


def constant_feature(estimator: Any) -> float:
    """Return the value of the feature whose weight is a linear SVM's bias; 0: it has none.

    At infinity the bias is free: the limit of its weight's part in the regularisation is 0.

    Raises
    ------
    InputError
        If `fit_intercept` or `intercept_scaling` is not possible.
    """
    check_flags(estimator, "fit_intercept")
    scaling = estimator.intercept_scaling
    if not estimator.fit_intercept:
        return 0.0
    is_free = is_a(scaling, numbers.Real) and scaling == math.inf
    if not is_free and not (is_real(scaling) and scaling > 0):
        raise InputError(f"intercept_scaling is {scaling!r:.80}; give a number above 0.")
    return float(scaling)


def bias_words(constant: float) -> dict[str, Any]:
    """Return what `solve_linear` takes of the value that `constant_feature` returns."""
    return {"bias": "free"} if constant == math.inf else {"constant": constant}


def _check_classes(codes: NDArray[np.int32], weight: NDArray[np.float64]) -> None:
    if len(np.unique(codes[weight > 0])) < 2:
        raise InputError(
            "Invalid input - all samples with positive weights belong to the same class. Only one "
            "class has rows of a weight above 0: a classifier needs at least two."
        )


def _by_rule(class_weight: Any) -> bool:
    return class_weight is None or isinstance(class_weight, str)


def _of_classes(estimator: Any) -> NDArray[np.float64]:
    """Return the weights of classes that a dict gives by their labels."""
    return np.asarray(
        compute_class_weight(
            estimator.class_weight, classes=estimator.classes_, y=estimator.classes_
        )
    )


def kernel_of(estimator: Any, X: Rows) -> Any:
    """Return the kernel that the parameters describe; a `KnownKernel` of rows that have one.

    gamma "scale" is 1 / (n_features X.var()), or 1 where that is 0; "auto" is 1 / n_features, as
    scikit-learn has them.
    """
    if isinstance(X, KnownRows):
        return X.kernel
    gamma = estimator.gamma
    check_rule(gamma)
    if isinstance(gamma, str):
        gamma = gamma_by(gamma, X.shape[1], 0.0 if gamma == "auto" else _variance(X))
    elif is_real(gamma):
        gamma = float(gamma)
    return Kernel(estimator.kernel, gamma, estimator.degree, estimator.coef0)


def _variance(X: Rows) -> float:
    if not sparse.issparse(X):
        return float(X.var(dtype=np.float64))
    values, size = X.data.astype(np.float64), X.shape[0] * X.shape[1]
    return float(np.sum(values**2) / size - (np.sum(values) / size) ** 2)


def seed_of(random_state: Any) -> int:
    """Return a seed; None is 0, so that a fit can be repeated."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        check_random_state(random_state)
        return int(random_state)
    return int(check_random_state(random_state).randint(MOST_SEED))


def tolerance(tol: Any) -> float:
    """Return a checked tolerance."""
    check_value("tol", tol)
    return float(tol)


def inner_solver(inner: Any) -> str:
    """Return the checked name of a solver of working sets."""
    check_value("inner", inner)
    return str(inner)


def most_steps(max_iter: Any, none: int | None) -> int | None:
    """Return the limit on steps; `none`, where there is one, is the word for the usual one."""
    whole = is_a(max_iter, numbers.Integral)
    if none is not None and whole and max_iter == none:
        return None
    if not (whole and max_iter >= 1):
        no_limit = "" if none is None else f", or {none} for the usual limit"
        raise InputError(f"max_iter is {max_iter!r:.80}; give a whole number from 1{no_limit}.")
    return int(max_iter)


def limit_of_steps(estimator: Any, n: int) -> int | None:
    """Return the limit on the steps of an SVM of n rows; of an infinite C there always is one.

    Rows that cannot be separated, or targets that cannot be met, have no solution then: variables
    grow without end.
    """
    limit = most_steps(estimator.max_iter, -1)
    if limit is None and math.isinf(estimator.C):
        return max(MOST_STEPS, 100 * n)
    return limit


def threads_of(n_jobs: Any) -> int:
    """Return the number of threads: -1 is as many as BLAS may use here, None is one.

    That is one for each core, but fewer where OMP_NUM_THREADS says so, as in the processes by which
    joblib and Dask share the cores out.
    """
    if n_jobs is None:
        return 1
    if not is_a(n_jobs, numbers.Integral) or n_jobs == 0 or n_jobs > MOST_THREADS:
        raise InputError(
            f"n_jobs is {n_jobs!r:.80}; give a whole number but 0, up to {MOST_THREADS}, or None."
        )
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, most_threads() + 1 + int(n_jobs))


@contextmanager
def threads_for_tasks(n_jobs: Any) -> Iterator[None]:
    """Let tasks that run alone in this process use so many threads."""
    before = resources.threads()
    resources.use(threads=threads_of(n_jobs))
    try:
        yield
    finally:
        resources.use(threads=before)


def check_flags(estimator: Any, *names: str) -> None:
    """Refuse parameters that are neither true nor false."""
    for name in names:
        value = getattr(estimator, name)
        if not isinstance(value, bool | np.bool_ | numbers.Integral):
            raise InputError(f"{name} is {value!r:.80}; give True or False.")


def is_real(value: Any) -> bool:
    """Whether a parameter is a finite number."""
    return is_a(value, numbers.Real) and is_finite(value)
