"""The linear SVM as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, warned
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.variables import variables_of
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.solvers import LinearSolution, machines_of, solve_linear

LOSSES = ("hinge", "squared_hinge")


class LinearDCSVC(LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    """Linear support vector classification by dual coordinate descent.

    The problem, parameters and attributes of `sklearn.svm.LinearSVC` with ``penalty="l2"`` and
    ``dual=True``: one SVM for each class against the rest. The tolerance is met by a violation
    that is measured where nothing moves. Equal rows are one variable, so that neither the order of
    rows nor repeats change the answer.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}, default "squared_hinge"
    C : float, default 1.0
        Penalty of errors, above 0.
    fit_intercept : bool, default True
        Whether rows get one more feature of the value `intercept_scaling`, whose weight is
        regularised like the others.
    intercept_scaling : float, default 1.0
        Above 0.
    tol : float, default 1e-4
        Largest minus smallest projected gradient to stop at, as LIBLINEAR's ``-e``.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (n_classes n_c) for a class of n_c rows. Of more than two
        classes each has its factor in its own SVM only, as in LIBLINEAR.
    max_iter : int, default 1000
        Most passes over the rows.
    random_state : int, RandomState or None, default None
        Of the order of rows in a pass. None is 0.
    n_jobs : int or None, default -1
        Threads that share the SVMs; -1: as many as BLAS may use, one for each core unless the
        environment says otherwise. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    class_weight_ : ndarray, shape (n_classes,)
        The factors of C.
    coef_ : ndarray, shape (1, n_features) or (n_classes, n_features)
    intercept_ : ndarray, shape (1,) or (n_classes,)
    n_iter_ : int
        Passes of the SVM that made most.
    objective_ : ndarray, shape (n_machines,)
        Dual objectives.
    violation_ : ndarray, shape (n_machines,)
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        Where X has names that are strings.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan. A dual coordinate descent
    method for large-scale linear SVM. ICML 2008.
    """

    def __init__(
        self,
        *,
        loss: str = "squared_hinge",
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.loss = loss
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the SVMs.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
            Rows; held in memory, in float32.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), optional
            Factors of C. Rows of a weight of 0 or less do not take part.

        Returns
        -------
        LinearDCSVC
            Itself.

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used.

        Warns
        -----
        ConvergenceWarning
            If an SVM is not solved to `tol` within `max_iter` passes.
        """
        loss: Any = self.loss
        if not (isinstance(loss, str) and loss in LOSSES):
            raise InputError(f"loss is {loss!r:.80}; give one of {', '.join(LOSSES)}.")
        constant = checking.constant_feature(self)
        X, codes = checking.training_rows(self, X, y)
        C = checking.penalties(self, X, codes, sample_weight)
        tol, limit = checking.tolerance(self.tol), checking.most_steps(self.max_iter, None)
        machines = machines_of(len(self.classes_), "ovr")
        variables = variables_of(X, codes, C)
        X, codes, C = X[variables.rows], codes[variables.rows], variables.C
        found: dict[int, LinearSolution] = {}

        def solve(number: int) -> None:
            _, labels = machines[number].rows(codes)
            # As in LIBLINEAR: of more than two classes, the rest has no factor.
            has_factor = (labels > 0) | (len(machines) == 1)
            found[number] = solve_linear(
                X,
                labels,
                C * np.where(has_factor, self.class_weight_[codes], 1.0),
                loss=loss,  # type: ignore[arg-type]  # checked above
                constant=constant,
                tol=tol,
                max_iter=limit,
                seed=checking.seed_of(self.random_state),
            )

        with one_thread_each():
            threads = min(checking.threads_of(self.n_jobs), len(machines))
            for_each(solve, range(len(machines)), threads)
        solved = [found[number] for number in range(len(machines))]
        self.coef_ = np.array([one.w for one in solved])
        self.intercept_ = np.array([one.b for one in solved])
        self.n_iter_ = max(1, *(one.n_iter for one in solved))
        self.objective_ = np.array([one.objective for one in solved])
        self.violation_ = np.array([one.violation for one in solved])
        warned.warn_unsolved([one.converged for one in solved], self.tol)
        return self
