"""Support vector regression as scikit-learn estimators, with all rows in memory."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import RegressorMixin

from dcsvm_dask.estimators import checking, costs, given_rows, warned
from dcsvm_dask.estimators.chain import Chain
from dcsvm_dask.estimators.expansion import KernelExpansion, dense, of_rows, solver_words
from dcsvm_dask.estimators.fit_lines import FitLines
from dcsvm_dask.estimators.fit_tasks import FitTasks, sets_up_callbacks
from dcsvm_dask.estimators.known_kernel import same_rows
from dcsvm_dask.estimators.linear_parameters import verbosity
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.run_parameters import trains_run
from dcsvm_dask.estimators.variables import Variables, solved_variables
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.solvers import Solution
from dcsvm_dask.solvers.whole import SMALL
from dcsvm_dask.tasks.units import Units

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class LastFit:
    """The solution of a regressor before it is fitted again."""

    shape: tuple[int, int]
    support: NDArray[np.int32]
    support_vectors: Rows
    beta: Vector
    """Of each SVM, shape (n_svms, n_support)."""
    kernel: Any

    @classmethod
    def of(cls, estimator: Any) -> Self | None:
        """Return the solution of an estimator; None: it has none, or is to start anew."""
        if not estimator.warm_start or not hasattr(estimator, "dual_coef_"):
            return None
        beta = dense(estimator.dual_coef_)
        support = estimator.support_, estimator.support_vectors_
        return cls(estimator.shape_fit_, *support, beta, estimator._kernel)

    def start(self, X: Rows, variables: Variables, number: int = 0) -> Vector | None:
        """Return beta of the variables of the same rows; None: the rows are others.

        Parameters
        ----------
        X : Rows, shape (n, n_features)
        variables : Variables
        number : int, default 0
            Of the SVM.
        """
        same = X.shape == self.shape and sparse.issparse(X) == sparse.issparse(self.support_vectors)
        known = same_rows(X, self.kernel)
        if same and known is None:
            known = given_rows.equal_rows(X[self.support], self.support_vectors)
        if not (same and known):
            return None
        place, n = variables.of_row[self.support], len(variables.rows)
        beta = self.beta[number, place >= 0]
        return np.asarray(np.bincount(place[place >= 0], beta, n), np.float64)


class KernelRegressor(RegressorMixin, KernelExpansion, metaclass=ABCMeta):
    """Base class of regressors that minimise a loss of the targets plus the norm of f.

    They are solved in memory, whatever the number of rows, unless a parameter asks for a run: for
    `DCSVR` that took no longer than a run of any number of rows that was measured.

    Attributes are documented in `DCSVR`.
    """

    C: float
    tol: float
    shrinking: bool
    verbose: int | bool

    def _check(self) -> None:
        """Refuse parameters that are not possible."""
        costs.cost_of(self.C, infinite=True)
        checking.check_flags(self, "shrinking")
        verbosity(self.verbose)

    @abstractmethod
    def _solve(
        self,
        kernel: Kernel,
        X: Rows,
        z: Vector,
        C: Vector,
        unit: float,
        start: Vector | None,
        before: Solution | None,
        **how: Any,
    ) -> Solution:
        """Return the solution for scaled targets.

        Parameters
        ----------
        kernel : Kernel
        X : Rows, shape (n, n_features)
        z : ndarray, shape (n,)
            Targets divided by `unit`.
        C : ndarray, shape (n,)
            Weights of the losses of the targets as they were given.
        unit : float
        start : ndarray, shape (n,), or None
            beta of the last fit.
        before : Solution or None
            For a smaller C, to start from.
        **how
            ``tol``, ``K`` (the kernel matrix or None), ``callback`` and the words of
            `solver_words`.
        """

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
        warned.warn_unsolved([self.fit_status_ == 0], self.tol, self.max_iter, C=self.C)
        return self

    @whole_or_as_before
    @sets_up_callbacks
    def _fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, chain: Chain | None = None
    ) -> None:
        self._check()
        alone = chain is not None  # no run: fits of a search would share its folder
        members = self._members()
        chain = Chain(SMALL if len(members) > 1 else 0) if chain is None else chain
        how, tol = solver_words(self), checking.tolerance(self.tol)
        last = LastFit.of(self) if hasattr(self, "warm_start") else None
        given = X
        X, targets = given_rows.training_targets(self, X, y)
        kernel = checking.kernel_of(self, X)
        weights = costs.weights_of(X, sample_weight)
        C = costs.row_bounds(X, sample_weight, costs.cost_of(self.C, infinite=True))
        about = None if sample_weight is None else {"sample_weight": sample_weight}
        stored, variables = solved_variables(kernel, X, targets.view(np.int64), C)
        if last is not None and len(last.beta) != len(members):
            last = None
        divided = not alone and trains_run(self)
        tasks = FitTasks(self, given, y, None if divided else len(members), about)
        if divided:
            self._runs().fit(self, kernel, X, targets, weights, tasks)
            self._kernel, self.shape_fit_ = kernel, X.shape
            tasks.done()
            return
        rows, z = stored[variables.rows], targets[variables.rows]
        units = Units.of(z, centred=self._has_bias)
        how["max_iter"] = checking.limit_of_steps(self, len(z))
        lines = FitLines(verbosity(self.verbose) and not alone, len(members))
        how["callback"] = lines.callback(len(z), units.unit)
        for number, member in enumerate(members):
            K = None
            if not member._takes_no_matrix(kernel, rows):
                K = chain.matrix(kernel, rows, how["threads"])
            start = None if last is None else last.start(X, variables, number)
            with one_thread_each(), tasks.machine(number), lines.machine():
                chain.before[number] = member._solve(
                    kernel,
                    rows,
                    units.inside(z),
                    variables.C,
                    units.unit,
                    None if start is None else start / units.unit,
                    chain.before.get(number),
                    tol=tol / units.unit,
                    K=K,
                    **how,
                )
        solutions = [chain.before[number] for number in range(len(members))]
        self._learn_solutions(X, variables, solutions, units)
        self._kernel, self.shape_fit_ = kernel, X.shape
        if not alone:
            warned.warn_isolated(self, kernel, X)
            warned.warn_fallbacks(how["inner"], solutions)
            warned.warn_coarse(tol, z, units.centre)
        tasks.done()

    def _members(self) -> Sequence[KernelRegressor]:
        """Return an estimator for each SVM that is solved, over the same rows."""
        return [self]

    def _learn_solutions(
        self, X: Rows, variables: Variables, solutions: list[Solution], units: Units
    ) -> None:
        """Set the attributes that are learned from the solutions for scaled targets.

        Parameters
        ----------
        X : Rows, shape (n, n_features)
        variables : Variables
        solutions : list of Solution
            One for each of `_members`.
        units : Units
        """
        how: dict[str, Any] = {"unit": units.unit, "centre": units.centre}
        own = [of_rows(variables, one, bounded=self._bounded, **how) for one in solutions]
        self._learn_rows(own, X.__getitem__)

    def _takes_no_matrix(self, kernel: Any, rows: Any) -> bool:
        """Return whether the problem is solved faster without the kernel matrix of its rows."""
        del kernel, rows
        return False

    @property
    def _bounded(self) -> bool:
        return True

    @property
    def _has_bias(self) -> bool:
        return bool(getattr(self, "fit_intercept", True))

    def predict(self, X: Any) -> Vector:
        """Return predicted targets.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,), float64
        """
        return self._values(X)
