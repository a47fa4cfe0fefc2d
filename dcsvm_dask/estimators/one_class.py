"""The one-class SVM as a scikit-learn outlier detector."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from dcsvm_dask.estimators import checking, costs, given_rows, warned
from dcsvm_dask.estimators.chain import Chain
from dcsvm_dask.estimators.expansion import KernelExpansion, solver_words
from dcsvm_dask.estimators.fit_lines import FitLines
from dcsvm_dask.estimators.fit_tasks import FitTasks, sets_up_callbacks
from dcsvm_dask.estimators.linear_parameters import verbosity
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.regressors import LastFit
from dcsvm_dask.estimators.run_parameters import trains_run
from dcsvm_dask.estimators.variables import solved_variables
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.solvers import solve_nu
from dcsvm_dask.tasks import OneClass, check_nu

if TYPE_CHECKING:
    from dcsvm_dask.storage.node import Record

Vector = NDArray[np.float64]


class DCOneClassSVM(OutlierMixin, KernelExpansion):
    """The one-class SVM for novelty detection, exact to a tolerance.

    `sklearn.svm.OneClassSVM`'s problem, parameters and attributes: `nu` is an upper bound on the
    share of training rows that are taken for outliers and a lower bound on that of support vectors.
    Equal rows are one variable.

    Parameters
    ----------
    nu : float, default 0.5
        In (0, 1].
    kernel, degree, gamma, coef0, tol, max_iter, inner, cache_size, shrinking, verbose, \
warm_start, stop_at, time_budget, run, client, callbacks, random_state, n_jobs
        As `DCSVR` has them; `tol` is that of 0.5 a'Ka over 0 <= a <= 1 with sum(a) = nu n.

    Attributes
    ----------
    offset_ : ndarray, shape (1,)
        rho: `decision_function` is `score_samples` minus this. The blocks of an early model share
        it.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, n_iter_, objective_, \
violation_, level_, early_model_, fit_status_, shape_fit_, n_features_in_
        As `DCSVR` has them; the objective is 0.5 a'Ka.

    References
    ----------
    B. Schoelkopf, J. Platt, J. Shawe-Taylor, A. Smola, R. Williamson. Estimating the support of a
    high-dimensional distribution. Neural Computation 13, 2001.
    """

    task_name = OneClass.name

    def __init__(
        self,
        *,
        nu: float = 0.5,
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

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Train the SVM.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
            Rows.
        y
            Not used.
        sample_weight : array-like, shape (n,), optional
            Rows of a weight of 0 or less do not take part.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used.
        """
        self._fit(X, y, sample_weight)
        warned.warn_unsolved([self.fit_status_ == 0], self.tol, self.max_iter)
        if not self.level_:
            warned.warn_narrow(self.offset_, self.tol)
        return self

    def _check(self) -> None:
        """Refuse parameters that are not possible."""
        checking.check_flags(self, "warm_start", "shrinking")
        verbosity(self.verbose)
        check_nu(self.nu)

    @whole_or_as_before
    @sets_up_callbacks
    def _fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, chain: Chain | None = None
    ) -> None:
        del y
        self._check()
        alone, chain = chain is not None, Chain() if chain is None else chain
        task, how = OneClass(nu=float(self.nu)), solver_words(self)
        tol = checking.tolerance(self.tol)
        last, given = LastFit.of(self), X
        X = given_rows.rows_alone(self, X)
        kernel, n = checking.kernel_of(self, X), X.shape[0]
        bounds = costs.row_bounds(X, sample_weight)
        about = None if sample_weight is None else {"sample_weight": sample_weight}
        divided = not alone and trains_run(self)
        tasks = FitTasks(self, given, None, None if divided else 1, about)
        if divided:
            weights = costs.weights_of(X, sample_weight)
            self._runs().fit(self, kernel, X, None, weights, tasks)
            self._kernel, self.shape_fit_ = kernel, X.shape
            tasks.done()
            return
        stored, variables = solved_variables(kernel, X, np.zeros(n, np.int32), bounds)
        Z, before = stored[variables.rows], chain.before.get(0)
        lines = FitLines(verbosity(self.verbose) and not alone, 1)
        how["callback"] = lines.callback(len(variables.rows))
        with one_thread_each(), tasks.machine(0), lines.machine():
            how["K"] = chain.matrix(kernel, Z, how["threads"])
            start = None if last is None else last.start(X, variables)
            beta = start if before is None else before.beta
            nothing = np.zeros(len(variables.C))
            found = solve_nu(kernel, Z, nothing, variables.C, task, beta=beta, tol=tol, **how)
        chain.before[0] = found.solution
        self._learn(X, variables, kernel, replace(found.solution, bias=-found.multiplier))
        self.offset_ = np.array([float(found.multiplier)])
        if not alone:
            warned.warn_isolated(self, kernel, X)
            warned.warn_fallbacks(self.inner, [found.solution])
        tasks.done()

    def _learn_of_run(self, record: Record | None) -> None:
        del record
        # Blocks of a level are solved for a rho that they share.
        model = self.early_model_
        bias = self.intercept_[0] if model is None else model.bias[0, 0]
        self.offset_ = np.array([-float(bias)])

    def decision_function(self, X: Any) -> Vector:
        """Return f(x) - rho, above 0 for inliers.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,), float64
        """
        return self._values(X)

    def score_samples(self, X: Any) -> Vector:
        """Return f(x), without rho.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,), float64
        """
        return self._values(X) + float(self.offset_[0])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return 1 for inliers, whose decision value is above 0, and -1 for outliers.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,), int64
        """
        return np.where(self.decision_function(X) > 0.0, 1, -1).astype(np.int64)
