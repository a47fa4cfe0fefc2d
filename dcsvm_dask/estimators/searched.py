"""The estimators that `DCSVMSearchCV` takes: what their grids have, their y and their scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring, make_scorer, mean_pinball_loss

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import given_rows
from dcsvm_dask.estimators.nu_svc import DCNuSVC
from dcsvm_dask.estimators.nu_svr import DCNuSVR
from dcsvm_dask.estimators.one_class import DCOneClassSVM
from dcsvm_dask.estimators.quantile_svr import DCQuantileSVR
from dcsvm_dask.estimators.svc import DCSVC
from dcsvm_dask.estimators.svr import DCSVR
from dcsvm_dask.kernels import Rows

KERNEL = ("kernel", "gamma", "degree", "coef0")
"""Parameters of kernels."""


def _labels(search: Any, X: Any, y: Any) -> tuple[Rows, NDArray[Any]]:
    X, codes = given_rows.training_rows(search, X, y)
    return X, search.classes_[codes]


def _novelty_labels(search: Any, X: Any, y: Any) -> tuple[Rows, NDArray[Any]]:
    what = "1 for inliers and -1 for outliers, by which candidates are scored"
    if y is None:
        raise InputError(f"y is missing: give labels, {what}.")
    X, labels = given_rows.training_targets(search, X, y)
    found = np.unique(labels)
    if not np.array_equal(found, [-1.0, 1.0]):
        shown = ", ".join(f"{one:g}" for one in found[:3])
        raise InputError(f"y holds {shown}{', ...' * (len(found) > 3)}: give both labels, {what}.")
    return X, labels.astype(np.int64)


def _own_score(estimator: Any) -> None:
    """Leave the scoring to the estimator's `score`: accuracy or R^2."""
    del estimator


def _pinball(estimator: DCQuantileSVR) -> Any:
    return make_scorer(mean_pinball_loss, alpha=estimator.quantile, greater_is_better=False)


def _auc(estimator: DCOneClassSVM) -> str:
    del estimator
    return "roc_auc"


@dataclass(frozen=True)
class Searched:
    """How an estimator is searched for.

    Attributes
    ----------
    axes : tuple of str
        Parameters that a grid may have.
    checked : callable
        Takes the search, X and y; returns checked rows and labels or targets.
    scoring : callable
        Takes the estimator; returns the scoring where none is given, as `check_scoring` takes it.
    """

    axes: tuple[str, ...]
    checked: Callable[[Any, Any, Any], tuple[Rows, NDArray[Any]]]
    scoring: Callable[[Any], Any] = _own_score


SEARCHED: dict[type, Searched] = {
    DCSVC: Searched(("C", *KERNEL), _labels),
    DCSVR: Searched(("C", "epsilon", *KERNEL), given_rows.training_targets),
    DCQuantileSVR: Searched(("C", *KERNEL), given_rows.training_targets, _pinball),
    DCNuSVC: Searched(("nu", *KERNEL), _labels),
    DCNuSVR: Searched(("nu", "C", *KERNEL), given_rows.training_targets),
    DCOneClassSVM: Searched(("nu", *KERNEL), _novelty_labels, _auc),
}


def searched(estimator: Any) -> Searched:
    """Return how an estimator is searched for.

    Raises
    ------
    InputError
        If it cannot be.
    """
    for kind, found in SEARCHED.items():
        if isinstance(estimator, kind):
            return found
    *names, last = (kind.__name__ for kind in SEARCHED)
    given = f"a {', '.join(names)} or {last}"
    hint = ""
    if hasattr(estimator, "steps"):
        hint = "; put the search as the last step of the pipeline, or use GridSearchCV"
    raise InputError(f"estimator is a {type(estimator).__name__}: give {given}{hint}.")


def scorer_of(estimator: Any, scoring: Any) -> Callable[[Any, Any, Any], float]:
    """Return the scorer of candidates, of which decisions are known rather than models.

    Parameters
    ----------
    estimator : estimator
    scoring : str, callable or None
        As `check_scoring` takes it.

    Returns
    -------
    callable
        Takes what stands for a fitted estimator, rows and their labels or targets. Raises an
        InputError where the scorer asks for more than a search has, or scores by several metrics.
    """
    scorer = check_scoring(estimator, scoring=scoring)

    def scored(model: Any, X: Any, y: NDArray[Any]) -> float:
        try:
            found = scorer(model, X, y)
        except AttributeError as error:  # of scorers of probabilities, for one
            raise InputError(
                f"scoring is {scoring!r:.80}, which asks for more than predict and "
                "decision_function: give a scorer of these, or take GridSearchCV."
            ) from error
        if isinstance(found, dict):
            raise InputError(
                f"scoring returned the metrics {', '.join(map(str, found)):.80}: let it return one "
                "number, or take GridSearchCV for several metrics."
            )
        return float(found)

    return scored
