"""Arranging: repeated rows merged, the rest written once in block order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import kd_order
from dcsvm_dask.steps.partition import block_record, group_by_label, read_labels
from dcsvm_dask.steps.problem import ARRANGE, data_of, data_rows, is_of_classes
from dcsvm_dask.steps.shares import blocks_of_part
from dcsvm_dask.steps.shuffle import take_pieces
from dcsvm_dask.storage.arrays import CHUNK_BYTES
from dcsvm_dask.storage.hashing import row_hashes
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.pages import LabelledRows
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]

ARRANGED_CHUNK_ROWS = 4096


def merge_repeats(run: RunFolder, attempt: Attempt) -> Record:
    """Commit the arrangement that leaves rows where they are, but for repeats.

    Writes ``rows`` (those that stand for the ones equal to them in x and y, ascending), ``weight``
    (how many each stands for, or the sum of what these weigh) and, where there are repeats,
    ``representative`` (of every row).
    """
    data = data_of(run)
    hashes = data.read_hashes(0, data.n_rows)
    rows, representative = first_of_equal(hashes)
    weight = summed(representative, data.read_weights(0, data.n_rows), data.n_rows)[rows]
    attempt.write("rows", rows)
    attempt.write("weight", weight)
    if len(rows) < data.n_rows:
        attempt.write("representative", representative)
    return {"variables": len(rows), "rows": data.n_rows, "parts": 0}


def order_rows(run: RunFolder, attempt: Attempt, *, parts: int, readers: int) -> Record:
    """List the data set's rows block by block, as ``rows`` with their ``offsets``.

    Parameters
    ----------
    parts : int
        Tasks that assigned the rows.
    readers : int
        Tasks that read a part of the list each.
    """
    index, offsets, label = group_by_label(read_labels(run, ARRANGE, parts))
    # A part that is much shorter than a chunk would read a whole one; the commit lists all chunks.
    chunk = min(2 * len(index) // readers + 1, CHUNK_BYTES // index.itemsize)
    attempt.write("rows", index, chunk)
    attempt.write("offsets", offsets)
    attempt.write("block_label", label)
    return {"rows": len(index), "blocks": len(label)}


def arrange_part(
    run: RunFolder, attempt: Attempt, *, part: int, parts: int, shuffled: bool
) -> Record:
    """Write a share of the blocks: repeats merged, each block in k-d order.

    Rows that are equal are in one block, whose label depends on the row alone. Writes rows ``X``,
    ``y`` (of many classes ``codes``), ``weight`` and ``rows`` of the variables, how many of them
    each block has (``sizes``), and which of them stands for each row that ``order`` lists here
    (``variable``).

    Parameters
    ----------
    shuffled : bool
        Whether the rows lie sorted by block in shares (see `dcsvm_dask.steps.shuffle`); else they
        are taken from the data set, which is read whole.
    """
    data, order = data_of(run), run.node(ARRANGE, "order")
    offsets = order.read("offsets")
    start, stop = blocks_of_part(offsets, part, parts)
    borders = offsets[start : stop + 1]
    # Ascending in each block, so that the first of equal rows is the first in the data set.
    listed = order.read("rows", slice(int(borders[0]), int(borders[-1]))).astype(np.int64)
    if shuffled:
        taken = take_pieces(run, data, part, listed)
    else:
        weights = data.take_weights(listed)
        taken = LabelledRows(data_rows(run).take(listed), data.take_codes(listed), weights)
    X, codes = taken.X, taken.codes
    hashes = row_hashes(X, codes)
    kept, variable, sizes = [], np.empty(len(listed), dtype=np.int32), []
    done = 0
    for first, last in zip(borders[:-1] - borders[0], borders[1:] - borders[0], strict=True):
        alone, representative = first_of_equal(hashes[first:last])
        alone = alone[kd_order(X[first:last][alone])]
        place = np.empty(last - first, dtype=np.int32)
        place[alone] = np.arange(done, done + len(alone), dtype=np.int32)
        variable[first:last] = place[representative]
        kept.append(first + alone)
        sizes.append(len(alone))
        done += len(alone)
    position = np.concatenate([np.empty(0, dtype=np.int64), *kept])
    attempt.write("rows", listed[position])
    attempt.write("weight", summed(variable, taken.weights, done))
    if is_of_classes(run):
        attempt.write("codes", codes[position].astype(np.int32))
    else:
        attempt.write("y", np.where(codes[position] == 1, 1, -1).astype(np.int8))
    attempt.write("variable", variable)
    attempt.write("sizes", np.array(sizes, dtype=np.int64))
    chunks = (X[position[i : i + ARRANGED_CHUNK_ROWS]] for i in range(0, done, ARRANGED_CHUNK_ROWS))
    write_rows(
        attempt.place / "X",
        chunks,
        n_features=data.n_features,
        sparse=data.is_sparse,
        chunk_rows=ARRANGED_CHUNK_ROWS,
    )
    return {"rows": len(listed), "variables": done, "blocks": stop - start}


def commit_arrangement(run: RunFolder, attempt: Attempt, *, parts: int) -> Record:
    """Commit what the parts wrote: ``offsets`` and ``block_label`` of all blocks.

    Where there are repeats also ``representative``: the row that stands for each.
    """
    order = run.node(ARRANGE, "order")
    nodes = [run.node(ARRANGE, f"part-{i:04d}") for i in range(parts)]
    sizes = np.concatenate([node.read("sizes") for node in nodes])
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    attempt.write("offsets", offsets)
    attempt.write("block_label", order.read("block_label"))
    variables, n_rows = int(offsets[-1]), int(order.record["rows"])
    if variables < n_rows:
        representative, done = np.empty(n_rows, dtype=np.int64), 0
        for node in nodes:
            listed = order.read("rows", slice(done, done + node.record["rows"]))
            representative[listed] = node.read("rows")[node.read("variable")]
            done += node.record["rows"]
        attempt.write("representative", representative)
    return {"variables": variables, "rows": n_rows, "parts": parts, **block_record(offsets)}


def summed(
    variable: NDArray[np.integer], weights: NDArray[np.float64] | None, n: int
) -> NDArray[Any]:
    """Return what each of n variables weighs: so many rows as it stands for, or as these weigh."""
    found = np.bincount(variable, weights=weights, minlength=n)
    return found if weights is not None else found.astype(np.min_scalar_type(found.max(initial=1)))


def first_of_equal(hashes: NDArray[np.uint64]) -> tuple[Index, Index]:
    """Return the rows that stand for those equal to them, ascending, and that of every row.

    Parameters
    ----------
    hashes : ndarray, shape (n, 2), uint64
        Of the rows with their labels.
    """
    n = len(hashes)
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    new = np.ones(n, dtype=bool)
    new[1:] = (hashes[order[1:]] != hashes[order[:-1]]).any(axis=1)
    # lexsort is stable: the first of a group is the first of the rows.
    first = order[np.flatnonzero(new)]
    representative = np.empty(n, dtype=np.int64)
    representative[order] = first[np.cumsum(new) - 1]
    return np.sort(first), representative
