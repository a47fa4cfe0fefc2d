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
    blocks = _blocks(task, candidates[0], len(codes) if known else block_rows)
    scores, seconds, solved = scored(task, candidates, blocks, threads)
    early = np.full(len(candidates), len(blocks) > 1)
    first = Scores(scores, seconds, solved, early).best
    order = np.argsort(-scores.mean(axis=1), kind="stable")
    best = np.concatenate([[first], order[order != first]])[:exact]
    if early.any() and len(best):
        found = exactly_scored(task, candidates, best.tolist(), blocks, threads)
        scores[best], seconds[best], solved[best] = found
        early[best] = False
    return Scores(scores, seconds, solved, early, len(blocks))


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
