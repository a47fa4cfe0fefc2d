"""Choosing the rows that a search holds out; `held_out` reads them."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import stored_like
from dcsvm_dask.methods.block_table import read_table
from dcsvm_dask.methods.partition import read_rule
from dcsvm_dask.methods.problem import ARRANGE, Problem, read_problem
from dcsvm_dask.methods.repeats import representatives
from dcsvm_dask.methods.run_data import data_of
from dcsvm_dask.methods.search.held_out import PART_ROWS, codes_and_targets
from dcsvm_dask.random_streams import FOLDS, generator
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.permute import permuted
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.spool import Column, RowSpool

Vector = NDArray[np.float64]

SORTED_CHUNK_ROWS = 1024
"""Held-out rows of a stored chunk, block after block: a block reads two chunks too many at most."""


def split_rows(run: RunFolder, attempt: Attempt, *, folds: int) -> Record:
    """Choose held-out rows: folds, of classes stratified ones, or the rows of a data set.

    Writes ``fold`` of every variable and ``fold_of_row`` of every row of the data set (-1: trains
    always), or ``block`` of every row of the held-out data set. If there are several blocks, also
    these rows block after block: ``rows``, ``codes`` (or ``targets``) and, if they have some,
    ``weights``. The record has the share of the largest class of the held-out rows, where there
    are classes.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    folds : int
        Number of folds; 0: a data set is held out.
    """
    problem, data = read_problem(run), data_of(run)
    codes, _ = codes_and_targets(problem, data, run.node(ARRANGE, "commit"))
    fold = np.full(problem.n, -1, dtype=np.int16)
    if folds:
        fold = stratified(codes, folds, problem.settings.seed)
        by_row = np.full(data.n_rows, -1, dtype=np.int16)
        by_row[problem.rows] = fold
        shown = representatives(run.node(ARRANGE, "commit"))
        attempt.write("fold_of_row", by_row if shown is None else by_row[shown])
        attempt.write("fold", fold)
        sizes = {"folds": folds, "rows": data.n_rows, "variables": problem.n}
        return {**sizes, **_largest_class(problem, codes, problem.weights)}
    held = DataSet.open(run.header["holdout"])
    block = np.zeros(held.n_rows, dtype=np.int32)
    if run.node(ARRANGE, "commit").record["parts"]:
        block = _write_sorted(run, attempt, held, as_csr=problem.X.is_sparse)
    attempt.write("fold", fold)
    attempt.write("block", block)
    about = {
        "held_out": held.n_rows,
        "fingerprint": held.fingerprint,
        "deciding": len(np.unique(block)),  # blocks that have any of these rows
        "weighted": held.weights is not None,
        **_largest_class(problem, held.read_y(0, held.n_rows), held.read_weights(0, held.n_rows)),
    }
    return {"folds": 0, "rows": data.n_rows, "variables": problem.n, **about}


def stratified(codes: NDArray[np.integer], folds: int, seed: int) -> NDArray[np.int16]:
    """Return a fold for each row, with about equally many rows of a class in each fold.

    Parameters
    ----------
    codes : ndarray, shape (n,), integers
        Classes; where all are equal, the folds are plain shuffled ones.
    folds : int
    seed : int

    Returns
    -------
    ndarray, shape (n,), int16
    """
    rng, fold = generator(seed, FOLDS), np.empty(len(codes), dtype=np.int16)
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    fold[order] = np.arange(len(codes)) % folds
    return fold


def _largest_class(problem: Problem, codes: NDArray[Any], weights: Vector | None) -> Record:
    """Return the share of the largest class of scored rows, as an entry of a record, if any."""
    if not problem.task.has_classes:
        return {}
    sums = np.bincount(codes, weights)
    return {"largest_class": float(sums.max() / sums.sum())}


def _write_sorted(
    run: RunFolder, attempt: Attempt, held: DataSet, *, as_csr: bool
) -> NDArray[np.int32]:
    """Write held-out rows block after block, and return the block of each in the given order.

    Otherwise the task of each block would look for its rows in all of them.
    """
    rule, table = read_rule(run, ARRANGE), read_table(run, ARRANGE)
    # A block of the rule that has no rows decides nothing: the largest one stands in for it.
    of_label = np.full(rule.n_blocks, np.argmax(np.diff(table.offsets)), dtype=np.int32)
    of_label[table.label] = np.arange(table.n_blocks)
    block = np.empty(held.n_rows, dtype=np.int32)
    kind: Any = np.int32 if held.targets is None else np.float64
    with closing(RowSpool(as_csr)) as spool, closing(Column(kind)) as truth:
        for start in range(0, held.n_rows, PART_ROWS):
            stop = min(start + PART_ROWS, held.n_rows)
            rows = stored_like(held.rows.read(start, stop), as_csr=as_csr)
            block[start:stop] = of_label[rule.assign(rows)]
            spool.append(rows)
            truth.append(held.read_y(start, stop))
        order = np.argsort(block, kind="stable")
        write_rows(
            attempt.place / "rows",
            (rows for rows, _ in permuted(spool, truth, order)),
            n_features=held.n_features,
            sparse=as_csr,
            chunk_rows=SORTED_CHUNK_ROWS,
        )
    name = "codes" if held.targets is None else "targets"
    attempt.write(name, held.read_y(0, held.n_rows)[order], PART_ROWS)
    weights = held.read_weights(0, held.n_rows)
    if weights is not None:
        attempt.write("weights", weights[order], PART_ROWS)
    return block
