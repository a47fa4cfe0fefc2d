"""Epsilon-SVR on a budget of support vectors, which learns rows as they come."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from dcsvm_dask.checks import check
from dcsvm_dask.estimators import checking, costs, given_rows
from dcsvm_dask.estimators.budgeted import Budgeted
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.kernels import Rows
from dcsvm_dask.models.model import Model
from dcsvm_dask.runtime.clients import gathered
from dcsvm_dask.tasks import Dual, Regression


class BudgetedSVR(RegressorMixin, Budgeted):
    """Epsilon-SVR of at most so many support vectors, by stochastic gradient descent.

    Parameters
    ----------
    epsilon : float, default 0.1
        Half the width of the tube without loss, 0 or more.
    fit_intercept : bool, default True
        Whether predictions have an offset: from the mean of the targets of `fit`, or of the first
        call of `partial_fit`, and regularised like all weights.
    C, kernel, degree, gamma, coef0, budget, epochs, merge, table_size, tables, n_total, \
random_state, n_jobs
        As `BudgetedSVC` has them.

    Attributes
    ----------
    support_vectors_, dual_coef_, intercept_, n_support_vectors_, t_, n_features_in_
        As `BudgetedSVC` has them.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        budget: int = 500,
        epochs: int = 20,
        merge: str = "lookup-wd",
        table_size: int = 400,
        tables: str | os.PathLike[str] | None = None,
        fit_intercept: bool = True,
        n_total: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.budget = budget
        self.epochs = epochs
        self.merge = merge
        self.table_size = table_size
        self.tables = tables
        self.fit_intercept = fit_intercept
        self.n_total = n_total
        self.random_state = random_state
        self.n_jobs = n_jobs

    @whole_or_as_before
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn all rows, in `epochs` passes.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
        y : array-like, shape (n,)
            Targets.
        sample_weight : array-like, shape (n,), optional
            Factors of C for each row.

        Returns
        -------
        self
        """
        self._check()
        X, targets = given_rows.training_targets(self, X, y)
        C = costs.row_bounds(X, sample_weight, float(self.C))
        self._total = 0
        self._check_steps(C)
        self._start(X, targets, C)
        self._learn(X, targets, C, int(self.epochs))
        return self

    @whole_or_as_before
    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn some more rows, once each.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
        y : array-like, shape (n,)
            Targets.
        sample_weight : array-like, shape (n,), optional
            Factors of C for each row.

        Returns
        -------
        self
        """
        self._check()
        X, first = gathered(X), not hasattr(self, "t_")
        if not first:
            validate_data(self, X, skip_check_array=True, reset=False)
        names = getattr(self, "feature_names_in_", None)
        X, targets = given_rows.training_targets(self, X, y)
        if not first and names is not None:  # rows without names have them by their place
            self.feature_names_in_ = names
        C = costs.row_bounds(X, sample_weight, float(self.C))
        if first:
            self._total = 0
        self._check_steps(C)
        if first:
            self._start(X, targets, C)
        else:
            self._go_on()
        self._learn(X, targets, C, 1)
        return self

    def _check(self) -> None:
        super()._check()
        wide = checking.is_real(self.epsilon) and 0 <= self.epsilon < np.inf
        check(wide, "epsilon", self.epsilon, "a number from 0")

    def _start(self, X: Rows, targets: NDArray[np.float64], C: NDArray[np.float64]) -> None:
        self._centre = float(np.average(targets, weights=C)) if self.fit_intercept else 0.0
        self._begin(X, 1)

    def _duals(self, y: NDArray[Any], weights: NDArray[np.float64]) -> list[Dual]:
        return [Regression(epsilon=float(self.epsilon)).dual(y - self._centre, weights)]

    def _make_model(self) -> Model:
        return self._model_of(np.array([self._centre]), 0)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predicted targets.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,), float64
        """
        return self._decide(X)
