"""What estimators with one kernel expansion have in common: f(x) = sum_i beta_i K(x, x_i) + b."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.deciding import decided
from dcsvm_dask.estimators.fit_tasks import TellsCallbacks
from dcsvm_dask.estimators.in_memory import working_size
from dcsvm_dask.estimators.variables import Variables
from dcsvm_dask.kernels import Kernel, Rows, is_linear
from dcsvm_dask.models.model import Model
from dcsvm_dask.solvers import Solution

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

MOST_CACHE = 1e12
"""MB; more is a mistake."""


def dense(values: Any) -> Vector:
    """Return a matrix, dense."""
    return np.asarray(values.toarray() if sparse.issparse(values) else values)


def solver_words(estimator: Any) -> dict[str, Any]:
    """Return how a solver runs: ``working_size``, ``max_iter``, ``seed`` and ``threads``.

    Raises
    ------
    InputError
        If a parameter of the estimator is not possible.
    """
    cache = estimator.cache_size
    if not (checking.is_real(cache) and 0 < cache <= MOST_CACHE):
        raise InputError(f"cache_size is {cache!r:.80}; give MB, above 0.")
    return {
        "working_size": working_size(cache * 1e6, 1),
        "max_iter": checking.most_steps(estimator.max_iter, -1),
        "seed": checking.seed_of(estimator.random_state),
        "threads": checking.threads_of(estimator.n_jobs),
    }


class KernelExpansion(TellsCallbacks, BaseEstimator):
    """Base class of estimators with one SVM of all rows; see `DCSVR` for the attributes."""

    kernel: str
    n_jobs: int | None
    # Of what was fitted, whatever parameters are set afterwards.
    _kernel: Kernel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _learn(
        self,
        X: Rows,
        variables: Variables,
        kernel: Kernel,
        solution: Solution,
        *,
        unit: float = 1.0,
        centre: float = 0.0,
        bounded: bool = True,
    ) -> None:
        """Set the attributes that are learned from a solution for targets in other units.

        Parameters
        ----------
        X : Rows, shape (n, n_features)
        variables : Variables
        kernel : Kernel
        solution : Solution
        unit, centre : float
            See `dcsvm_dask.tasks.units.Units`.
        bounded : bool
            Whether the weights of rows bound their variables.
        """
        beta = solution.beta * unit
        sign = np.append(np.sign(beta), 0.0)[variables.of_row]
        of_rows = sign * variables.shared_out(np.abs(beta), bounded=bounded)
        own = replace(
            solution,
            beta=of_rows,
            bias=solution.bias * unit + centre,
            # Centring takes centre times sum(beta) = 0 off.
            objective=solution.objective * unit**2,
            violation=solution.violation * unit,
        )
        self._learn_rows(own, X.__getitem__)
        self._kernel, self.shape_fit_ = kernel, X.shape

    def _learn_rows(self, solution: Solution, take: Callable[[Index], Rows]) -> None:
        """Set the attributes that are learned from a solution with a variable for each row.

        Parameters
        ----------
        solution : Solution
        take : callable
            Returns some of the rows.
        """
        support = np.flatnonzero(solution.beta)
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = take(support)
        dual: Any = solution.beta[None, support]
        self.dual_coef_ = sparse.csr_array(dual) if sparse.issparse(self.support_vectors_) else dual
        self.intercept_ = np.array([solution.bias])
        self.n_iter_ = int(np.clip(solution.n_iter, 1, checking.MOST_SEED))
        self.objective_, self.violation_ = solution.objective, solution.violation
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

    def _values(self, X: Any) -> Vector:
        """Return f(x) of some rows."""
        check_is_fitted(self)
        rows = checking.rows_to_decide(self, X, self.support_vectors_)
        coef, bias = dense(self.dual_coef_)[0], float(self.intercept_[0])
        model = Model.of_sum(self._kernel, self.support_vectors_, coef, bias)
        return decided(model, rows, "exact", checking.threads_of(self.n_jobs))
