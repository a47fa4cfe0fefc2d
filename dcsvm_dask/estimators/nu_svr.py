"""nu-SVR as a scikit-learn regressor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.in_memory import start_blocks
from dcsvm_dask.estimators.regressors import KernelRegressor
from dcsvm_dask.kernels import Kernel, Rows
from dcsvm_dask.solvers import Solution, solve_nu
from dcsvm_dask.tasks import NuRegression, check_nu

if TYPE_CHECKING:
    from dcsvm_dask.storage.node import Record

Vector = NDArray[np.float64]


class DCNuSVR(KernelRegressor):
    """nu-support vector regression, exact to a tolerance.

    `sklearn.svm.NuSVR`'s problem, parameters and attributes: `nu` is an upper bound on the share of
    targets outside of the tube and a lower bound on that of support vectors; the tube's half width
    follows from it (`epsilon_`). Otherwise as `DCSVR`.

    Parameters
    ----------
    nu : float, default 0.5
        In (0, 1].
    C : float, default 1.0
        Penalty of errors, above 0 and finite.
    kernel, degree, gamma, coef0, tol, max_iter, inner, cache_size, shrinking, verbose, \
warm_start, stop_at, time_budget, run, client, callbacks, random_state, n_jobs
        As `DCSVR` has them.

    Attributes
    ----------
    epsilon_ : float
        Half the width of the tube, in units of y; not of an early model.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, objective_, \
violation_, level_, early_model_, fit_status_, shape_fit_, n_features_in_
        As `DCSVR` has them; the objective is 0.5 b'Kb - y'b.
    """

    task_name = NuRegression.name

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = -1,
        inner: str = "auto",
        cache_size: float = 1000.0,
        shrinking: bool = True,
        verbose: int | bool = False,
        warm_start: bool = False,
        stop_at: int = 0,
        time_budget: float | None = None,
        run: Any = None,
        client: Any = None,
        callbacks: Any = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.inner = inner
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.verbose = verbose
        self.warm_start = warm_start
        self.stop_at = stop_at
        self.time_budget = time_budget
        self.run = run
        self.client = client
        self.callbacks = callbacks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check(self) -> None:
        super()._check()
        if math.isinf(self.C):
            raise InputError(
                "C is inf, and rows outside of the tube, which nu allows, would cost inf: "
                "give a finite C, or DCSVR with C=np.inf and the epsilon that no row may exceed."
            )
        checking.check_flags(self, "warm_start")
        check_nu(self.nu)

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
        beta = start if before is None else before.beta
        task = NuRegression(nu=float(self.nu))
        size, seed = how["working_size"], how["seed"]
        blocks = start_blocks(X, size, seed) if beta is None else None
        found = solve_nu(kernel, X, z, C / unit, task, beta=beta, blocks=blocks, **how)
        self.epsilon_ = max(0.0, found.multiplier) * unit
        return found.solution

    def _learn_of_run(self, record: Record | None) -> None:
        if record is not None:
            self.epsilon_ = float(record["multiplier"])
