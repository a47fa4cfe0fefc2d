"""Cross-validated choice of C, nu, epsilon and the kernel, for less than as many fits."""

from __future__ import annotations

import numbers
import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.checks import is_a
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking, costs
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.search_blocks import block_scores
from dcsvm_dask.estimators.search_fits import fit_scores
from dcsvm_dask.estimators.search_known import KnownKernels
from dcsvm_dask.estimators.search_results import Scores
from dcsvm_dask.estimators.search_warned import warn_choice
from dcsvm_dask.estimators.searched import SEARCHED, scorer_of, searched
from dcsvm_dask.estimators.svc import DCSVC
from dcsvm_dask.runtime.clients import gathered
from dcsvm_dask.tasks import is_several

Index = NDArray[np.int64]
Split = tuple[Index, Index]


def _decides(search: Any) -> bool:
    return hasattr(search._searched, "decision_function")


class DCSVMSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Search over the parameters of a kernel SVM by cross-validation.

    Results as `sklearn.model_selection.GridSearchCV` has them.

    Of `DCSVC` the kernel matrix of a candidate's kernel is computed once: folds are parts of it,
    and C goes up from one solution to the next. More rows than `block_rows` are put into blocks,
    once for all candidates; each block has a SVM of its own, which decides the held-out rows of its
    block (early prediction: Hsieh, Si, Dhillon, ICML 2014, equation (6)). Where the kernel is
    smooth, SVMs of blocks also train on a weighted sample of the other blocks' rows. These scores
    rank the candidates; of the best of them `exact` are solved as a whole, and of these the best is
    chosen. Where a polynomial or linear kernel has few features beside the rows, SVMs of two
    classes are solved as a whole at once, without a kernel matrix.

    Of other estimators every candidate is fitted to every split, and every score is exact. Those of
    the same kernel share its matrix, and each starts from the solution of the one before: C goes
    up, or nu down.

    Parameters
    ----------
    estimator : DCSVC, DCSVR, DCQuantileSVR, DCNuSVC, DCNuSVR, DCOneClassSVM or None, default None
        What is searched for, with the parameters that all candidates have; None: `DCSVC()`. Its
        `max_iter` bounds an SVM of a candidate that would not end: such ones are marked in
        ``cv_results_["solved"]``.
    param_grid : dict or list of dicts
        Lists of values of kernel (names, callables, or "precomputed" alone: then X holds kernel
        values of all rows with all), gamma, degree and coef0; of C or nu, or both, as the estimator
        has them; and of the epsilon of `DCSVR`.
    scoring : str or callable, default None
        One scorer of scikit-learn, of predict or decision_function; None: accuracy of classes, R^2
        of targets, the negative mean pinball loss of `DCQuantileSVR` at its quantile, the AUC of
        the decision values of `DCOneClassSVM`. Accuracy hides rare classes: "balanced_accuracy" or
        "roc_auc" do not. As in GridSearchCV it does not follow from the estimator's class weights.
    cv : int, splitter or iterable, default None
        As GridSearchCV has it; None: 5 folds, which are stratified for classifiers.
    refit : bool or callable, default True
        Whether the chosen candidate is trained on all rows. A callable takes ``cv_results_`` and
        returns the number of the candidate to choose and train, as that of GridSearchCV; there is
        no ``best_score_`` then.
    block_rows : int, default 4096
        Of `DCSVC` most rows of a block that train, about; up to so many every score is exact. Of
        others most training rows of a split of which there is a kernel matrix.
    exact : int, default 3
        Candidates that are solved as a whole where there are blocks; 0: none.
    n_jobs : int or None, default -1
        Threads; -1: as many as BLAS may use. None is 1.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        GridSearchCV's: ``params``, ``param_*``, ``split*_test_score``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score`` (exact scores before early ones), ``mean_fit_time``
        and ``std_fit_time`` (seconds of a fold; with its share of the kernel matrix, which is in
        the first fit of a kernel but for `DCSVC`), ``mean_score_time``, ``std_score_time``; and
        ``early`` (whether the score is that of blocks), ``solved`` (whether all SVMs are within the
        tolerance; those of blocks that sample other blocks within ten times that).
    best_estimator_ : estimator
        Where `refit`.
    best_index_, best_params_, best_score_
        Of the candidate with the best mean score; among exact ones, where there are any. Where that
        is not solved to its tolerance and solved ones are within its standard error, of the best of
        these: a warning says so, and ``refit=lambda found: found["mean_test_score"].argmax()``
        chooses by the score alone.
    n_splits_ : int
    n_blocks_ : int
    refit_time_ : float
        Seconds.
    classes_ : ndarray
        Of classifiers.
    n_features_in_, feature_names_in_
    """

    def __init__(
        self,
        estimator: Any = None,
        param_grid: Any = None,
        *,
        scoring: Any = None,
        cv: Any = None,
        refit: Any = True,
        block_rows: int = 4096,
        exact: int = 3,
        n_jobs: int | None = -1,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.block_rows = block_rows
        self.exact = exact
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = isinstance(self._searched, tuple(SEARCHED))
        of = (self._searched if known else DCSVC()).__sklearn_tags__()
        tags.estimator_type = of.estimator_type
        tags.classifier_tags, tags.regressor_tags = of.classifier_tags, of.regressor_tags
        tags.target_tags.required = True
        tags.input_tags.pairwise = of.input_tags.pairwise
        tags.input_tags.sparse = True
        return tags

    @property
    def _searched(self) -> Any:
        return DCSVC() if self.estimator is None else self.estimator

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score all candidates, and train the chosen one.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
        y : array-like, shape (n,)
            Labels or targets. Of `DCOneClassSVM` 1 for inliers and -1 for outliers: candidates are
            scored by them, and trained on the rows of both.
        sample_weight : array-like, shape (n,), optional
            Factors of C (of 1 where there is no C) in training; scores do not weigh rows.
        groups : array-like, shape (n,), optional
            Of the rows, for a `cv` that keeps those of a group together, as GroupKFold.

        Returns
        -------
        DCSVMSearchCV
            Itself.

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used.
        """
        how = searched(self._searched)
        candidates = self._candidates(how.axes)
        base = clone(self._searched)
        given = X = gathered(X)
        known = KnownKernels.of(base, candidates, X)
        X, labels = how.checked(self, known.rows_to_check(candidates, X) if known else X, y)
        splits = self._splits(X, labels, groups)
        scoring = self._scoring
        if scoring == "roc_auc" and any(len(np.unique(labels[test])) < 2 for _, test in splits):
            raise InputError(
                "cv holds out rows of one label only, which have no AUC: give a StratifiedKFold."
            )
        scorer, threads = scorer_of(base, scoring), checking.threads_of(self.n_jobs)
        with one_thread_each():
            if isinstance(base, DCSVC):
                found = block_scores(
                    base,
                    candidates,
                    X,
                    labels,
                    sample_weight,
                    splits,
                    scorer,
                    block_rows=self.block_rows,
                    exact=self.exact,
                    threads=threads,
                    known=known,
                )
            else:
                weight = costs.weights_of(X, sample_weight)
                found = fit_scores(
                    base,
                    candidates,
                    X,
                    labels,
                    weight,
                    splits,
                    scorer,
                    most_rows=self.block_rows,
                    threads=threads,
                    known=known,
                )
        if np.isnan(found.scores).any():
            raise InputError(
                "A score is nan: give a scoring that the held-out rows of every split allow, or "
                "other splits."
            )
        self.n_splits_, self.n_blocks_ = len(splits), found.n_blocks
        self.cv_results_ = found.results(candidates)
        self.best_index_ = self._chosen(found)
        self.best_params_ = candidates[self.best_index_]
        if not callable(self.refit):
            self.best_score_ = float(found.mean[self.best_index_])
        warn_choice(found, candidates, self.best_index_)
        if self.refit:
            begin = time.perf_counter()
            best = clone(base).set_params(**self.best_params_)
            self.best_estimator_ = best.fit(given, labels, sample_weight)
            self.refit_time_ = time.perf_counter() - begin
        if known:  # of callables scikit-learn's estimators do not count features
            self.__dict__.pop("n_features_in_", None)
            if all(rows.kernel.function is None for rows in known.of_kernel.values()):
                self.n_features_in_ = len(labels)
        return self

    def _chosen(self, found: Scores) -> int:
        """Return the number of the chosen candidate."""
        if not callable(self.refit):
            return found.best
        chosen, count = self.refit(self.cv_results_), len(found.solved)
        if not (is_a(chosen, numbers.Integral) and 0 <= chosen < count):
            raise InputError(
                f"refit returned {chosen!r:.80}; let it return the number of a candidate, "
                f"0 to {count - 1}."
            )
        return int(chosen)

    @property
    def _scoring(self) -> Any:
        """What `check_scoring` takes."""
        if self.scoring is not None:
            return self.scoring
        return searched(self._searched).scoring(self._searched)

    def _splits(self, X: Any, labels: NDArray[Any], groups: ArrayLike | None) -> list[Split]:
        """Return the rows of each split that train, and those that are held out."""
        check_consistent_length(labels, groups)
        why: Exception | None = None
        classes = is_classifier(self._searched)
        try:
            folds = check_cv(self.cv, labels, classifier=classes).split(X, labels, groups)
            splits = [
                (_row_numbers(train, len(labels)), _row_numbers(test, len(labels)))
                for train, test in folds
            ]
        except (TypeError, IndexError) as error:
            splits, why = [], error
        if not splits or not all(len(train) and len(test) for train, test in splits):
            raise InputError(
                f"cv is {self.cv!r:.80}; give a number of folds, a splitter of scikit-learn, or "
                f"pairs of arrays of row numbers, below {len(labels)}."
            ) from why
        return splits

    def _candidates(self, axes: tuple[str, ...]) -> list[dict[str, Any]]:
        """Return the parameters of all candidates; check the others."""
        if not (isinstance(self.scoring, str | None) or callable(self.scoring)):
            raise InputError(
                f"scoring is {self.scoring!r:.80}; give the name of one scorer of predict or "
                "decision_function, or a callable; take GridSearchCV for several metrics."
            )
        if not callable(self.refit):
            checking.check_flags(self, "refit")
        if not isinstance(self.param_grid, dict | list) or not self.param_grid:
            raise InputError("param_grid is missing: give lists of values, as for GridSearchCV.")
        candidates = [dict(one) for one in ParameterGrid(self.param_grid)]
        others = sorted({key for one in candidates for key in one} - set(axes))
        if "quantile" in others and hasattr(self._searched, "quantile"):
            raise InputError(
                "param_grid has quantile, which is not searched over: pinball losses at different "
                "quantiles do not compare."
            )
        if is_several(getattr(self._searched, "quantile", 0.5)):
            raise InputError(
                "estimator has several quantiles, for which there is no search: pinball losses at "
                "different quantiles do not compare. Search for one of them at a time."
            )
        if others:
            raise InputError(
                f"param_grid has {', '.join(others)}; possible are {', '.join(axes)}. Take "
                "GridSearchCV for others."
            )
        for name, least in (("block_rows", 2), ("exact", 0)):
            value = getattr(self, name)
            if not (is_a(value, numbers.Integral) and value >= least):
                raise InputError(f"{name} is {value!r:.80}; give a whole number from {least}.")
        return candidates

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the best estimator predicts.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,)
        """
        return np.asarray(self._best().predict(X))

    @available_if(_decides)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values of the best estimator; not of regressors.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)

        Returns
        -------
        ndarray, shape (n,) or (n, n_classes)
        """
        return np.asarray(self._best().decision_function(X))

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the score of the best estimator on some rows, by `scoring`.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
        y : array-like, shape (n,)
            Their labels or targets.

        Returns
        -------
        float
        """
        best = self._best()
        return float(check_scoring(best, scoring=self._scoring)(best, X, y))

    def _best(self) -> Any:
        check_is_fitted(self)
        if not self.refit:
            raise InputError("predicting needs refit=True.")
        return self.best_estimator_


def _row_numbers(given: Any, n: int) -> Index:
    """Return row numbers, also of a mask."""
    return np.asarray(np.arange(n)[np.asarray(given)])
