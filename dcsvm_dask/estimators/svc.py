"""The exact kernel machine as a scikit-learn classifier."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.variables import Variables, variables_of
from dcsvm_dask.kernels import Rows
from dcsvm_dask.models.pairs import PairsModel, confidences, winners
from dcsvm_dask.solvers import SolvedMachine, machines_of, solve_machines

SHAPES = ("ovr", "ovo")
# Up to so many kernel values a prediction has them in float64: it takes a fraction of a second.
FEW_VALUES = 1 << 24
# Where float32 may change a decision value by more, kernel values are in float64.
COARSE = 1e-3
# A solver holds so many float32 matrices of its working set's rows.
MATRICES = 1.57
LEAST_SET = 256


class DCSVC(ClassifierMixin, BaseEstimator):
    """C-support vector classification, exact to a tolerance, for two classes and many.

    `sklearn.svm.SVC`'s problem, parameters and attributes: one machine for each pair of classes,
    which vote. Machines are solved side by side on all cores, from what a random subset foresees
    and by working sets of thousands of rows; equal rows are one variable, so that neither the
    order of rows nor repeats change the answer. Rows are held in float32.

    Parameters
    ----------
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : {"rbf", "poly", "linear", "sigmoid", "laplacian"}, default "rbf"
    degree : int, default 3
        Of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default "scale"
        "scale": 1 / (n_features X.var()); "auto": 1 / n_features.
    coef0 : float, default 0.0
        Of the polynomial and sigmoid kernels.
    fit_intercept : bool, default True
        Whether decision values have an offset. Without one it is the problem of the DC-SVM paper.
    tol : float, default 1e-3
        Violation of the optimality conditions to stop at, as LIBSVM's ``-e``.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (n_classes n_c) for a class of n_c rows.
    max_iter : int, default -1
        Most steps of two variables for each machine; -1: no limit.
    decision_function_shape : {"ovr", "ovo"}, default "ovr"
        Whether `decision_function` has a column for each class or for each pair of them.
    break_ties : bool, default False
        Of classes with equally many votes take the one of the largest decision value, not the
        first; for "ovr" and more than two classes.
    cache_size : float, default 1000.0
        MB for the kernel matrices of working sets, of all threads together.
    random_state : int, RandomState or None, default None
        Of random subsets, which shape the way to the answer only. None is 0.
    n_jobs : int or None, default -1
        Threads; -1: as many as BLAS may use, one for each core unless the environment says
        otherwise. None is 1.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    class_weight_ : ndarray, shape (n_classes,)
        The factors of C.
    support_ : ndarray, shape (n_SV,), int32
        Rows that are support vectors, class after class.
    support_vectors_ : ndarray or CSR, shape (n_SV, n_features), float32
    n_support_ : ndarray, shape (n_classes,), int32
        Support vectors of each class.
    dual_coef_ : ndarray or CSR, shape (n_classes - 1, n_SV)
        y_i alpha_i, arranged as in SVC.
    intercept_ : ndarray, shape (n_machines,)
        Offsets of decision values.
    coef_ : ndarray or CSR, shape (n_machines, n_features)
        Weights of features; for the linear kernel only.
    n_iter_ : ndarray, shape (n_machines,), int32
        Steps of two variables.
    objective_ : ndarray, shape (n_machines,)
        Dual objectives 0.5 a'Qa - e'a.
    violation_ : ndarray, shape (n_machines,)
        How far each machine is from optimal, by a gradient summed from scratch.
    fit_status_ : int
        0 if all machines are solved to `tol`, else 1.
    shape_fit_ : tuple of two ints
        Shape of X.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        Where X has names that are strings.

    References
    ----------
    C.-C. Chang, C.-J. Lin. LIBSVM: a library for support vector machines. ACM TIST 2, 2011.
    C.-J. Hsieh, S. Si, I. S. Dhillon. A divide-and-conquer solver for kernel support vector
    machines. ICML 2014.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        class_weight: dict[Any, float] | str | None = None,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        cache_size: float = 1000.0,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.cache_size = cache_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train the machines.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
            Rows. NumPy, SciPy, pandas, polars, Dask and Zarr; held in memory, in float32.
        y : array-like, shape (n,)
            Labels.
        sample_weight : array-like, shape (n,), optional
            Factors of C. Rows of a weight of 0 or less do not take part.

        Returns
        -------
        DCSVC
            Itself.

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used.

        Warns
        -----
        ConvergenceWarning
            If a machine is not solved to `tol` within `max_iter` steps.
        """
        self._check_words()
        X, codes = checking.training_rows(self, X, y)
        kernel = checking.kernel_of(self, X)
        C = checking.bounds(self, X, codes, sample_weight)
        threads = checking.threads_of(self.n_jobs)
        n_classes = len(self.classes_)
        machines = machines_of(n_classes)
        with threadpool_limits(1):
            variables = variables_of(X, codes, C, kernel)
            solved = solve_machines(
                kernel,
                X[variables.rows],
                codes[variables.rows],
                variables.C,
                machines,
                equality=bool(self.fit_intercept),
                tol=checking.tolerance(self.tol),
                working_size=self._working_size(min(threads, len(machines))),
                max_iter=checking.most_steps(self.max_iter, -1),
                seed=checking.seed_of(self.random_state),
                threads=threads,
            )
        self._learn(kernel, X, codes, variables, solved)
        checking.warn_unsolved([one.solution.converged for one in solved], self.tol)
        return self

    def _check_words(self) -> None:
        shape = self.decision_function_shape
        if shape not in SHAPES:
            raise InputError(
                f"decision_function_shape is {shape!r:.80}; give one of {', '.join(SHAPES)}."
            )
        if self.break_ties and shape == "ovo":
            raise InputError('break_ties needs decision_function_shape="ovr".')
        if not (checking.is_real(self.cache_size) and self.cache_size > 0):
            raise InputError(f"cache_size is {self.cache_size!r:.80}; give MB, above 0.")

    def _working_size(self, side_by_side: int) -> int:
        each = self.cache_size * 1e6 / side_by_side
        return max(LEAST_SET, math.isqrt(int(each / (4 * MATRICES))))

    def _learn(
        self,
        kernel: Any,
        X: Rows,
        codes: NDArray[np.int32],
        variables: Variables,
        solved: list[SolvedMachine],
    ) -> None:
        """Set the attributes that are learned."""
        n, n_classes = X.shape[0], len(self.classes_)
        coef = np.zeros((n_classes - 1, n))
        for one in solved:
            a, b = one.machine.positive, one.machine.negative
            alpha = np.zeros(len(variables.rows))
            alpha[one.rows] = np.abs(one.coef)
            of_rows = variables.shared_out(alpha)
            first, second = codes == a, codes == b
            assert b is not None
            coef[b - 1, first] = of_rows[first]
            coef[a, second] = -of_rows[second]
        support = np.flatnonzero(coef.any(axis=0))
        support = support[np.argsort(codes[support], kind="stable")]
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = X[support]
        self.n_support_ = np.bincount(codes[support], minlength=n_classes).astype(np.int32)
        bias = np.array([one.solution.bias for one in solved])
        # Of two classes the second is the positive one.
        sign = -1.0 if n_classes == 2 else 1.0
        dual_coef, self.intercept_ = sign * coef[:, support], sign * bias
        self.dual_coef_ = sparse.csr_array(dual_coef) if sparse.issparse(X) else dual_coef
        steps = [max(1, one.solution.n_iter) for one in solved]
        self.n_iter_ = np.minimum(steps, checking.MOST_SEED).astype(np.int32)
        self.objective_ = np.array([one.solution.objective for one in solved])
        self.violation_ = np.array([one.solution.violation for one in solved])
        self.fit_status_ = int(not all(one.solution.converged for one in solved))
        self.shape_fit_ = X.shape
        self._kernel = kernel

    @property
    def coef_(self) -> Any:
        """Weights of the features, shape (n_machines, n_features); for the linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        found = sign * self._model().weights()
        return sparse.csr_array(found) if sparse.issparse(self.support_vectors_) else found

    def _model(self) -> PairsModel:
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        dual: Any = self.dual_coef_
        dual = dual.toarray() if sparse.issparse(dual) else dual
        return PairsModel(
            self._kernel,
            self.support_vectors_,
            sign * dual,
            self.n_support_.astype(np.int64),
            sign * self.intercept_,
        )

    def _pair_values(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values of all pairs; above 0 means the first class."""
        check_is_fitted(self)
        rows = checking.rows_to_decide(self, X, self.support_vectors_)
        model = self._model()
        few = rows.shape[0] * model.support.shape[0] <= FEW_VALUES
        dtype: Any = np.float64 if few or model.rounding(rows) > COARSE else np.float32
        with threadpool_limits(1):
            return model.decide(rows, dtype=dtype, threads=checking.threads_of(self.n_jobs))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return decision values.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, float64
            Of two classes of shape (n,), above 0 for ``classes_[1]``. Of more of shape
            (n, n_classes) for "ovr": votes and, within less than half a vote, decision values; of
            shape (n, n_classes (n_classes - 1) / 2) for "ovo".
        """
        values = self._pair_values(X)
        if len(self.classes_) == 2:
            return -values[:, 0]
        if self.decision_function_shape == "ovo":
            return values
        return confidences(values, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,)
        """
        values = self._pair_values(X)
        n_classes = len(self.classes_)
        if self.break_ties and n_classes > 2:
            found = np.argmax(confidences(values, n_classes), axis=1)
        else:
            found = winners(values, n_classes)
        return np.asarray(self.classes_[found])
