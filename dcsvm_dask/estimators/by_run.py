"""Base class of the estimators whose training is a run of another method."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, costs, given_rows
from dcsvm_dask.estimators.deciding import decided
from dcsvm_dask.estimators.fit_tasks import (
    FitTasks,
    WithCallbacks,
    sets_up_callbacks,
)
from dcsvm_dask.estimators.runs import (
    labels_and_weights,
    reached,
    trained,
    training_parameters,
)
from dcsvm_dask.estimators.stage_tasks import StageTasks
from dcsvm_dask.estimators.whole_fit import whole_or_as_before
from dcsvm_dask.estimators.with_client import WithClient
from dcsvm_dask.kernels import Rows
from dcsvm_dask.models.model import Model


@dataclass(eq=False, repr=False, kw_only=True)
class ByRun(WithClient, WithCallbacks, ClassifierMixin, BaseEstimator):
    """A classifier of two classes, trained by a method of `dcsvm_dask.train`.

    Parameters
    ----------
    C : float, default 1.0
        Penalty of errors, above 0.
    kernel : str, default "rbf"
        As `DCSVC` has it; not every method has every kernel.
    degree, gamma, coef0
        Parameters of the kernel, as `DCSVC` has them.
    fit_intercept : bool, default True
        Whether decision values have an offset.
    tol : float, default 1e-3
        Violation to stop at.
    class_weight : dict or "balanced", default None
        Factors of C by label, or n / (2 n_c) for a class of n_c rows.
    run : str or path, optional
        A folder for the run, which is kept and gone on with; its data lie beside it, as
        ``RUN.data.zarr``.
    client : distributed.Client, optional
        Client of the Dask cluster that trains; by default this process does. Pickles leave it out.
    random_state : int, RandomState or None, default None
        Seed of all random choices. None is 0.
    n_jobs : int or None, default -1
        Threads that train where there is no client, and that predict; -1: as many as BLAS may use,
        None is 1. The model is the same for any number.

    Attributes
    ----------
    classes_, class_weight_ : ndarray, shape (2,)
    model_ : Model
        What decides.
    n_support_vectors_ : int
        Support vectors of `model_`, of all its SVMs together.
    objective_ : float or None
        The dual objective, where the method ends in one SVM of the whole problem.
    n_features_in_ : int
    """

    method: ClassVar[str]
    """The method's name."""

    # A dataclass has the explicit signature that scikit-learn reads the parameters from.
    C: float = 1.0
    kernel: str = "rbf"
    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    fit_intercept: bool = True
    tol: float = 1e-3
    class_weight: dict[Any, float] | str | None = None
    run: Any = None
    client: Any = None
    random_state: Any = None
    n_jobs: int | None = -1

    @classmethod
    def own(cls) -> list[str]:
        """Return the parameters that only this method has."""
        common = {one.name for one in fields(ByRun)}
        return [one.name for one in fields(cls) if one.name not in common]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    @whole_or_as_before
    @sets_up_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
            Rows, taken in float32 and written to a data set.
        y : array-like, shape (n,)
            Labels of two classes.
        sample_weight : array-like, shape (n,), optional
            Factors of C. Rows of a weight of 0 or less do not take part.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used, or the run was begun with others.
        """
        X, codes = given_rows.training_rows(self, X, y)
        if len(self.classes_) > 2:
            raise InputError(
                "Only binary classification is supported: y has more than two classes. Put it "
                "into scikit-learn's OneVsOneClassifier, or take DCSVC."
            )
        kernel = checking.kernel_of(self, X)
        costs.bounds(self, X, codes, sample_weight)
        weights = costs.weights_of(X, sample_weight)
        labels, words = labels_and_weights(self, codes)
        words |= {
            "method": self.method,
            **training_parameters(self, kernel),
            **{name: getattr(self, name) for name in self.own()},
        }
        about = None if sample_weight is None else {"sample_weight": sample_weight}
        tasks = FitTasks(self, X, y, None, about)
        names = given_rows.names_of(self)
        how = {
            "weights": weights,
            "feature_names": names,
            "client": self.client,
            "more_callbacks": [StageTasks(tasks)],
        }
        with (
            checking.threads_for_tasks(self.n_jobs),
            trained(self.run, X, labels, words, **how) as run,
        ):
            _, node, model = reached(run.folder)
        self.model_, self.n_support_vectors_ = model, model.n_support
        self.objective_ = node.record.get("objective")
        tasks.done()
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return decision values; above 0 for ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,), float64
        """
        check_is_fitted(self)
        model = self.model_
        rows = given_rows.rows_to_decide(self, X, _like(model))
        return decided(model, rows, "exact", checking.threads_of(self.n_jobs))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return labels.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,)
        """
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(int)])


def _like(model: Model) -> Rows:
    """Return rows that are stored as those are to be that a model decides."""
    return model.any_row() if model.features is not None else model.support
