"""Regressors whose problem is that of a task: solved in memory, or trained as a run."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.estimators import checking, svr_runs
from dcsvm_dask.estimators.deciding import decided
from dcsvm_dask.estimators.fit_tasks import FitTasks
from dcsvm_dask.estimators.in_memory import start_blocks
from dcsvm_dask.estimators.regressors import KernelRegressor
from dcsvm_dask.estimators.wishes import divides
from dcsvm_dask.estimators.with_client import WithClient
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.models.model import Model
from dcsvm_dask.solvers import Solution, solve_whole, stretched
from dcsvm_dask.tasks import Quantile, Regression

Index = NDArray[np.int64]
Vector = NDArray[np.float64]


class TaskRegressor(WithClient, KernelRegressor, metaclass=ABCMeta):
    """Base class of regressors whose problem is that of a task of runs.

    In memory `solve_whole` solves it, which takes no longer than a run of any number of rows that
    was measured; so only a parameter asks for a run.
    """

    task_name: ClassVar[str]
    """The task of runs."""

    fit_intercept: bool
    warm_start: bool
    early_model_: Model | None

    @abstractmethod
    def _task(self) -> Regression | Quantile:
        """Return the task, with its parameters checked."""

    def _check(self) -> None:
        super()._check()
        checking.check_flags(self, "fit_intercept", "warm_start")
        self._task()

    @classmethod
    def from_run(cls, run: Any) -> Self:
        """Return the estimator that a run has trained, fitted.

        Parameters
        ----------
        run : str or path
            Its folder, of `fit` or of `dcsvm_dask.train` (method dcsvm).

        Returns
        -------
        self
            It takes rows scaled as those of the run's data set are; `dcsvm_dask.Run.scale` does it.

        Raises
        ------
        InputError
            If there is no such run, it has no model yet, or is of another method or task.
        """
        made: Self = svr_runs.restored(cls, run)
        return made

    def _divides(self) -> bool:
        return divides(self)

    def _fit_by_run(
        self, kernel: Kernel, X: Rows, targets: Vector, weights: Vector | None, tasks: FitTasks
    ) -> None:
        svr_runs.fit(self, kernel, X, targets, weights, tasks)

    def _learn_rows(self, solutions: Sequence[Solution], take: Callable[[Index], Rows]) -> None:
        super()._learn_rows(solutions, take)
        self.early_model_, self.level_ = None, 0

    def _learn_crossing(self, share: float | None) -> None:
        """Set what is learned of several quantiles, which most have not; None: of an early model.

        Parameters
        ----------
        share : float or None
            Share of the rows on which they cross.
        """

    def _values(self, X: Any) -> Vector:
        check_is_fitted(self)
        if self.early_model_ is None:
            return super()._values(X)
        rows = checking.rows_to_decide(self, X, self.support_vectors_)
        return decided(self.early_model_, rows, "early", checking.threads_of(self.n_jobs))

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
        task = self._task()
        dual = task.scaled(unit).dual(z, task.scaled_C(C, unit))
        if before is not None:
            start = stretched(before.beta, before.gradient, dual)
        return solve_whole(
            kernel,
            X,
            dual,
            beta=None if start is None else dual.clip(start),
            blocks=start_blocks(X, how["working_size"], how["seed"]) if start is None else None,
            equality=self._has_bias,
            **how,
        )[0]
