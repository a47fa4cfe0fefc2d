"""Kernel quantile regression as a scikit-learn regressor: one quantile, or several at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import mean_pinball_loss

from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.task_regressor import TaskRegressor
from dcsvm_dask.estimators.variables import Variables
from dcsvm_dask.kernels import Rows
from dcsvm_dask.solvers import Solution
from dcsvm_dask.tasks import Quantile, checked_quantiles, crossing, is_several
from dcsvm_dask.tasks.units import Units

if TYPE_CHECKING:
    from dcsvm_dask.storage.node import Record

Vector = NDArray[np.float64]


class DCQuantileSVR(TaskRegressor):
    """Kernel quantile regression, exact to a tolerance.

    Minimises half the squared norm of f plus C sum_i pinball(y_i - f(x_i)), where pinball(r) is
    ``quantile`` r for r > 0 and (``quantile`` - 1) r else: about that share of the targets lies
    below predictions. Otherwise as `DCSVR`, whose other parameters and attributes it has.

    Several quantiles are as many such problems. Up to 2,048 distinct rows they share a kernel
    matrix; their predictions share the kernel values of all support vectors. Nothing in the
    problems keeps the quantiles apart, so that they can cross; `sort_quantiles` sorts what is
    predicted (Chernozhukov, Fernandez-Val, Galichon 2010), which is never farther from the true
    quantiles.

    Parameters
    ----------
    quantile : float or sequence of float, default 0.5
        Which quantile is predicted, in (0, 1); or several, in ascending order.
    C : float, default 1.0
        Weight of the loss, above 0.
    sort_quantiles : bool, default False
        Whether the predictions of each row are sorted, where there are several quantiles.
    kernel, degree, gamma, coef0, fit_intercept, tol, max_iter, inner, cache_size, shrinking, \
verbose, warm_start, stop_at, time_budget, run, client, callbacks, random_state, n_jobs
        As `DCSVR` has them.

    Attributes
    ----------
    crossing_ : float
        Of several quantiles, and not of an early model: the share of training rows, by their
        weights, on which one lies above a higher one, before they are sorted.
    support_ : ndarray, shape (n_SV,), int32
        Rows that are support vectors; of several quantiles those of any of them.
    dual_coef_ : ndarray or CSR, shape (n_quantiles, n_SV)
        A row for each quantile, as `n_support_`, `intercept_`, `objective_`, `violation_` and
        `n_iter_` have an entry for each. Of a single number these are as `DCSVR` has them.

    References
    ----------
    I. Takeuchi, Q. Le, T. Sears, A. Smola. Nonparametric quantile estimation. JMLR 7, 2006.

    V. Chernozhukov, I. Fernandez-Val, A. Galichon. Quantile and probability curves without
    crossing. Econometrica 78, 2010.
    """

    task_name = Quantile.name

    def __init__(
        self,
        *,
        quantile: float | Sequence[float] = 0.5,
        C: float = 1.0,
        sort_quantiles: bool = False,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
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
        self.quantile = quantile
        self.C = C
        self.sort_quantiles = sort_quantiles
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
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

    # What was fitted, whatever parameters are set afterwards; empty: one, given as a number.
    _quantiles: tuple[float, ...]

    def _task(self) -> Quantile:
        return Quantile(self.quantile)  # type: ignore[arg-type]  # of several see `_members`

    def _check(self) -> None:
        checking.check_flags(self, "sort_quantiles")
        for member in self._members():
            super(DCQuantileSVR, member)._check()

    def _members(self) -> Sequence[DCQuantileSVR]:
        if not is_several(self.quantile):
            return [self]
        words = self.get_params(deep=False)
        quantiles = checked_quantiles(self.quantile)
        return [type(self)(**{**words, "quantile": one}) for one in quantiles]

    def _learn_solutions(
        self, X: Rows, variables: Variables, solutions: list[Solution], units: Units
    ) -> None:
        super()._learn_solutions(X, variables, solutions, units)
        # Gradients are decision values less the targets, which are the same for all quantiles.
        above = np.array([one.gradient + one.bias for one in solutions]).T
        self._learn_crossing(crossing(above, variables.C))

    def _learn_crossing(self, share: float | None) -> None:
        """Set the share of the rows on which quantiles cross; None: of an early model."""
        quantile = self.quantile
        self._quantiles = checked_quantiles(quantile) if is_several(quantile) else ()
        self.__dict__.pop("crossing_", None)
        if self._quantiles and share is not None:
            self.crossing_ = share

    def _learn_of_run(self, record: Record | None) -> None:
        self._learn_crossing(None if record is None else record.get("crossing", 0.0))

    def predict(self, X: Any) -> Vector:
        """Return the predicted quantile, or quantiles.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, float64
            Shape (n,) for a quantile that is a number, else (n, n_quantiles).
        """
        values = self._values(X)
        if not self._quantiles:
            return values
        values = values.reshape(len(values), -1)
        return np.sort(values, axis=1) if self.sort_quantiles else values

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R^2 of the predictions; of several quantiles minus the mean pinball loss.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
        y : array-like, shape (n,)
        sample_weight : array-like, shape (n,), optional

        Returns
        -------
        float
            The losses of all quantiles count alike.
        """
        predicted = self.predict(X)
        if not self._quantiles:
            return float(super().score(X, y, sample_weight))
        return -float(
            np.mean(
                [
                    mean_pinball_loss(y, column, alpha=one, sample_weight=sample_weight)
                    for column, one in zip(predicted.T, self._quantiles, strict=True)
                ]
            )
        )
