"""What estimators make of X and y, and of rows to decide, before anything is solved."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators.known_kernel import KnownRows, is_known, known_rows
from dcsvm_dask.estimators.warned import callers_level
from dcsvm_dask.kernels import Rows
from dcsvm_dask.readers.frame_checks import is_frame, warn_of_order
from dcsvm_dask.runtime.clients import (
    check_client,
    default_client,
    gathered,
    is_collection,
)
from dcsvm_dask.storage.rounding import RoundingLoss
from dcsvm_dask.tasks.units import MOST_TARGET


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
    given = X = gathered(X)
    X, y = _validated(estimator, X, y, multi_output=False, reset=reset)
    if not _are_few_codes(y):
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
    given = X = gathered(X)
    if _is_given_values(estimator):
        X, y = known_rows(estimator, X, y), _known_targets(X, y)
    else:
        X, y = _validated(estimator, X, y, y_numeric=True)
    y = column_or_1d(y, warn=True)
    if y.dtype.kind in "mM":
        raise InputError(
            f"y is of type {y.dtype}, and a regressor learns numbers: give such as the days since "
            "a day of your choice."
        )
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
    return as_rows(_validated(estimator, gathered(X)))


def _validated(estimator: Any, X: Any, *y: Any, **how: Any) -> Any:
    """Return rows in float32, and y where it is given, as scikit-learn checks them."""
    how |= {"accept_sparse": "csr", "dtype": np.float32, "order": "C"}
    y = tuple(gathered(one, "y") for one in y)
    for one in y:
        warn_of_order(X, one, type(estimator).__name__, callers_level() + 1)
    with np.errstate(over="ignore"):  # what float32 cannot hold is refused as infinite
        found = validate_data(estimator, X, *y, **how)
    if not y:
        return _in_float32(found)
    return _in_float32(found[0]), *found[1:]


def _in_float32(X: Any) -> Any:
    """Return rows in float32, as which scikit-learn does not return a frame of sparse booleans."""
    return X.astype(np.float32) if sparse.issparse(X) and X.dtype != np.float32 else X


def _is_given_values(estimator: Any) -> bool:
    """Return whether an estimator is given kernel values, and takes them."""
    takes = getattr(estimator, "takes_kernel_values", False)
    return bool(takes and is_known(estimator.kernel))


def _known_labels(X: Any, y: Any) -> NDArray[Any]:
    """Return checked labels of rows of which the kernel values are known."""
    labels = _known_targets(X, y)
    check_classification_targets(labels)
    return labels


def _are_few_codes(y: NDArray[Any]) -> bool:
    """Return whether labels are whole numbers of few values, which are classes for certain.

    scikit-learn's check takes longer than to solve an SVM of a hundred rows.
    """
    if y.dtype.kind not in "biu":
        return False
    return int(y.max()) - int(y.min()) < len(y) // 2


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
    if sparse.issparse(X) and is_frame(given):  # of sparse columns
        given = given.sparse.to_coo()
    given = as_rows(given.tocsr()) if sparse.issparse(given) else np.asarray(given, np.float64)
    loss = RoundingLoss()
    loss.update(given, as_rows(X))
    message = loss.warning(names, "scale the features before, as StandardScaler does in a pipeline")
    if message is not None:
        warnings.warn(DcsvmWarning(message), stacklevel=stacklevel)


def rows_to_decide(estimator: Any, X: Any, like: Rows) -> Rows:
    """Return checked rows, float32, stored as the training rows.

    Parameters
    ----------
    estimator : estimator
    X : array-like or sparse, shape (n, n_features)
    like : Rows
        Training rows.
    """
    found = as_rows(_validated(estimator, gathered(X), reset=False))
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
