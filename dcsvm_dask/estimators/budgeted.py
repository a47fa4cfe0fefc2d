"""SVMs on a budget of support vectors as estimators, which learn rows as they come."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils.validation import check_is_fitted, validate_data

from dcsvm_dask.checks import check, is_a
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.deciding import decided
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.kernels import Kernel, Rows, is_sparse
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.own_support import model_of_own
from dcsvm_dask.models.schemes import scheme_for
from dcsvm_dask.random_streams import BUDGET, generator
from dcsvm_dask.solvers import BudgetedLearner, BudgetedPoint, far_merges, machines_of
from dcsvm_dask.tasks import Dual, Regression, svc_dual


class _Budgeted(BaseEstimator, ABC):
    """What both estimators share: epochs of steps, and rows as they come."""

    C: float
    kernel: str
    budget: int
    epochs: int
    merge: str
    fit_intercept: bool
    n_total: int | None
    random_state: Any
    n_jobs: int | None

    _learners: list[BudgetedLearner]
    _total: int
    _model: Model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _duals(self, y: NDArray[Any], weights: NDArray[np.float64]) -> list[Dual]:
        """Return the dual problems of the SVMs on rows of so many C."""

    @abstractmethod
    def _make_model(self) -> Model:
        """Return the model that the learners have come to."""

    def _check(self) -> None:
        """Refuse parameters out of their range."""
        for name in ("epochs", "budget"):
            value = getattr(self, name)
            least = 1 if name == "epochs" else 2
            whole = is_a(value, Integral) and value >= least
            check(whole, name, value, f"a whole number from {least}")
        check(checking.is_real(self.C) and 0 < self.C < np.inf, "C", self.C, "a positive number")
        known = self.n_total is None or (is_a(self.n_total, Integral) and self.n_total >= 1)
        check(known, "n_total", self.n_total, "a whole number from 1, or None")
        checking.check_flags(self, "fit_intercept")

    def _begin(self, X: Rows, machines: int) -> None:
        """Make learners without support vectors."""
        kernel = checking.kernel_of(self, X)
        self._is_sparse = is_sparse(X)
        self._learners = [self._learner(kernel, X.shape[1], None) for _ in range(machines)]

    def _go_on(self) -> None:
        """Go on with copies of the learners, by the parameters as they are now.

        The kernel is that of the first call. What is interrupted leaves the learners as they were.
        """
        points = [learner.point for learner in self._learners]
        kernel = self._learners[0].kernel
        self._learners = [self._learner(kernel, one.points.shape[1], one) for one in points]
        for learner in self._learners:
            learner.shrink()

    def _learner(
        self, kernel: Kernel, n_features: int, point: BudgetedPoint | None
    ) -> BudgetedLearner:
        return BudgetedLearner(
            kernel,
            n_features,
            int(self.budget),
            merge=self.merge,
            with_bias=bool(self.fit_intercept),
            point=point,
        )

    def _learn(self, X: Rows, y: NDArray[Any], C: NDArray[np.float64], epochs: int) -> None:
        """Take steps over the rows of a weight above 0, in a random order for each epoch."""
        kept = np.flatnonzero(C > 0.0)
        if len(kept) < len(C):
            X, y, C = X[kept], y[kept], C[kept]
        self._total = int(self.n_total or self._total or len(C))
        duals = self._duals(y, C)
        seed, begun = checking.seed_of(self.random_state), self._learners[0].point.steps
        orders = [generator(seed, BUDGET, begun, e).permutation(len(C)) for e in range(epochs)]

        def learn(number: int) -> None:
            for order in orders:
                self._learners[number].learn(X, duals[number], order, total=self._total)

        with one_thread_each():
            threads = min(checking.threads_of(self.n_jobs), len(duals))
            for_each(learn, range(len(duals)), threads)
        self._model = self._make_model()
        self.t_ = self._learners[0].point.steps
        self.n_support_vectors_ = self._model.n_support
        self._warn_of_far()

    def _warn_of_far(self) -> None:
        words = [learner.point.words() for learner in self._learners]
        total = {key: sum(one[key] for one in words) for key in words[0]}
        if said := far_merges(total, self._learners[0].kernel):
            warnings.warn(DcsvmWarning(said), stacklevel=5)

    def _decide(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "t_")
        rows = checking.rows_to_decide(self, X, self._model.support)
        return decided(self._model, rows, "exact", checking.threads_of(self.n_jobs))

    def _model_of(self, bias: NDArray[np.float64], n_classes: int) -> Model:
        points = [learner.point for learner in self._learners]
        several = n_classes > 2
        return model_of_own(
            self._learners[0].kernel,
            [point.points for point in points],
            [point.beta for point in points],
            bias + np.array([point.intercept for point in points]),
            scheme_for(n_classes, "ovr") if several else None,
            machines_of(n_classes, "ovr") if several else (),
            as_sparse=self._is_sparse,
        )

    @property
    def support_vectors_(self) -> Rows:
        """Support vectors, most of them merged from several rows, shape (n_support, n_features)."""
        check_is_fitted(self, "t_")
        return self._model.support

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Their coefficients, shape (n_svms, n_support)."""
        check_is_fitted(self, "t_")
        return self._model.coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The bias of each SVM, shape (n_svms,)."""
        check_is_fitted(self, "t_")
        return np.asarray(self._model.bias[0])


class BudgetedSVC(ClassifierMixin, _Budgeted):
    """A kernel SVM of at most so many support vectors, by stochastic gradient descent.

    Of more than two classes there is an SVM for each against the rest, each with a budget of its
    own. Where a step leaves one support vector too many, two are merged into one.

    Parameters
    ----------
    C : float, default 1.0
        Penalty of errors, above 0: lambda is 1 / (n C).
    kernel : str, default "rbf"
        As `DCSVC` has it; others than "rbf" have no merging.
    degree, gamma, coef0
        Of the kernel, as `DCSVC` has them.
    budget : int, default 500
        Most support vectors of an SVM, from 2.
    epochs : int, default 20
        Passes of `fit` over the rows.
    merge : str, default "lookup-wd"
        "gss", "gss-precise", "lookup-h" or "lookup-wd": merging by golden section search, or by
        tables; "removal" or "projection" of the lightest support vector.
    fit_intercept : bool, default False
        Whether decision values have an offset, regularised like all weights.
    class_weight : dict or "balanced", default None
        Factors of C by label. "balanced" needs all rows: not for `partial_fit`.
    n_total : int or None, default None
        Rows n of an epoch, by which C and lambda belong together; None: those of `fit`, or of the
        first call of `partial_fit`.
    random_state : int, RandomState or None, default None
        Of the order of the rows. None is 0.
    n_jobs : int or None, default -1
        Threads: an SVM each while learning; the model is the same for any number.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    class_weight_ : ndarray, shape (n_classes,)
    support_vectors_, dual_coef_, intercept_
        The model.
    n_support_vectors_ : int
        Support vectors of all SVMs together.
    t_ : int
        Steps of each SVM.
    n_features_in_ : int

    References
    ----------
    T. Glasmachers, S. Qaadan. Speeding up budgeted stochastic gradient descent SVM training with
    precomputed golden section search. LION 2018.
    Z. Wang, K. Crammer, S. Vucetic. Breaking the curse of kernelization. JMLR 13, 2012.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        budget: int = 500,
        epochs: int = 20,
        merge: str = "lookup-wd",
        fit_intercept: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        n_total: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.budget = budget
        self.epochs = epochs
        self.merge = merge
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_total = n_total
        self.random_state = random_state
        self.n_jobs = n_jobs

    @whole_or_as_before
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn all rows, for so many epochs.

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
        self

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used.
        """
        self._check()
        X, codes = checking.training_rows(self, X, y)
        C = checking.bounds(self, X, codes, sample_weight)
        self._total = 0
        self._begin(X, len(machines_of(len(self.classes_), "ovr")))
        self._learn(X, codes, C, int(self.epochs))
        return self

    @whole_or_as_before
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn some more rows, once each, by the kernel of the first call.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`; y may be of one class.
        classes : array-like, shape (n_classes,), optional
            All labels that will come; needed at the first call.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As for `fit`; if there are labels that were not announced.
        """
        self._check()
        first = not hasattr(self, "t_")
        if first and classes is None:
            raise InputError("classes is None: give all labels at the first call of partial_fit.")
        if self.class_weight == "balanced":
            raise InputError(
                'class_weight is "balanced", which needs all rows: give partial_fit a dict.'
            )
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float32, order="C", reset=first
        )
        X, y = checking.as_rows(X), column_or_1d(y, warn=True)
        if first:
            self.classes_ = np.unique(np.asarray(classes))
            if len(self.classes_) < 2:
                raise InputError(
                    f"classes is {self.classes_.tolist()}: a classifier needs at least two labels."
                )
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise InputError(
                f"classes is {np.unique(classes).tolist()}, but was {self.classes_.tolist()} at "
                "the first call of partial_fit."
            )
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise InputError(
                f"y has the label {unknown.tolist()[0]!r}, which is not one of classes: "
                f"{self.classes_.tolist()}."
            )
        self.class_weight_ = compute_class_weight(
            self.class_weight, classes=self.classes_, y=self.classes_
        )
        codes = np.searchsorted(self.classes_, y).astype(np.int32)
        C = checking.row_bounds(X, sample_weight, float(self.C)) * self.class_weight_[codes]
        if first:
            self._total = 0
            self._begin(X, len(machines_of(len(self.classes_), "ovr")))
        else:
            self._go_on()
        self._learn(X, codes, C, 1)
        return self

    def _duals(self, y: NDArray[Any], weights: NDArray[np.float64]) -> list[Dual]:
        machines = machines_of(len(self.classes_), "ovr")
        return [svc_dual(machine.rows(y)[1], weights) for machine in machines]

    def _make_model(self) -> Model:
        n_classes = len(self.classes_)
        return self._model_of(np.zeros(len(self._learners)), n_classes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return decision values; of two classes above 0 for ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, float64
            Shape (n,), or (n, n_classes) for more than two classes.
        """
        return self._decide(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,)
        """
        values = self._decide(X)
        codes = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return np.asarray(self.classes_[codes])


class BudgetedSVR(RegressorMixin, _Budgeted):
    """Epsilon-SVR of at most so many support vectors, by stochastic gradient descent.

    Parameters
    ----------
    epsilon : float, default 0.1
        Half the width of the tube without loss, 0 or more.
    fit_intercept : bool, default True
        Whether predictions have an offset: from the mean of the targets of `fit`, or of the first
        call of `partial_fit`, and regularised like all weights.
    Others
        Those of `BudgetedSVC`.

    Attributes
    ----------
    support_vectors_, dual_coef_, intercept_, n_support_vectors_, t_, n_features_in_
        As `BudgetedSVC` has them.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        kernel: str = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        budget: int = 500,
        epochs: int = 20,
        merge: str = "lookup-wd",
        fit_intercept: bool = True,
        n_total: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.budget = budget
        self.epochs = epochs
        self.merge = merge
        self.fit_intercept = fit_intercept
        self.n_total = n_total
        self.random_state = random_state
        self.n_jobs = n_jobs

    @whole_or_as_before
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn all rows, for so many epochs; see `BudgetedSVC.fit`."""
        self._check()
        X, targets = checking.training_targets(self, X, y)
        C = checking.row_bounds(X, sample_weight, float(self.C))
        self._start(X, targets, C)
        self._learn(X, targets, C, int(self.epochs))
        return self

    @whole_or_as_before
    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn some more rows, once each; see `BudgetedSVC.partial_fit`."""
        self._check()
        first = not hasattr(self, "t_")
        if not first:
            validate_data(self, X, skip_check_array=True, reset=False)
        names = getattr(self, "feature_names_in_", None)
        X, targets = checking.training_targets(self, X, y)
        if not first and names is not None:  # rows without names have them by their place
            self.feature_names_in_ = names
        C = checking.row_bounds(X, sample_weight, float(self.C))
        if first:
            self._start(X, targets, C)
        else:
            self._go_on()
        self._learn(X, targets, C, 1)
        return self

    def _check(self) -> None:
        super()._check()
        wide = checking.is_real(self.epsilon) and 0 <= self.epsilon < np.inf
        check(wide, "epsilon", self.epsilon, "a number from 0")

    def _start(self, X: Rows, targets: NDArray[np.float64], C: NDArray[np.float64]) -> None:
        self._total = 0
        self._centre = float(np.average(targets, weights=C)) if self.fit_intercept else 0.0
        self._begin(X, 1)

    def _duals(self, y: NDArray[Any], weights: NDArray[np.float64]) -> list[Dual]:
        return [Regression(epsilon=float(self.epsilon)).dual(y - self._centre, weights)]

    def _make_model(self) -> Model:
        return self._model_of(np.array([self._centre]), 0)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predicted targets.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,), float64
        """
        return self._decide(X)
