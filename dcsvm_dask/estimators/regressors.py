"""Support vector regression as scikit-learn estimators, with all rows in memory."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.clustering import bisect
from dcsvm_dask.clustering.rows import block_labels
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.deciding import decided
from dcsvm_dask.estimators.fit_tasks import FitTasks, TellsCallbacks, sets_up_callbacks
from dcsvm_dask.estimators.in_memory import working_size
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.variables import Variables, variables_of
from dcsvm_dask.kernels import Kernel, Rows, is_linear
from dcsvm_dask.models.model import Model
from dcsvm_dask.pipeline.parameters import check_value
from dcsvm_dask.solvers import Solution, solve_whole
from dcsvm_dask.solvers.whole import BLOCK_ROWS, DIVIDED_FROM
from dcsvm_dask.tasks import Quantile, Regression
from dcsvm_dask.tasks.units import Units

Vector = NDArray[np.float64]

MOST_CACHE = 1e12
"""MB; more is a mistake."""


@dataclass(frozen=True)
class LastFit:
    """The solution of a regressor before it is fitted again."""

    shape: tuple[int, int]
    support: NDArray[np.int32]
    support_vectors: Rows
    beta: Vector

    @classmethod
    def of(cls, estimator: Any) -> Self | None:
        """Return the solution of an estimator; None: it has none, or is to start anew."""
        if not estimator.warm_start or not hasattr(estimator, "dual_coef_"):
            return None
        beta = dense(estimator.dual_coef_)[0]
        return cls(estimator.shape_fit_, estimator.support_, estimator.support_vectors_, beta)

    def start(self, X: Rows, variables: Variables) -> Vector | None:
        """Return beta of the variables of the same rows; None: the rows are others."""
        same = X.shape == self.shape and sparse.issparse(X) == sparse.issparse(self.support_vectors)
        if not (same and checking.equal_rows(X[self.support], self.support_vectors)):
            return None
        place, n = variables.of_row[self.support], len(variables.rows)
        return np.asarray(np.bincount(place[place >= 0], self.beta[place >= 0], n), np.float64)


def dense(values: Any) -> Vector:
    """Return a matrix, dense."""
    return np.asarray(values.toarray() if sparse.issparse(values) else values)


class KernelRegressor(TellsCallbacks, RegressorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base class of regressors that minimise a loss of the targets plus the norm of f.

    Attributes are documented in `DCSVR`.
    """

    C: float
    kernel: str
    degree: int
    gamma: float | str
    coef0: float
    fit_intercept: bool
    tol: float
    max_iter: int
    cache_size: float
    warm_start: bool
    random_state: Any
    n_jobs: int | None
    # Of what was fitted, whatever parameters are set afterwards.
    _kernel: Kernel

    @abstractmethod
    def _task(self) -> Regression | Quantile:
        """Return the task, with its parameters checked."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the SVM.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
            Rows. NumPy, SciPy, pandas, polars, Dask and Zarr; held in memory, in float32.
        y : array-like, shape (n,)
            Targets, in float64.
        sample_weight : array-like, shape (n,), optional
            Factors of C. Rows of a weight of 0 or less do not take part.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used.

        Warns
        -----
        ConvergenceWarning
            If it is not solved to `tol` within `max_iter` steps.
        """
        self._fit(X, y, sample_weight)
        checking.warn_unsolved([self.fit_status_ == 0], self.tol)
        return self

    @sets_up_callbacks
    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        checking.check_flags(self, "fit_intercept", "warm_start")
        check_value("C", self.C)
        if not (checking.is_real(self.cache_size) and 0 < self.cache_size <= MOST_CACHE):
            raise InputError(f"cache_size is {self.cache_size!r:.80}; give MB, above 0.")
        limit, tol = checking.most_steps(self.max_iter, -1), checking.tolerance(self.tol)
        task, last = self._task(), LastFit.of(self)
        given = X
        X, targets = checking.training_targets(self, X, y)
        kernel = checking.kernel_of(self, X)
        weights = checking.weights_of(X, sample_weight)
        C = float(self.C) * (np.ones(len(targets)) if weights is None else weights)
        if not (C > 0).any():
            raise InputError("No row has a weight above 0.")
        about = None if sample_weight is None else {"sample_weight": sample_weight}
        tasks = FitTasks(self, given, y, 1, about)
        variables = variables_of(X, targets.view(np.int64), C, kernel)
        rows, z = X[variables.rows], targets[variables.rows]
        units = Units.of(z, centred=bool(self.fit_intercept))
        dual = task.scaled(units.unit).dual(units.inside(z), variables.C / units.unit)
        start = None if last is None else last.start(X, variables)
        size, seed = working_size(self.cache_size * 1e6, 1), checking.seed_of(self.random_state)
        with one_thread_each(), tasks.machine(0):
            solution, _ = solve_whole(
                kernel,
                rows,
                dual,
                beta=None if start is None else dual.clip(start / units.unit),
                blocks=_blocks(rows, min(size, BLOCK_ROWS), seed) if start is None else None,
                equality=bool(self.fit_intercept),
                tol=tol / units.unit,
                working_size=size,
                max_iter=limit,
                seed=seed,
                threads=checking.threads_of(self.n_jobs),
            )
        self._learn(solution, units, variables, X)
        self._kernel, self.shape_fit_ = kernel, X.shape
        tasks.done()

    def _learn(self, solution: Solution, units: Units, variables: Variables, X: Rows) -> None:
        """Set the attributes that are learned, in the units of the targets."""
        beta = solution.beta * units.unit
        sign = np.append(np.sign(beta), 0.0)[variables.of_row]
        of_rows = sign * variables.shared_out(np.abs(beta))
        self.support_ = np.flatnonzero(of_rows).astype(np.int32)
        self.support_vectors_ = X[self.support_]
        dual: Any = of_rows[None, self.support_]
        self.dual_coef_ = sparse.csr_array(dual) if sparse.issparse(X) else dual
        self.intercept_ = np.array([solution.bias * units.unit + units.centre])
        self.n_iter_ = int(np.clip(solution.n_iter, 1, checking.MOST_SEED))
        # Centring takes centre times sum(beta) = 0 off.
        self.objective_ = solution.objective * units.unit**2
        self.violation_ = solution.violation * units.unit
        self.fit_status_ = int(not solution.converged)

    @property
    def coef_(self) -> Any:
        """Weights of the features, shape (1, n_features); for the linear kernel only."""
        if not is_linear(self.kernel):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        return self.dual_coef_ @ self.support_vectors_

    @property
    def n_support_(self) -> NDArray[np.int32]:
        """Number of support vectors, shape (1,)."""
        check_is_fitted(self)
        return np.array([len(self.support_)], np.int32)

    def predict(self, X: Any) -> Vector:
        """Return predicted targets.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,), float64
        """
        check_is_fitted(self)
        rows = checking.rows_to_decide(self, X, self.support_vectors_)
        coef, bias = dense(self.dual_coef_)[0], float(self.intercept_[0])
        model = Model.of_sum(self._kernel, self.support_vectors_, coef, bias)
        return decided(model, rows, "exact", checking.threads_of(self.n_jobs))


def _blocks(X: Rows, most: int, seed: int) -> NDArray[np.int32] | None:
    """Return the block of each row; None where there are too few rows."""
    if X.shape[0] < DIVIDED_FROM:
        return None
    return block_labels(bisect(X, most, np.random.default_rng(seed)))
