"""Cross-validated choice of C and of the kernel's parameters, for little more than one fit."""

from __future__ import annotations

import numbers
import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils.validation import check_is_fitted

from dcsvm_dask.checks import is_a
from dcsvm_dask.clustering import choose_partition
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import checking
from dcsvm_dask.estimators.candidates import Task, exactly_scored, scored
from dcsvm_dask.estimators.pools import one_thread_each
from dcsvm_dask.estimators.svc import DCSVC
from dcsvm_dask.random_streams import ESTIMATOR_SEARCH, generator

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

SEARCHED = ("C", "kernel", "gamma", "degree", "coef0")
# Rows of a sample on which blocks are chosen: for each block, and to measure them on.
SAMPLE_ROWS_PER_BLOCK, MEASURED_ROWS = 20, 2048


class DCSVMSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Search over C and the kernel's parameters of a `DCSVC` by cross-validation.

    Results as `sklearn.model_selection.GridSearchCV` has them. The kernel matrix of a candidate's
    kernel is computed once: folds are parts of it, and C goes up from one solution to the next.
    More rows than `block_rows` are put into blocks, once for all candidates; each block has a
    SVM of its own, which decides the held-out rows of its block (early prediction: Hsieh, Si,
    Dhillon, ICML 2014, equation (6)). Where the kernel is smooth, SVMs of blocks also train on
    a weighted sample of the other blocks' rows. These scores rank the candidates; of the best of
    them `exact` are solved as a whole, and of these the best is chosen.

    Parameters
    ----------
    estimator : DCSVC or None, default None
        What is searched for, with the parameters that all candidates have; None: `DCSVC()`. Its
        `max_iter` bounds an SVM of a candidate that would not end: such ones are marked in
        ``cv_results_["solved"]``.
    param_grid : dict or list of dicts
        Lists of values of C, kernel, gamma, degree and coef0.
    scoring : str or callable, default None
        A scorer of scikit-learn; None: accuracy.
    cv : int, splitter or iterable, default None
        As GridSearchCV has it; None: 5 stratified folds.
    refit : bool, default True
        Whether the best candidate is trained on all rows.
    block_rows : int, default 4096
        Most rows of a block that train, about; up to so many every score is exact.
    exact : int, default 3
        Candidates that are solved as a whole where there are blocks; 0: none.
    n_jobs : int or None, default -1
        Threads; -1: as many as BLAS may use. None is 1.

    Attributes
    ----------
    cv_results_ : dict of ndarrays
        GridSearchCV's: ``params``, ``param_*``, ``split*_test_score``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score`` (exact scores before early ones), ``mean_fit_time``
        and ``std_fit_time`` (seconds of a fold, with its share of the kernel matrix),
        ``mean_score_time``, ``std_score_time``; and ``early`` (whether the score is that of
        blocks), ``solved`` (whether all SVMs are within the tolerance; those of blocks
        that sample other blocks within ten times that).
    best_estimator_ : DCSVC
        Where `refit`.
    best_index_, best_params_, best_score_
        Of the candidate with the best mean score; among exact ones, where there are any.
    n_splits_ : int
    n_blocks_ : int
    refit_time_ : float
        Seconds.
    classes_, n_features_in_, feature_names_in_
    """

    def __init__(
        self,
        estimator: DCSVC | None = None,
        param_grid: Any = None,
        *,
        scoring: Any = None,
        cv: Any = None,
        refit: bool = True,
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
        tags.estimator_type = "classifier"
        tags.classifier_tags = DCSVC().__sklearn_tags__().classifier_tags
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Score all candidates, and train the best one.

        Parameters
        ----------
        X : array-like or sparse, shape (n, n_features)
        y : array-like, shape (n,)
        sample_weight : array-like, shape (n,), optional
            Factors of C in training; scores do not weigh rows.

        Returns
        -------
        DCSVMSearchCV
            Itself.

        Raises
        ------
        ValueError
            If a parameter or the data cannot be used.
        """
        candidates = self._candidates()
        base = clone(DCSVC() if self.estimator is None else self.estimator)
        base._check_words()
        given, labels = X, np.asarray(y)
        X, codes = checking.training_rows(self, X, y)
        base.classes_ = self.classes_
        C = checking.bounds(base, X, codes, sample_weight)
        splits = self._splits(X, labels)
        scorer = check_scoring(DCSVC(), scoring=self.scoring)
        task = Task(base, X, codes, C / base.C, labels, self.classes_, splits, scorer)
        threads = checking.threads_of(self.n_jobs)
        with one_thread_each():
            blocks = self._blocks(task, candidates[0])
            scores, seconds, solved = scored(task, candidates, blocks, threads)
            early = np.full(len(candidates), len(blocks) > 1)
            best = np.argsort(-scores.mean(axis=1), kind="stable")[: self.exact]
            if early.any() and len(best):
                exact = exactly_scored(task, candidates, best.tolist(), blocks, threads)
                scores[best], seconds[best], solved[best] = exact
                early[best] = False
        self.n_splits_, self.n_blocks_ = len(splits), len(blocks)
        self.cv_results_ = _results(candidates, scores, seconds, early, solved)
        ranked = scores.mean(axis=1)
        if not early.all():
            ranked = np.where(early, -np.inf, ranked)
        self.best_index_ = int(np.argmax(ranked))
        self.best_params_ = candidates[self.best_index_]
        self.best_score_ = float(ranked[self.best_index_])
        if self.refit:
            begin = time.perf_counter()
            best = clone(base).set_params(**self.best_params_)
            self.best_estimator_ = best.fit(given, labels, sample_weight)
            self.refit_time_ = time.perf_counter() - begin
        return self

    def _splits(self, X: Any, labels: NDArray[Any]) -> list[tuple[Index, Index]]:
        """Return the rows of each split that train, and those that are held out."""
        why: Exception | None = None
        try:
            splits = [
                (_row_numbers(train, len(labels)), _row_numbers(test, len(labels)))
                for train, test in check_cv(self.cv, labels, classifier=True).split(X, labels)
            ]
        except (TypeError, IndexError) as error:
            splits, why = [], error
        if not splits or not all(len(train) and len(test) for train, test in splits):
            raise InputError(
                f"cv is {self.cv!r:.80}; give a number of folds, a splitter of scikit-learn, or "
                f"pairs of arrays of row numbers, below {len(labels)}."
            ) from why
        return splits

    def _candidates(self) -> list[dict[str, Any]]:
        """Return the parameters of all candidates; check the others."""
        if not isinstance(self.estimator, DCSVC | None):
            raise InputError(f"estimator is a {type(self.estimator).__name__}: give a DCSVC.")
        checking.check_flags(self, "refit")
        if not (isinstance(self.scoring, str | None) or callable(self.scoring)):
            raise InputError(
                f"scoring is {self.scoring!r:.80}; give the name of one scorer, or a callable."
            )
        if not isinstance(self.param_grid, dict | list) or not self.param_grid:
            raise InputError("param_grid is missing: give lists of values, as for GridSearchCV.")
        candidates = [dict(one) for one in ParameterGrid(self.param_grid)]
        others = sorted({key for one in candidates for key in one} - set(SEARCHED))
        if others:
            raise InputError(
                f"param_grid has {', '.join(others)}; possible are {', '.join(SEARCHED)}. Take "
                "GridSearchCV for others."
            )
        for name, least in (("block_rows", 2), ("exact", 0)):
            value = getattr(self, name)
            if not (is_a(value, numbers.Integral) and value >= least):
                raise InputError(f"{name} is {value!r:.80}; give a whole number from {least}.")
        return candidates

    def _blocks(self, task: Task, first: dict[str, Any]) -> list[Index]:
        """Return the rows of each block, those first that train; the same for all candidates."""
        X, n = task.X, int(np.count_nonzero(task.trains))
        first_those = np.argsort(~task.trains, kind="stable")
        if n <= self.block_rows:
            return [first_those]
        seed = checking.seed_of(task.base.random_state)
        n_blocks = -(-2 * n // self.block_rows)  # twice as many as are needed: they differ in size
        size = min(n, SAMPLE_ROWS_PER_BLOCK * n_blocks + MEASURED_ROWS)
        drawn = generator(seed, ESTIMATOR_SEARCH).choice(n, size=size, replace=False)
        rows = first_those[np.sort(drawn)]
        partition, _ = choose_partition(
            task.kernel(first),
            X[rows],
            n_clusters=n_blocks,
            n_rows=n,
            cap=self.block_rows,
            seed=seed,
        )
        block = partition.assign(X[first_those])
        order = np.argsort(block, kind="stable")
        cuts = np.flatnonzero(np.diff(block[order])) + 1
        return np.split(first_those[order], cuts)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels that the best estimator gives; see `DCSVC.predict`."""
        return self._best().predict(X)

    def decision_function(self, X: Any) -> Vector:
        """Return the decision values of the best estimator; see `DCSVC.decision_function`."""
        return self._best().decision_function(X)

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the score of the best estimator on some rows, by `scoring`."""
        return float(check_scoring(self._best(), scoring=self.scoring)(self._best(), X, y))

    def _best(self) -> DCSVC:
        check_is_fitted(self)
        if not self.refit:
            raise InputError("predicting needs refit=True.")
        best: DCSVC = self.best_estimator_
        return best


def _results(
    candidates: list[dict[str, Any]],
    scores: Vector,
    seconds: Vector,
    early: NDArray[np.bool_],
    solved: NDArray[np.bool_],
) -> dict[str, Any]:
    """Return results as GridSearchCV has them."""
    found: dict[str, Any] = {
        "mean_fit_time": seconds.mean(axis=1),
        "std_fit_time": seconds.std(axis=1),
        "mean_score_time": np.zeros(len(candidates)),
        "std_score_time": np.zeros(len(candidates)),
    }
    for name in dict.fromkeys(key for one in candidates for key in one):
        column: Any = np.ma.MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for place, one in enumerate(candidates):
            if name in one:
                column[place] = one[name]
        found[f"param_{name}"] = column
    found["params"] = candidates
    found |= {f"split{number}_test_score": scores[:, number] for number in range(scores.shape[1])}
    mean = scores.mean(axis=1)
    found["mean_test_score"], found["std_test_score"] = mean, scores.std(axis=1)
    found["rank_test_score"] = _ranks(mean, early)
    found["early"], found["solved"] = early, solved
    return found


def _row_numbers(given: Any, n: int) -> Index:
    """Return row numbers, also of a mask."""
    return np.asarray(np.arange(n)[np.asarray(given)])


def _ranks(mean: Vector, early: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return ranks from 1: exact scores come first, as the best is one of them; equal ones tie."""
    before = (~early & early[:, None]) | ((mean > mean[:, None]) & (early == early[:, None]))
    return np.asarray(1 + before.sum(axis=1), dtype=np.int32)
