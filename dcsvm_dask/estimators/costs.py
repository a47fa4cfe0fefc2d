"""Bounds of dual variables: C, weights of classes and weights of rows."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from dcsvm_dask.checks import check, is_a
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.pipeline.parameters import check_value
from dcsvm_dask.tasks.dual import UNBOUNDED

BALANCED = "balanced"
LARGEST_WEIGHT = 1e100
"""Of a row or a class: products of two are finite."""


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
    return np.asarray(found * estimator.class_weight_[codes])


def penalties(
    estimator: Any,
    X: Rows,
    codes: NDArray[np.int32],
    sample_weight: Any,
    *,
    infinite: bool = False,
    counts_weights: bool = False,
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
    counts_weights : bool, default False
        Whether balanced classes are counted by the weights of their rows, as LinearSVC does it;
        SVC counts rows.

    Raises
    ------
    ValueError
        As for `bounds`.
    """
    C = cost_of(estimator.C, infinite=infinite)
    weights = weights_of(X, sample_weight)
    weigh_classes(estimator, codes, weights if counts_weights else None)
    found = _times(C, weights, len(codes))
    with np.errstate(over="ignore"):
        bounded = found * estimator.class_weight_[codes]
    _check_finite(C, bounded)
    _check_classes(codes, bounded)
    return found


def weigh_classes(
    estimator: Any, codes: NDArray[np.int32], weights: NDArray[np.float64] | None = None
) -> None:
    """Set ``class_weight_`` by the parameter ``class_weight``.

    Parameters
    ----------
    estimator : estimator
        With ``classes_``.
    codes : ndarray, shape (n,), int32
    weights : ndarray, shape (n,), float64, optional
        With which rows are counted where classes are balanced; 1 by default.

    Raises
    ------
    ValueError
        If weights are given that are no numbers from 0 to `LARGEST_WEIGHT`.
    """
    n_classes = len(estimator.classes_)
    given = estimator.class_weight
    if given is None:
        estimator.class_weight_ = np.ones(n_classes)
    elif isinstance(given, str) and given == BALANCED:
        counts = np.bincount(codes, weights, n_classes)
        # A class without weight has none to balance.
        counts = np.where(counts > 0, counts, np.inf)
        total = len(codes) if weights is None else weights.sum()
        estimator.class_weight_ = total / (n_classes * counts)
    else:
        estimator.class_weight_ = _of_classes(estimator)


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
        If no row has a weight above 0, or products with C overflow.
    """
    weights = weights_of(X, sample_weight)
    found = _times(C, weights, X.shape[0])
    _check_finite(C, found)
    if not (found > 0).any():
        raise InputError("No row has a weight above 0.")
    return np.asarray(found)


def _times(C: float, weights: NDArray[np.float64] | None, n: int) -> NDArray[np.float64]:
    """Return C times the weight of each of n rows."""
    with np.errstate(over="ignore"):
        return np.full(n, C) if weights is None else np.asarray(C * weights)


def _check_finite(C: float, found: NDArray[np.float64]) -> None:
    if not np.isfinite(found).all():
        raise InputError(
            f"C is {C:g}, and its products with the weights of rows and classes overflow: give a "
            "smaller one."
        )


def _check_classes(codes: NDArray[np.int32], weight: NDArray[np.float64]) -> None:
    if len(np.unique(codes[weight > 0])) < 2:
        raise InputError(
            "Invalid input - all samples with positive weights belong to the same class. Only one "
            "class has rows of a weight above 0: a classifier needs at least two."
        )


def _of_classes(estimator: Any) -> NDArray[np.float64]:
    """Return the weights of classes that a dict gives by their labels; 1 for those it lacks."""
    given = estimator.class_weight
    if not isinstance(given, dict):
        raise InputError(
            f'class_weight is {given!r:.80}; give a dict of labels and weights, "balanced" or None.'
        )
    for label, weight in given.items():
        possible = is_a(weight, numbers.Real) and 0 <= weight <= LARGEST_WEIGHT
        check(
            possible, "class_weight", weight, f"a number from 0 to {LARGEST_WEIGHT:g} for {label}"
        )
    keys = [_key_of(label, given) for label in estimator.classes_]
    if None in keys and len(given) > len(keys) - keys.count(None):
        names = [repr(label) for label in estimator.classes_.tolist()]
        unknown = next(label for label in given if label not in keys)
        raise InputError(
            f"class_weight has a weight of {unknown!r}, and the classes of y are "
            f"{', '.join(names):.200}."
        )
    return np.array([1.0 if key is None else float(given[key]) for key in keys])


def _key_of(label: Any, given: dict[Any, float]) -> Any:
    """Return by which key a dict has the weight of a class, None if it has none.

    Of a word that is a whole number as Python writes it, it is the word, else the number: "01"
    is no 1, since "1" may be a class as well.
    """
    if label in given:
        return label
    try:
        number = int(label)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if str(number) == str(label) and number in given else None
