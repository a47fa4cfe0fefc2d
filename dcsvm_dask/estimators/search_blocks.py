"""Scores of a `DCSVC`'s candidates: by blocks first where rows are many, the best as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.clustering import choose_partition
from dcsvm_dask.estimators import checking, costs
from dcsvm_dask.estimators.candidates import Split, Task, exactly_scored, scored
from dcsvm_dask.estimators.search_known import KnownKernels
from dcsvm_dask.estimators.search_results import Scores
from dcsvm_dask.estimators.svc import DCSVC
from dcsvm_dask.kernels import Rows
from dcsvm_dask.random_streams import ESTIMATOR_SEARCH, generator

Index = NDArray[np.int64]

# Rows of a sample on which blocks are chosen: for each block, and to measure them on.
SAMPLE_ROWS_PER_BLOCK, MEASURED_ROWS = 20, 2048


def block_scores(
    base: DCSVC,
    candidates: list[dict[str, Any]],
    X: Rows,
    labels: NDArray[Any],
    sample_weight: Any,
    splits: list[Split],
    scorer: Any,
    *,
    block_rows: int,
    exact: int,
    threads: int,
    known: KnownKernels,
) -> Scores:
    """Return the scores of candidates; see `DCSVMSearchCV`.

    Parameters
    ----------
    base : DCSVC
        With the parameters that all candidates have.
    candidates : list of dict
    X : ndarray or CSR, shape (n, n_features), float32
    labels : ndarray, shape (n,)
    sample_weight : array-like, shape (n,), or None
    splits : list of (train, test)
        Row numbers.
    scorer : callable
    block_rows, exact, threads : int
    known : KnownKernels
        With any there is one block.
    """
    base._check_words()
    base.classes_ = np.unique(labels)
    codes = np.searchsorted(base.classes_, labels).astype(np.int32)
    C = costs.cost_of(base.C, infinite=True)
    weight = costs.bounds(base, X, codes, sample_weight, infinite=True) / C
    task = Task(base, X, codes, weight, labels, base.classes_, splits, scorer, known)
    needs_none = np.array([task.takes_no_matrix(candidate) for candidate in candidates])
    whole, others = np.flatnonzero(needs_none), np.flatnonzero(~needs_none)
    one_block = known or not len(others)
    blocks = _blocks(task, candidates[0], len(codes) if one_block else block_rows)
    n = len(candidates)
    scores, seconds = np.empty((2, n, len(splits)))
    solved, early = np.empty(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    if len(others):
        found = scored(task, [candidates[place] for place in others], blocks, threads)
        scores[others], seconds[others], solved[others] = found
        if len(blocks) > 1:
            early[others] = True
            whole = np.concatenate([whole, others[_best(*found)[:exact]]])
    if len(whole):
        found = exactly_scored(task, candidates, whole.tolist(), blocks, threads)
        scores[whole], seconds[whole], solved[whole] = found
        early[whole] = False
    return Scores(scores, seconds, solved, early, len(blocks))


def _best(
    scores: NDArray[np.float64], seconds: NDArray[np.float64], solved: NDArray[np.bool_]
) -> Index:
    """Return the places of candidates by their scores, the one that would be chosen first."""
    first = Scores(scores, seconds, solved, np.ones(len(scores), dtype=np.bool_)).best
    order = np.argsort(-scores.mean(axis=1), kind="stable")
    return np.concatenate([[first], order[order != first]])


def _blocks(task: Task, first: dict[str, Any], block_rows: int) -> list[Index]:
    """Return the rows of each block, those first that train; the same for all candidates."""
    X, n = task.X, int(np.count_nonzero(task.trains))
    first_those = np.argsort(~task.trains, kind="stable")
    if n <= block_rows:
        return [first_those]
    seed = checking.seed_of(task.base.random_state)
    n_blocks = -(-2 * n // block_rows)  # twice as many as are needed: they differ in size
    size = min(n, SAMPLE_ROWS_PER_BLOCK * n_blocks + MEASURED_ROWS)
    drawn = generator(seed, ESTIMATOR_SEARCH).choice(n, size=size, replace=False)
    rows = first_those[np.sort(drawn)]
    partition, _ = choose_partition(
        task.kernel(first),
        X[rows],
        n_clusters=n_blocks,
        n_rows=n,
        cap=block_rows,
        seed=seed,
    )
    block = partition.assign(X[first_those])
    order = np.argsort(block, kind="stable")
    cuts = np.flatnonzero(np.diff(block[order])) + 1
    return np.split(first_those[order], cuts)
