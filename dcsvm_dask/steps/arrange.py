"""Arranging: repeated rows merged, the rest written once in block order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import kd_order
from dcsvm_dask.steps.partition import block_record, group_by_label, read_labels, share
from dcsvm_dask.steps.problem import ARRANGE, data_of, data_rows
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

ARRANGED_CHUNK_ROWS = 4096


def merge_repeats(run: RunFolder, attempt: Attempt) -> Record:
    """Merge rows equal in x and y and list the merged rows in the order of the data set.

    Writes what `merge_and_order` writes but for blocks.
    """
    data = data_of(run)
    rows, representative = _merged(data)
    weight = np.bincount(representative, minlength=data.n_rows)
    attempt.write("rows", rows)
    attempt.write("weight", weight[rows].astype(np.float64))
    attempt.write("representative", representative)
    return {"variables": len(rows), "rows": data.n_rows}


def merge_and_order(run: RunFolder, attempt: Attempt, *, parts: int) -> Record:
    """Merge rows equal in x and y and list the merged rows block by block.

    Writes ``rows`` (representatives in block order), ``weight`` (how many rows each stands for),
    ``offsets`` (of blocks) and ``representative`` (of every row of the data set).
    """
    data = data_of(run)
    labels = read_labels(run, ARRANGE, parts)
    kept, representative = _merged(data)
    weight = np.bincount(representative, minlength=data.n_rows)
    index, offsets, label = group_by_label(labels[kept])
    rows = kept[index]
    attempt.write("rows", rows)
    attempt.write("weight", weight[rows].astype(np.float64))
    attempt.write("offsets", offsets)
    attempt.write("block_label", label)
    attempt.write("representative", representative)
    return {
        "variables": len(rows),
        "rows": data.n_rows,
        **block_record(offsets),
    }


def arrange_part(run: RunFolder, attempt: Attempt, *, part: int, parts: int) -> Record:
    """Write a share of the blocks, each in k-d order, with labels and weights."""
    data = data_of(run)
    order = run.node(ARRANGE, "order")
    offsets = order.read("offsets")
    start, stop = blocks_of_part(offsets, part, parts)
    first, last = int(offsets[start]), int(offsets[stop])
    rows = order.read("rows", slice(first, last))
    weight = order.read("weight", slice(first, last))
    ascending = np.argsort(rows, kind="stable")
    X = data_rows(run).take(rows[ascending])
    place_of = np.empty(len(rows), dtype=np.int64)
    place_of[ascending] = np.arange(len(rows))
    arranged = []
    for block in range(start, stop):
        members = np.arange(offsets[block] - first, offsets[block + 1] - first)
        arranged.append(members[kd_order(X[place_of[members]])])
    position = np.concatenate(arranged) if arranged else np.empty(0, dtype=np.int64)
    codes = _codes(run, rows[position])
    attempt.write("rows", rows[position])
    attempt.write("weight", weight[position])
    attempt.write("y", np.where(codes == 1, 1, -1).astype(np.int8))
    chunks = (
        X[place_of[position[i : i + ARRANGED_CHUNK_ROWS]]]
        for i in range(0, len(position), ARRANGED_CHUNK_ROWS)
    )
    write_rows(
        attempt.place / "X",
        chunks,
        n_features=data.n_features,
        sparse=data.is_sparse,
        chunk_rows=ARRANGED_CHUNK_ROWS,
    )
    return {"rows": len(position), "blocks": stop - start}


def commit_arrangement(run: RunFolder, attempt: Attempt, *, parts: int) -> Record:
    """Commit the arrangement; no parts mean that rows stay where they are."""
    del attempt  # its nodes hold all arrays
    order = run.node(ARRANGE, "order")
    keys = ["variables", "rows"]
    if parts:
        keys += ["blocks", "largest_block", "smallest_block"]
    return {"parts": parts, **{key: order.record[key] for key in keys}}


def blocks_of_part(offsets: NDArray[np.int64], part: int, parts: int) -> tuple[int, int]:
    """Return the consecutive blocks of a part; parts hold nearly equal numbers of rows."""
    n = int(offsets[-1])
    first, last = share(n, part, parts)
    start, stop = np.searchsorted(offsets[:-1], [first, last])
    return int(start), int(len(offsets) - 1 if part == parts - 1 else stop)


def _merged(data: DataSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that stand for those equal to them, ascending, and that of every row."""
    hashes = data.read_hashes(0, data.n_rows)
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    new = np.ones(data.n_rows, dtype=bool)
    new[1:] = (hashes[order[1:]] != hashes[order[:-1]]).any(axis=1)
    # lexsort is stable, so the first row of a group is the first in the data set.
    first = order[np.flatnonzero(new)]
    representative = np.empty(data.n_rows, dtype=np.int64)
    representative[order] = first[np.cumsum(new) - 1]
    return np.sort(first), representative


def _codes(run: RunFolder, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    data = data_of(run)
    return data.read_codes(0, data.n_rows)[rows]
