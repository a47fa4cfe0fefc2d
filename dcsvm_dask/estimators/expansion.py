"""What estimators with one kernel expansion have in common: f(x) = sum_i beta_i K(x, x_i) + b."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, given_rows
from dcsvm_dask.estimators.deciding import decided
from dcsvm_dask.estimators.fit_tasks import WithCallbacks
from dcsvm_dask.estimators.in_memory import working_size
from dcsvm_dask.estimators.known_kernel import PRECOMPUTED, KnownKernel, support_vectors
from dcsvm_dask.estimators.variables import Variables
from dcsvm_dask.estimators.with_run import WithRun
from dcsvm_dask.kernels import Kernel, Rows, is_linear
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.schemes import Outputs
from dcsvm_dask.solvers import Solution

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

MOST_CACHE = 1e12
"""MB; more is a mistake."""


def dense(values: Any) -> Vector:
    """Return a matrix, dense."""
    return np.asarray(values.toarray() if sparse.issparse(values) else values)


def solver_words(estimator: Any) -> dict[str, Any]:
    """Return how a solver runs: ``working_size``, ``inner``, ``max_iter``, ``seed``, ``threads``.

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
        "inner": checking.inner_solver(estimator.inner),
        "max_iter": checking.most_steps(estimator.max_iter, -1),
        "seed": checking.seed_of(estimator.random_state),
        "threads": checking.threads_of(estimator.n_jobs),
    }


def of_rows(
    variables: Variables, solution: Solution, *, unit: float, centre: float, bounded: bool
) -> Solution:
    """Return a solution with a variable for each row, in the units of the targets.

    Parameters
    ----------
    variables : Variables
    solution : Solution
        With one for each of `variables`, for targets in other units.
    unit, centre : float
        See `dcsvm_dask.tasks.units.Units`.
    bounded : bool
        Whether the weights of rows bound their variables.
    """
    beta = solution.beta * unit
    sign = np.append(np.sign(beta), 0.0)[variables.of_row]
    return replace(
        solution,
        beta=sign * variables.shared_out(np.abs(beta), bounded=bounded),
        bias=solution.bias * unit + centre,
        # Centring takes centre times sum(beta) = 0 off.
        objective=solution.objective * unit**2,
        violation=solution.violation * unit,
    )


class KernelExpansion(WithRun, WithCallbacks, BaseEstimator):
    """Base class of estimators with one SVM of all rows; see `DCSVR` for the attributes.

    `DCQuantileSVR` has several of them, over support vectors that they share.
    """

    kernel: Any
    n_jobs: int | None
    # Of what was fitted, whatever parameters are set afterwards.
    _kernel: Any

    takes_kernel_values = True
    """Whether kernels may be precomputed, and callables."""

    @staticmethod
    def _runs() -> ModuleType:
        from dcsvm_dask.estimators import expansion_runs

        return expansion_runs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == PRECOMPUTED
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
        how: dict[str, Any] = {"unit": unit, "centre": centre, "bounded": bounded}
        self._learn_rows([of_rows(variables, solution, **how)], X.__getitem__)
        self._kernel, self.shape_fit_ = kernel, X.shape

    def _learn_rows(self, solutions: Sequence[Solution], take: Callable[[Index], Rows]) -> None:
        """Set the attributes that are learned from solutions with a variable for each row.

        Parameters
        ----------
        solutions : sequence of Solution
            One for each SVM.
        take : callable
            Returns some of the rows.
        """
        beta = np.array([one.beta for one in solutions])
        support = np.flatnonzero(beta.any(axis=0))
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = support_vectors(take(support))
        dual: Any = beta[:, support]
        self.dual_coef_ = sparse.csr_array(dual) if sparse.issparse(self.support_vectors_) else dual
        self.intercept_ = np.array([one.bias for one in solutions])
        steps = [int(np.clip(one.n_iter, 1, checking.MOST_SEED)) for one in solutions]
        self.n_iter_ = _each(steps)
        self.objective_ = _each([one.objective for one in solutions])
        self.violation_ = _each([one.violation for one in solutions])
        self.fit_status_ = int(not all(one.converged for one in solutions))
        self.early_model_, self.level_ = None, 0

    @property
    def coef_(self) -> Any:
        """Weights of the features, shape (1, n_features); for the linear kernel only."""
        if not is_linear(self.kernel):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        found = self.dual_coef_ @ self.support_vectors_
        # It is computed anew each time: what is written to it would be lost.
        (found.data if sparse.issparse(found) else found).flags.writeable = False
        return found

    @property
    def _gamma(self) -> float:
        """The gamma of the kernel that was fitted, by SVR's name; 0 where its values are given."""
        check_is_fitted(self)
        return float(getattr(self._kernel, "gamma", 0.0))

    @property
    def n_support_(self) -> NDArray[np.int32]:
        """Number of support vectors of each SVM, shape (n_svms,)."""
        check_is_fitted(self)
        counts = np.count_nonzero(dense(self.dual_coef_), axis=1)
        return np.asarray(counts, np.int32)

    def _model(self) -> Model:
        """Return what decides."""
        coef, bias = dense(self.dual_coef_), self.intercept_
        if len(coef) == 1:
            return Model.of_sum(self._kernel, self.support_vectors_, coef[0], float(bias[0]))
        counts = np.array([[coef.shape[1]]], dtype=np.int64)
        scheme = Outputs(len(coef))
        return Model(self._kernel, self.support_vectors_, coef, counts, bias[None, :], scheme)

    def _values(self, X: Any) -> Vector:
        """Return f(x) of some rows; of several SVMs a column of each."""
        check_is_fitted(self)
        if isinstance(self._kernel, KnownKernel):
            K = self._kernel.values(self, X)[:, self.support_]
            values = K @ dense(self.dual_coef_).T + self.intercept_
            return np.asarray(values[:, 0] if values.shape[1] == 1 else values)
        rows = given_rows.rows_to_decide(self, X, self.support_vectors_)
        threads = checking.threads_of(self.n_jobs)
        if self.early_model_ is not None:
            return decided(self.early_model_, rows, "early", threads)
        return decided(self._model(), rows, "exact", threads)


def _each(values: list[Any]) -> Any:
    """Return what is learned of each SVM; of one alone a number."""
    return values[0] if len(values) == 1 else np.array(values)
