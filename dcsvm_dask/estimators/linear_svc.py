"""The linear SVM as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, costs, given_rows, warned
from dcsvm_dask.estimators.linear_parameters import (
    printing,
    relative,
    takes_dual,
    unsupported,
    verbosity,
)
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.variables import variables_of
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.kernels import Rows
from dcsvm_dask.kernels.rows import check_values
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.runtime.clients import gathered
from dcsvm_dask.solvers import (
    LinearSolution,
    machines_of,
    solve_crammer_singer,
    solve_linear,
    solve_linear_l1,
    solve_linear_primal,
)
from dcsvm_dask.solvers.linear.zeros import without_zeros
from dcsvm_dask.tasks import Classification

LOSSES = ("hinge", "squared_hinge")
# The values of `dual` that have a solver.
SOLVED = {
    ("l2", "hinge"): (True,),
    ("l2", "squared_hinge"): (True, False),
    ("l1", "squared_hinge"): (False,),
}
NOT_FREE = "intercept_scaling is inf; give a finite number with {}."
Vector = NDArray[np.float64]


class LinearDCSVC(LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    """Linear support vector classification.

    The problems, parameters and attributes of `sklearn.svm.LinearSVC`: one SVM for each class
    against the rest, or one of all classes. The tolerance is met by a violation that is measured
    where nothing moves. Equal rows are one variable, so that neither the order of rows nor repeats
    change the answer.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default "l2"
        "l1" leads to weights of which many are zero. It has the squared hinge loss only.
    loss : {"hinge", "squared_hinge"}, default "squared_hinge"
    dual : bool or "auto", default "auto"
        Whether the dual problem is solved, by coordinate descent, or the primal one, by Newton's
        method (with the l1 penalty: by coordinate descent). The hinge loss has the dual solver
        only, the l1 penalty the primal one. "auto", as in scikit-learn, takes the dual one where
        rows are fewer than features, and the other where there is but one.
    tol : float, default 1e-4
        What `violation_` is to be at most, as LIBLINEAR's ``-e``. Of the dual problem: largest
        minus smallest projected gradient, or of a free bias LIBSVM's violation. Of the primal one:
        the norm of the gradient, or with the l1 penalty the sum of the sizes of subgradients,
        relative to that at the start and to the share of the rarer class. Of "crammer_singer": the
        largest difference of the gradients of a row's variables that should not differ.
    C : float, default 1.0
        Penalty of errors, above 0.
    multi_class : {"ovr", "crammer_singer"}, default "ovr"
        An SVM for each class against the rest; or one problem of all classes, for which `penalty`,
        `loss` and `dual` are ignored.
    fit_intercept : bool, default True
        Whether rows get one more feature of the value `intercept_scaling`, whose weight is
        regularised like the others.
    intercept_scaling : float, default 1.0
        Above 0. With ``np.inf`` the bias is not regularised, as that of ``SVC(kernel="linear")``:
        the limit of large values. It has the dual solver only, which takes many passes where the
        means of features are large: centre them.
    class_weight : dict or "balanced", default None
        Factors of C by label, 0 or more, or n / (n_classes n_c) for a class of n_c rows, which are
        counted by their weights where these are given, as LinearSVC does it. Of more than two
        classes each has its factor in its own SVM only, as in LIBLINEAR.
    verbose : int or bool, default 0
        Whether progress is printed.
    random_state : int, RandomState or None, default None
        Seed of the order of rows in a pass; Newton's method has none. None is 0.
    max_iter : int, default 1000
        Most passes over the rows; with ``dual=False`` most steps of Newton's method, or passes over
        the weights.
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
        Passes or steps of the SVM that made most.
    objective_ : ndarray, shape (n_machines,)
        Dual objectives, at dual variables that follow from the weights where the primal problem is
        solved. "crammer_singer" has one machine.
    gap_ : ndarray, shape (n_machines,)
        Primal minus dual values: how far, at most, the objectives are from the best ones.
    violation_ : ndarray, shape (n_machines,)
        How far the solution is from optimal, in the units of `tol`.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features,)
        Where X has names that are strings.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan. A dual coordinate descent
    method for large-scale linear SVM. ICML 2008.
    """

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-4,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        verbose: int | bool = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        n_jobs: int | None = -1,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @whole_or_as_before
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
            If an SVM is not solved to `tol` within `max_iter` passes or steps.
        """
        self._check_kind()
        constant = checking.constant_feature(self)
        X, codes = given_rows.training_rows(self, X, y)
        check_values(X)
        C = costs.penalties(self, X, codes, sample_weight, counts_weights=True)
        tol, limit = checking.tolerance(self.tol), checking.most_steps(self.max_iter, None)
        assert limit is not None
        how = {**checking.bias_words(constant), "max_iter": limit}
        solve = self._solver(X, tol)
        variables = variables_of(X, codes, C)
        X, codes, C = X[variables.rows], codes[variables.rows], variables.C
        if solve is None:
            converged = self._fit_all_classes(X, codes, C, tol, how)
        else:
            converged = self._fit_each_class(solve, X, codes, C, how)
        warned.warn_unsolved(converged, self.tol)
        return self

    def decision_function(self, X: Any) -> Vector:
        """Return decision values; of two classes above 0 for ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, float64
            Shape (n,), or (n, n_classes) for more than two classes.
        """
        return np.asarray(super().decision_function(gathered(X)))

    def _check_kind(self) -> None:
        """Refuse losses, penalties and schemes of classes that there are not."""
        kinds = {"loss": LOSSES, "penalty": ("l2", "l1"), "multi_class": ("ovr", "crammer_singer")}
        for name, values in kinds.items():
            value = getattr(self, name)
            if not (isinstance(value, str) and value in values):
                raise InputError(f"{name} is {value!r:.80}; give one of {', '.join(values)}.")

    def _solver(self, X: Rows, tol: float) -> Callable[..., LinearSolution] | None:
        """Return how the SVM of a class is solved, None: all classes are one problem.

        The solver takes rows, labels, costs, the share of the rarer class, and words.
        """
        verbose = verbosity(self.verbose)
        is_free = bool(self.fit_intercept) and self.intercept_scaling == np.inf
        kind = self.penalty, self.loss
        if self.multi_class == "crammer_singer":
            if is_free:
                raise InputError(NOT_FREE.format('multi_class="crammer_singer"'))
            return None
        combined = {"penalty": self.penalty, "loss": self.loss}
        if kind not in SOLVED:
            why = f'loss must be squared_hinge with penalty="l1", got {self.loss!r}'
            raise unsupported(why, **combined, dual=self.dual)
        what, solved = f'penalty="{self.penalty}" and loss="{self.loss}"', SOLVED[kind]
        if is_free:
            if True not in solved:
                raise InputError(NOT_FREE.format(f'penalty="{self.penalty}"'))
            what, solved = "intercept_scaling=inf", (True,)
        dual = takes_dual(self.dual, solved, X, what, **combined)
        seed, loss = checking.seed_of(self.random_state), self.loss

        def solve(X: Rows, y: Vector, C: Vector, number: int, **how: Any) -> LinearSolution:
            how |= {"callback": printing(verbose, f"SVM {number + 1}")}
            if dual:
                return solve_linear(X, y, C, loss=loss, tol=tol, seed=seed, **how)  # type: ignore[arg-type]
            with np.errstate(divide="ignore"):  # of rows without weight
                problem = Classification(squared=True).dual(y, C)
            share = _rarer(y, C)
            how |= {"tol": relative(tol) * share}
            if self.penalty == "l1":
                found = solve_linear_l1(X, problem, seed=seed, **how)
            else:
                found = solve_linear_primal(X, problem, **how)
            return replace(found, violation=found.violation / share)

        return solve

    def _fit_each_class(
        self,
        solve: Callable[..., LinearSolution],
        X: Rows,
        codes: NDArray[np.int32],
        C: Vector,
        how: dict[str, Any],
    ) -> list[bool]:
        """Solve the SVM of each class against the rest; returns which are solved."""
        machines = machines_of(len(self.classes_), "ovr")
        X = without_zeros(X)  # once for all SVMs
        found: dict[int, LinearSolution] = {}

        def solve_one(number: int) -> None:
            _, labels = machines[number].rows(codes)
            # As in LIBLINEAR: of more than two classes, the rest has no factor.
            has_factor = (labels > 0) | (len(machines) == 1)
            weights = C * np.where(has_factor, self.class_weight_[codes], 1.0)
            found[number] = solve(X, labels, weights, number, **how)

        with one_thread_each():
            threads = min(checking.threads_of(self.n_jobs), len(machines))
            for_each(solve_one, range(len(machines)), threads)
        solved = [found[number] for number in range(len(machines))]
        self.coef_ = np.array([one.w for one in solved])
        self.intercept_ = np.array([one.b for one in solved])
        self.n_iter_ = max(1, *(one.n_iter for one in solved))
        self.objective_ = np.array([one.objective for one in solved])
        self.gap_ = np.array([one.gap for one in solved])
        self.violation_ = np.array([one.violation for one in solved])
        return [one.converged for one in solved]

    def _fit_all_classes(
        self, X: Rows, codes: NDArray[np.int32], C: Vector, tol: float, how: dict[str, Any]
    ) -> list[bool]:
        """Solve the one problem of all classes; returns whether it is solved."""
        found = solve_crammer_singer(
            X,
            codes,
            C * self.class_weight_[codes],
            len(self.classes_),
            tol=tol,
            seed=checking.seed_of(self.random_state),
            callback=printing(bool(self.verbose), "the SVM of all classes"),
            **how,
        )
        self.coef_, self.intercept_ = found.W, found.b
        if len(self.classes_) == 2:
            self.coef_ = self.coef_[1:] - self.coef_[:1]
            self.intercept_ = self.intercept_[1:] - self.intercept_[:1]
        self.n_iter_ = max(1, found.n_iter)
        self.objective_, self.gap_ = np.array([found.objective]), np.array([found.gap])
        self.violation_ = np.array([found.violation])
        return [found.converged]


def _rarer(y: Vector, C: Vector) -> float:
    """Return the share of the rarer class in all costs, at least that of one row of the mean."""
    positive, total = float(C[y > 0].sum()), float(C.sum())
    if total == 0.0:
        return 1.0
    return max(min(positive, total - positive) / total, 1.0 / len(C))
