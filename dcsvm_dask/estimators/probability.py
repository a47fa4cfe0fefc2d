"""Probabilities of classes, as SVC has them with ``probability=True`` (deprecated there).

Each SVM's decision value becomes a probability by a sigmoid (Platt 2000), fitted to values of rows
that the SVM was not trained on, by five folds; those of pairs of classes are coupled (Wu, Lin,
Weng, JMLR 5, 2004, the second method), as in LIBSVM.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, warned
from dcsvm_dask.estimators.deciding import decided
from dcsvm_dask.estimators.known_kernel import KnownRows
from dcsvm_dask.estimators.variables import Variables
from dcsvm_dask.kernels import Rows
from dcsvm_dask.models.committee import fit_sigmoid
from dcsvm_dask.models.grid import model_of
from dcsvm_dask.random_streams import PROBABILITY_FOLDS, generator
from dcsvm_dask.solvers import SolvedMachine, machines_of

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

DEPRECATED = "deprecated"
"""The default of ``probability``: it was not given."""
FOLDS = 5
LEAST = 1e-7
"""Probabilities of a pair's classes are kept so far from 0 and 1, as in LIBSVM."""
# Rows whose probabilities are coupled at a time: each needs a matrix of the classes.
_ROWS = 4096


@dataclass(frozen=True)
class Calibration:
    """The sigmoids of a classifier's SVMs: the log odds of the positive class by decision values.

    Attributes
    ----------
    slope, intercept : ndarray, shape (n_machines,), float64
    """

    slope: Vector
    intercept: Vector

    def of_machines(self, values: Vector) -> Vector:
        """Return the probability of each SVM's positive class, shape (n, n_machines).

        Parameters
        ----------
        values : ndarray, shape (n, n_machines)
            Decision values.
        """
        logits = np.clip(values * self.slope + self.intercept, -500.0, 500.0)
        return np.asarray(np.clip(1.0 / (1.0 + np.exp(-logits)), LEAST, 1.0 - LEAST))


class WithProbabilities:
    """Base class of classifiers with the parameter ``probability``, as SVC has it."""

    probability: bool | str
    classes_: NDArray[Any]
    _scheme: str
    _calibration: Calibration | None

    def _gives_probabilities(self) -> bool:
        """Return whether there is `predict_proba`; scikit-learn makes an AttributeError of False.

        It depends on the parameter, before and after a fit.
        """
        if self.probability == DEPRECATED or not self.probability:
            raise AttributeError("predict_proba is not available when probability=False")
        return True

    def _check_probability(self) -> bool:
        """Return whether probabilities are wanted; warn that they are deprecated."""
        if isinstance(self.probability, str) and self.probability == DEPRECATED:
            return False
        checking.check_flags(self, "probability")
        message = (
            "The `probability` parameter was deprecated in scikit-learn 1.9, which removes it in "
            f"1.11. Use `CalibratedClassifierCV({type(self).__name__}(), ensemble=False)` instead "
            f"of `{type(self).__name__}(probability=True)`."
        )
        warnings.warn(message, FutureWarning, stacklevel=warned.callers_level())
        return bool(self.probability)

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: Any) -> Vector:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n, n_classes), float64
            In the order of ``classes_``. The class with most of it need not be the one that
            `predict` returns: the sigmoids are fitted by cross-validation.
        """
        check_is_fitted(self)
        calibration = getattr(self, "_calibration", None)
        if calibration is None:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False: fit again"
            )
        values: Vector = self._machine_values(X)  # type: ignore[attr-defined]
        each = calibration.of_machines(values)
        if self._scheme == "ovr":
            return np.asarray(each / each.sum(axis=1, keepdims=True))
        return coupled(each, len(self.classes_))

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_log_proba(self, X: Any) -> Vector:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n, n_classes), float64
        """
        return np.asarray(np.log(self.predict_proba(X)))

    @property
    def probA_(self) -> Vector:  # noqa: N802
        """Of each sigmoid 1 / (1 + exp(A f + B)) the number A; empty without probabilities."""
        return self._of_sigmoids("probA_", "slope")

    @property
    def probB_(self) -> Vector:  # noqa: N802
        """Of each sigmoid 1 / (1 + exp(A f + B)) the number B; empty without probabilities."""
        return self._of_sigmoids("probB_", "intercept")

    def _of_sigmoids(self, name: str, part: str) -> Vector:
        message = (
            f"Attribute `{name}` was deprecated in scikit-learn 1.9, which removes it in 1.11, "
            "with the parameter `probability`."
        )
        warnings.warn(message, FutureWarning, stacklevel=warned.callers_level())
        check_is_fitted(self)
        calibration = getattr(self, "_calibration", None)
        return np.empty(0) if calibration is None else -getattr(calibration, part)


