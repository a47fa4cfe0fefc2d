"""SVMs of many classes: what a fitted one has learned, and how it decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, given_rows
from dcsvm_dask.estimators.deciding import (
    COARSE,
    FEW_VALUES,
    decided,
    early_values,
    stored_to_decide,
)
from dcsvm_dask.estimators.exact import Exact
from dcsvm_dask.estimators.known_kernel import PRECOMPUTED, KnownKernel, support_vectors
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.kernels import Rows, is_linear
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.schemes import SCHEMES

Index = NDArray[np.int64]


def unwritable(weights: Any) -> Any:
    """Return weights that are computed anew each time so that writing to them is refused."""
    (weights.data if sparse.issparse(weights) else weights).flags.writeable = False
    return weights


class Voting(ClassifierMixin, BaseEstimator):
    """A classifier by SVMs of two classes, one for each pair or each class, or early ones.

    Its parameters are those of `DCSVC`, which trains; the attributes are documented there.
    """

    kernel: Any
    multiclass: str
    decision_function_shape: str
    break_ties: bool
    n_jobs: int | None
    classes_: NDArray[Any]
    early_model_: Model | None
    # Of what was fitted, whatever parameters are set afterwards.
    _kernel: Any
    _scheme: str

    takes_kernel_values = True
    """Whether kernels may be precomputed, and callables."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == PRECOMPUTED
        return tags

    def _scheme_of(self, n_classes: int) -> str:
        """Return which SVMs there are; of two classes there is one, that of the pair."""
        return self.multiclass if n_classes > 2 else "ovo"

    def _learn(self, found: Exact, codes: NDArray[np.int32], take: Callable[[Index], Rows]) -> None:
        """Set the attributes that are learned of the exact SVMs."""
        n_classes = len(self.classes_)
        support = np.flatnonzero(found.coef.any(axis=0))
        support = support[np.argsort(codes[support], kind="stable")]
        self.early_model_, self.level_ = None, 0
        self.support_ = support.astype(np.int32)
        self.support_vectors_ = support_vectors(take(support))
        self.n_support_ = np.bincount(codes[support], minlength=n_classes).astype(np.int32)
        # Of two classes the second is the positive one.
        sign = -1.0 if n_classes == 2 else 1.0
        dual: Any = sign * found.coef[:, support]
        self.dual_coef_ = sparse.csr_array(dual) if sparse.issparse(self.support_vectors_) else dual
        self.intercept_ = sign * found.bias
        self.n_iter_ = np.clip(found.n_iter, 1, checking.MOST_SEED).astype(np.int32)
        self.objective_, self.violation_ = found.objective, found.violation
        self.fit_status_ = int(not all(found.solved))

    @property
    def coef_(self) -> Any:
        """Weights of the features, shape (n_machines, n_features); for the linear kernel only."""
        if not is_linear(self.kernel):
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        found = sign * self._model().weights()
        return unwritable(
            sparse.csr_array(found) if sparse.issparse(self.support_vectors_) else found
        )

    @property
    def _gamma(self) -> float:
        """The gamma of the kernel that was fitted, by SVC's name; 0 where its values are given."""
        check_is_fitted(self)
        return float(getattr(self._kernel, "gamma", 0.0))

    def _model(self) -> Model:
        sign = -1.0 if len(self.classes_) == 2 else 1.0
        dual: Any = self.dual_coef_
        dual = dual.toarray() if sparse.issparse(dual) else dual
        return Model(
            self._kernel,
            self.support_vectors_,
            sign * dual,
            self.n_support_.astype(np.int64)[None, :],
            sign * self.intercept_[None, :],
            SCHEMES[self._scheme](len(self.classes_)),
        )

    def _sum(self) -> Model:
        """Return the only SVM of two classes; far pairs of rows cost it nothing."""
        dual: Any = self.dual_coef_
        dual = dual.toarray() if sparse.issparse(dual) else dual
        support = self.support_vectors_.copy()
        model = Model.of_sum(self._kernel, support, dual[0].copy(), self.intercept_[0])
        model.compact()
        return model

    def _machine_values(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values of all SVMs; above 0 means the positive class."""
        check_is_fitted(self)
        if isinstance(self._kernel, KnownKernel):
            return self._known_values(self._kernel.values(self, X))
        rows = given_rows.rows_to_decide(self, X, self.support_vectors_)
        threads = checking.threads_of(self.n_jobs)
        if self.early_model_ is not None:
            return early_values(self.early_model_, rows, threads)
        few = rows.shape[0] * len(self.support_) <= FEW_VALUES
        if len(self.classes_) == 2 and not few:
            return -decided(self._sum(), rows, "exact", threads)[:, None]
        model, rows = stored_to_decide(self._model(), rows)
        dtype: Any = np.float64 if few or model.rounding(rows) > COARSE else np.float32
        with one_thread_each():
            return decide(model, rows, dtype=dtype, threads=threads)

    def _known_values(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the decision values of all SVMs from kernel values with all training rows."""
        # Values with support vectors are features of linear SVMs, whose weights are coefficients.
        each = sparse.csr_array(sparse.eye_array(len(self.support_)))
        model = replace(self._model(), support=each)
        return np.asarray(K[:, self.support_] @ model.weights().T + model.bias[0])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return decision values.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, float64
            Of two classes of shape (n,), above 0 for ``classes_[1]``. Of more of shape
            (n, n_classes): the SVMs' values where each class has one; else votes and, within
            less than half a vote, decision values, or with ``decision_function_shape="ovo"`` those
            of the pairs, shape (n, n_classes (n_classes - 1) / 2).
        """
        values = self._machine_values(X)
        if len(self.classes_) == 2:
            return -values[:, 0]
        if self.decision_function_shape == "ovo" and self._scheme == "ovo":
            return values
        return SCHEMES[self._scheme](len(self.classes_)).values_of_classes(values)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,)
        """
        if self.break_ties and self.decision_function_shape == "ovo":
            raise InputError(
                "break_ties must be False when decision_function_shape is 'ovo': there are no "
                'values of classes. Set decision_function_shape to "ovr".'
            )
        values = self._machine_values(X)
        n_classes = len(self.classes_)
        scheme = SCHEMES[self._scheme](n_classes)
        found = scheme.classes_of(values)
        if self.break_ties and n_classes > 2:
            found = np.argmax(scheme.values_of_classes(values), axis=1)
        return np.asarray(self.classes_[found])
