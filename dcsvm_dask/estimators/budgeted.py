"""What estimators on a budget of support vectors share."""

from __future__ import annotations

import os
import threading
import warnings
from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.checks import check, is_a
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.estimators import checking, given_rows
from dcsvm_dask.estimators.deciding import decided
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.kernels import Kernel, Rows, is_sparse
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.own_support import model_of_own
from dcsvm_dask.models.schemes import scheme_for
from dcsvm_dask.random_streams import BUDGET, generator
from dcsvm_dask.solvers import (
    BudgetedLearner,
    BudgetedPoint,
    MergeTables,
    far_merges,
    machines_of,
    timed_pieces,
)
from dcsvm_dask.solvers.budget.learner import LARGEST_STEP, check_steps
from dcsvm_dask.solvers.budget.tables import LEAST_SIZE, MOST_SIZE
from dcsvm_dask.storage.merge_tables import computed_tables, given_tables
from dcsvm_dask.tasks import Dual


class Budgeted(BaseEstimator, ABC):
    """What both estimators share: epochs of steps, and rows as they come."""

    C: float
    kernel: str
    budget: int
    epochs: int
    merge: str
    table_size: int
    tables: str | os.PathLike[str] | None
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
        within = is_a(self.table_size, Integral) and LEAST_SIZE <= self.table_size <= MOST_SIZE
        check(
            within,
            "table_size",
            self.table_size,
            f"a whole number from {LEAST_SIZE} to {MOST_SIZE}",
        )
        named = self.tables is None or isinstance(self.tables, str | os.PathLike)
        named &= self.tables != ""
        check(named, "tables", self.tables, "the path of a file, or None")
        positive = checking.is_real(self.C) and self.C > 0
        check(positive, "C", self.C, "a positive number")
        check(self.C <= LARGEST_STEP, "C", self.C, f"at most {LARGEST_STEP:g}")
        known = self.n_total is None or (is_a(self.n_total, Integral) and self.n_total >= 1)
        check(known, "n_total", self.n_total, "a whole number from 1, or None")
        checking.check_flags(self, "fit_intercept")

    def _begin(self, X: Rows, machines: int) -> None:
        """Make learners without support vectors."""
        kernel = checking.kernel_of(self, X)
        self._is_sparse = is_sparse(X)
        tables, self._tables_given = self._merge_tables(), (self.tables, self.table_size)
        self._learners = [self._learner(kernel, X.shape[1], None, tables) for _ in range(machines)]

    def _merge_tables(self) -> MergeTables:
        """Return the tables of a file, or computed ones."""
        size = int(self.table_size)
        return computed_tables(size) if self.tables is None else given_tables(self.tables, size)

    def _check_steps(self, C: NDArray[np.float64]) -> None:
        """Refuse rows whose steps leave the range of float64."""
        check_steps(float(C.max()), float(self.n_total or self._total or np.count_nonzero(C > 0.0)))

    def _go_on(self) -> None:
        """Go on with copies of the learners, by the parameters as they are now.

        The kernel is that of the first call. What is interrupted leaves the learners as they were.
        """
        points = [learner.point for learner in self._learners]
        kernel, tables = self._learners[0].kernel, self._learners[0].tables
        if (self.tables, self.table_size) != self._tables_given:
            tables, self._tables_given = self._merge_tables(), (self.tables, self.table_size)
        self._learners = [self._learner(kernel, one.points.shape[1], one, tables) for one in points]
        for learner in self._learners:
            learner.shrink()

    def _learner(
        self, kernel: Kernel, n_features: int, point: BudgetedPoint | None, tables: MergeTables
    ) -> BudgetedLearner:
        return BudgetedLearner(
            kernel,
            n_features,
            int(self.budget),
            merge=self.merge,
            with_bias=bool(self.fit_intercept),
            tables=tables,
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

        learners, total, over = self._learners, self._total, threading.Event()

        def learn(number: int) -> None:
            try:
                for order in orders:
                    for some in timed_pieces(order):
                        if over.is_set():
                            return
                        learners[number].learn(X, duals[number], some, total=total)
            except BaseException:
                over.set()  # Ctrl-C comes to one thread only, and the others would go on
                raise

        threads = min(checking.threads_of(self.n_jobs), len(duals))
        try:
            with one_thread_each():
                for_each(learn, range(len(duals)), threads)
        except BaseException:
            over.set()  # it came while this thread was waiting for the others
            raise
        self._model = self._make_model()
        self.t_ = self._learners[0].point.steps
        self.n_support_vectors_ = self._model.n_support
        self._warn_of_far()

    def _warn_of_far(self) -> None:
        words = [learner.point.words() for learner in self._learners]
        total = {key: sum(one[key] for one in words) for key in words[0]}
        if message := far_merges(total, self._learners[0].kernel):
            warnings.warn(DcsvmWarning(message), stacklevel=5)

    def _decide(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "t_")
        rows = given_rows.rows_to_decide(self, X, self._model.support)
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