def calibrated(
    estimator: Any,
    kernel: Any,
    X: Rows | KnownRows,
    codes: NDArray[np.int32],
    variables: Variables,
    solve: Callable[[Variables], list[SolvedMachine]],
) -> Calibration:
    """Return the sigmoids of a classifier's SVMs, by five fits to four fifths of the variables.

    Parameters
    ----------
    estimator : DCSVC or DCNuSVC
    kernel : Kernel or KnownKernel
    X : Rows or KnownRows, shape (n, n_features)
    codes : ndarray, shape (n,), int32
    variables : Variables
    solve : callable
        Returns the SVMs of some of the variables.

    Returns
    -------
    Calibration
    """
    own, n_classes = codes[variables.rows], len(estimator.classes_)
    machines = machines_of(n_classes, estimator._scheme)
    fold = _folds(own, checking.seed_of(estimator.random_state))
    values, rows = np.zeros((len(own), len(machines))), X[variables.rows]
    threads = checking.threads_of(estimator.n_jobs)
    for number in np.unique(fold):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        part = replace(variables, rows=variables.rows[train], C=variables.C[train])
        values[test] = _decided(solve(part), kernel, rows, own, train, test, threads)
    rows_of = np.bincount(variables.of_row[variables.of_row >= 0], minlength=len(own))
    sigmoids = []
    for number, machine in enumerate(machines):
        mine, y = machine.rows(own)
        weights = rows_of[mine].astype(np.float64)
        sigmoids.append(fit_sigmoid(values[mine, number], y > 0, weights))
    slope, intercept = np.array(sigmoids).T
    return Calibration(slope, intercept)


def refuse_run(asked: bool) -> None:
    """Refuse probabilities of a run, whose SVMs are not in this process."""
    if asked:
        raise InputError(
            "probability=True is not possible with run, client, stop_at, time_budget or callbacks: "
            "put the estimator into scikit-learn's CalibratedClassifierCV, or leave them out."
        )


def coupled(pairs: Vector, n_classes: int) -> Vector:
    """Return probabilities of classes from those of each pair's first class.

    They minimise the sum over pairs of (r_ba p_a - r_ab p_b)^2, where r_ab is the probability of a
    among a and b, with a sum of 1.

    Parameters
    ----------
    pairs : ndarray, shape (n, n_pairs), float64
        Above 0 and below 1, of the pairs (0, 1), (0, 2) to (k - 2, k - 1).
    n_classes : int

    Returns
    -------
    ndarray, shape (n, n_classes), float64
    """
    if n_classes == 2:
        return np.column_stack([pairs[:, 0], 1.0 - pairs[:, 0]])
    first, second = np.triu_indices(n_classes, k=1)
    found = np.empty((len(pairs), n_classes))
    ones, right = np.ones(n_classes), np.append(np.zeros(n_classes), 1.0)
    for start in range(0, len(pairs), _ROWS):
        some = pairs[start : start + _ROWS]
        r = np.zeros((len(some), n_classes, n_classes))
        r[:, first, second], r[:, second, first] = some, 1.0 - some
        system = np.zeros((len(some), n_classes + 1, n_classes + 1))
        inner = system[:, :-1, :-1]
        inner[...] = -r * r.transpose(0, 2, 1)
        inner[:, range(n_classes), range(n_classes)] = (r**2).sum(axis=1)
        system[:, :-1, -1] = system[:, -1, :-1] = ones
        several = np.broadcast_to(right[:, None], (len(some), n_classes + 1, 1))
        solution = np.linalg.solve(system, several)[:, :-1, 0]
        solution = np.maximum(solution, 0.0)  # below it by rounding alone
        found[start : start + _ROWS] = solution / solution.sum(axis=1, keepdims=True)
    return found


def _folds(codes: NDArray[np.int32], seed: int) -> Index:
    """Return the fold of each variable: those of a class are shared out evenly, at random."""
    shuffled = generator(seed, PROBABILITY_FOLDS).permutation(len(codes))
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    found = np.empty(len(codes), dtype=np.int64)
    found[order] = np.arange(len(codes)) % FOLDS
    return found


def _decided(
    found: list[SolvedMachine],
    kernel: Any,
    X: Rows | KnownRows,
    codes: NDArray[np.int32],
    train: Index,
    test: Index,
    threads: int,
) -> Vector:
    """Return the decision values of a fold's SVMs for the variables that it leaves out."""
    if not isinstance(X, KnownRows):
        machines, solutions = [one.machine for one in found], [one.solution for one in found]
        model = model_of(kernel, X[train], codes[train], machines, solutions)
        return decided(model, X[test], "exact", threads).reshape(len(test), -1)
    K, values = X.matrix()[np.ix_(test, train)], np.empty((len(test), len(found)))
    for number, one in enumerate(found):
        values[:, number] = K[:, one.rows] @ one.solution.beta + one.solution.bias
    return values
