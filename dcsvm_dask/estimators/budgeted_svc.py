"""C-SVC on a budget of support vectors, which learns rows as they come."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import costs, given_rows
from dcsvm_dask.estimators.budgeted import Budgeted
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.models.model import Model
from dcsvm_dask.solvers import machines_of
from dcsvm_dask.tasks import Dual, svc_dual


class BudgetedSVC(ClassifierMixin, Budgeted):
    """A kernel SVM of at most so many support vectors, by stochastic gradient descent.

    Of more than two classes there is an SVM for each against the rest, each with a budget of its
    own. Where a step leaves one support vector too many, two are merged into one.

    Parameters
    ----------
    C : float, default 1.0
        Penalty of errors, above 0: lambda is 1 / (n C). n C times the weight of a row is at most
        1e100.
    kernel : str, default "rbf"
        As `DCSVC` has it; others than "rbf" have no merging.
    degree, gamma, coef0
        Parameters of the kernel, as `DCSVC` has them.
    budget : int, default 500
        Most support vectors of an SVM, from 2.
    epochs : int, default 20
        Passes of `fit` over the rows.
    merge : str, default "lookup-wd"
        "gss", "gss-precise", "lookup-h" or "lookup-wd": merging by golden section search, or by
        tables; "removal" or "projection" of the lightest support vector.
    table_size : int, default 400
        Points of these tables in each direction, from 2 to 4096. They are computed once, in .13 s
        for 400, and kept on disk beside compiled code.
    tables : str, path or None, default None
        File of tables that ``dcsvm merge-tables`` has written, to be read instead; its size counts.
    fit_intercept : bool, default False
        Whether decision values have an offset, regularised like all weights.
    class_weight : dict or "balanced", default None
        Factors of C by label. "balanced" needs all rows: not for `partial_fit`.
    n_total : int or None, default None
        Rows n of an epoch, by which C and lambda belong together; None: those of `fit`, or of the
        first call of `partial_fit`.
    random_state : int, RandomState or None, default None
        Seed of the order of the rows. None is 0.
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
        table_size: int = 400,
        tables: str | os.PathLike[str] | None = None,
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
        self.table_size = table_size
        self.tables = tables
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
        X, codes = given_rows.training_rows(self, X, y)
        C = costs.bounds(self, X, codes, sample_weight)
        self._total = 0
        self._check_steps(C)
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
        X, y
            As for `fit`; y may be of one class.
        classes : array-like, shape (n_classes,), optional
            All labels that will come; needed at the first call.
        sample_weight : array-like, shape (n,), optional
            As for `fit`.

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
        X, y = given_rows.labelled_rows(self, X, y, reset=first)
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
        codes = np.searchsorted(self.classes_, y).astype(np.int32)
        costs.weigh_classes(self, codes)
        C = costs.row_bounds(X, sample_weight, float(self.C)) * self.class_weight_[codes]
        if first:
            self._total = 0
        self._check_steps(C)
        if first:
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
