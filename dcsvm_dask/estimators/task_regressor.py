"""Regressors whose problem is that of a task without given sums, as `solve_whole` takes it."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.in_memory import start_blocks
from dcsvm_dask.estimators.known_kernel import KnownRows
from dcsvm_dask.estimators.regressors import KernelRegressor
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.solvers import Solution, solve_whole, stretched
from dcsvm_dask.solvers.inner.few_features import are_few_features
from dcsvm_dask.solvers.whole import SMALL
from dcsvm_dask.tasks import Quantile, Regression

Vector = NDArray[np.float64]


class TaskRegressor(KernelRegressor, metaclass=ABCMeta):
    """Base class of regressors whose problem is that of a task without given sums."""

    fit_intercept: bool
    warm_start: bool

    @abstractmethod
    def _task(self) -> Regression | Quantile:
        """Return the task, with its parameters checked."""

    def _check(self) -> None:
        super()._check()
        checking.check_flags(self, "fit_intercept", "warm_start")
        self._task()

    def _takes_no_matrix(self, kernel: Any, rows: Any) -> bool:
        if isinstance(rows, KnownRows) or not self._bounded:
            return False
        return rows.shape[0] > SMALL and are_few_features(kernel, *rows.shape)

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
        blocks = None
        if start is None and how["K"] is None:
            blocks = start_blocks(X, how["working_size"], how["seed"])
        return solve_whole(
            kernel,
            X,
            dual,
            beta=None if start is None else dual.clip(start),
            blocks=blocks,
            equality=self._has_bias,
            **how,
        )[0]
