"""The linear SVM as a scikit-learn regressor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.linear_model._base import LinearModel

from dcsvm_dask.estimators import checking, costs, given_rows, warned
from dcsvm_dask.estimators.linear_parameters import printing, relative, takes_dual, verbosity
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.svr import LOSSES
from dcsvm_dask.estimators.variables import variables_of
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.kernels.rows import check_values
from dcsvm_dask.pipeline.parameters import check_value
from dcsvm_dask.runtime.clients import gathered
from dcsvm_dask.solvers import solve_linear_dual, solve_linear_primal
from dcsvm_dask.tasks import Regression
from dcsvm_dask.tasks.units import Units


class LinearDCSVR(RegressorMixin, LinearModel):
    """Linear support vector regression.

    The problem, parameters and attributes of `sklearn.svm.LinearSVR`. Rows have one dual variable,
    whose kink at zero a step may cross. The tolerance is met by a violation that is measured where
    nothing moves. Equal rows are one variable, so that neither the order of rows nor repeats change
    the answer; targets are divided by their spread inside, so that their unit does not matter.

    Parameters
    ----------
    epsilon : float, default 0.0
        Half the width of the tube in which errors cost nothing, 0 or more, in units of y.
    tol : float, default 1e-4
        What `violation_` is to be at most. Of the dual problem: largest minus smallest projected
        gradient, or of a free bias LIBSVM's violation, in units of y (LIBLINEAR's ``-e`` is
        relative to the first pass). Of the primal one: the norm of the gradient, relative to that
        of weights 0.
    C : float, default 1.0
        Penalty of errors, above 0.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default "epsilon_insensitive"
        C max(0, abs(y - f) - epsilon), or C times its square.
    fit_intercept : bool, default True
        Whether rows get one more feature of the value `intercept_scaling`, whose weight is
        regularised like the others.
    intercept_scaling : float, default 1.0
        Above 0. With ``np.inf`` the bias is not regularised, as that of ``SVR(kernel="linear")``:
        the limit of large values. It has the dual solver only, which takes many passes where the
        means of features are large: centre them.
    dual : bool or "auto", default "auto"
        Whether the dual problem is solved, by coordinate descent, or the primal one, by Newton's
        method, which needs the squared loss. "auto", as in scikit-learn, takes the dual one where
        rows are fewer than features or the loss is not squared.
    verbose : int or bool, default 0
        Whether progress is printed.
    random_state : int, RandomState or None, default None
        Seed of the order of rows in a pass; Newton's method has none. None is 0.
    max_iter : int, default 1000
        Most passes over the rows, or steps of Newton's method.

    Attributes
    ----------
    coef_ : ndarray, shape (n_features,)
    intercept_ : ndarray, shape (1,)
    n_iter_ : int
        Passes or steps.
    objective_ : float
        The dual objective.
    violation_ : float
        How far the solution is from optimal, in the units of `tol`.
    gap_ : float
        Primal minus dual value: an upper bound on how far `objective_` is from the least one.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features,)
        Where X has names that are strings.

    References
    ----------
    C.-H. Ho, C.-J. Lin. Large-scale linear support vector regression. JMLR 13, 2012.
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: bool | str = "auto",
        verbose: int | bool = 0,
        random_state: Any = None,
        max_iter: int = 1000,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @whole_or_as_before
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the SVM.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
            Rows; held in memory, in float32.
        y : array-like, shape (n,)
            Targets, in float64.
        sample_weight : array-like, shape (n,), optional
            Factors of C. Rows of a weight of 0 or less do not take part.

        Returns
        -------
        LinearDCSVR
            Itself.

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used.

        Warns
        -----
        ConvergenceWarning
            If the SVM is not solved to `tol` within `max_iter` passes or steps.
        """
        task = Regression(self.epsilon, checking.is_squared(self.loss, LOSSES))
        constant = checking.constant_feature(self)
        callback = printing(verbosity(self.verbose), "the SVM")
        check_value("C", self.C)
        tol, limit = checking.tolerance(self.tol), checking.most_steps(self.max_iter, None)
        X, targets = given_rows.training_targets(self, X, y)
        check_values(X)
        C = costs.row_bounds(X, sample_weight, float(self.C))
        what, solved = f'loss="{self.loss}"', (True, False) if task.squared else (True,)
        is_free = constant == np.inf
        if is_free:
            what, solved = "intercept_scaling=inf", (True,)
        dual = takes_dual(self.dual, solved, X, what, loss=self.loss)
        variables = variables_of(X, targets.view(np.int64), C)
        z = targets[variables.rows]
        # Where the bias is regularised like other weights, targets are not to be shifted.
        units = Units.of(z, centred=is_free)
        unit = units.unit
        problem = task.scaled(unit).dual(units.inside(z), task.scaled_C(variables.C, unit))
        how: Any = {**checking.bias_words(constant), "max_iter": limit, "callback": callback}
        with one_thread_each():
            if dual:
                seed = checking.seed_of(self.random_state)
                rows = (X[variables.rows],)
                found = solve_linear_dual(rows, problem, tol=tol / unit, seed=seed, **how)
            else:
                found = solve_linear_primal(X[variables.rows], problem, tol=relative(tol), **how)
        self.coef_, self.intercept_ = unit * found.w, np.array([unit * found.b + units.centre])
        self.n_iter_ = max(1, found.n_iter)
        self.objective_, self.gap_ = unit**2 * found.objective, unit**2 * found.gap
        self.violation_ = unit * found.violation if dual else found.violation
        warned.warn_unsolved([found.converged], self.tol)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predicted targets.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,), float64
        """
        return np.asarray(super().predict(gathered(X)))
