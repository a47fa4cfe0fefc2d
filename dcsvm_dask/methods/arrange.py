"""The arrangement of rows: repeats are merged, the others are written once in block order.

The rows of a block lie in all chunks of the data set, so a task that read the rows of its blocks
there would read nearly all of it. Instead, rows are shuffled: the task that assigns a share of the
rows (consecutive whole chunks) also writes them sorted by label, in small pages of one object, and
the task that writes some consecutive blocks reads a few consecutive pages of each share.

The number of shares and the size of pages depend on the data and the parameters alone, so that the
copy is always the same. It is deleted when the arrangement is committed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Boxes, kd_order
from dcsvm_dask.methods.partition import block_record, group_by_label, read_labels, read_rule
from dcsvm_dask.methods.problem import ARRANGE, has_boxes
from dcsvm_dask.methods.run_data import data_of, data_rows, settings_of, stored_targets
from dcsvm_dask.methods.sizes import blocks_of_part, share
from dcsvm_dask.storage.chunks import CHUNK_BYTES
from dcsvm_dask.storage.dataset_sample import Data
from dcsvm_dask.storage.hashing import row_hashes
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.pages import LabelledRows, PageForm, joined, read_pages, write_pages
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.rows.read import stack_rows
from dcsvm_dask.storage.run import RunFolder

Index = NDArray[np.int64]

PAGES = "pages"
TABLE_BYTES = 16 << 10
"""Bytes of a chunk of the table of pieces; each part reads its own row."""
READERS = 8
"""Number of ranges of bytes that a task requests at a time, since stores have latency."""


def assign_and_sort(
    run: RunFolder, attempt: Attempt, *, part: int, parts: int, pages: int
) -> Record:
    """Assign a share of the data set's chunks to blocks, and write its rows sorted by block.

    Writes ``labels`` in the order of the data set, the rows as ``pages``, and in ``borders`` the
    bytes at which each page begins and the last one ends.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    part, parts : int
        The share and the number of shares.
    pages : int
        Approximate number of pages of the share.
    """
    data, rows, settings = data_of(run), data_rows(run), settings_of(run)
    first, last = share_of_chunks(rows.borders(), part, parts)
    X, rule, step = rows.read(first, last), read_rule(run, ARRANGE), settings.chunk_rows
    labels = np.empty(last - first, dtype=np.int32)
    for start in range(0, last - first, step):
        labels[start : start + step] = rule.assign(X[start : start + step])
    attempt.write("labels", labels)
    labelled = LabelledRows(X, data.read_y(first, last), data.read_weights(first, last))
    page_rows = max(1, len(labels) // pages)
    order = np.argsort(labels, kind="stable")
    borders = write_pages(attempt.place / PAGES, labelled, order, page_rows, part)
    attempt.write("borders", borders)
    return {"rows": len(labels), "page_rows": page_rows, "bytes": int(borders[-1])}


def find_pieces(run: RunFolder, attempt: Attempt, *, parts: int, shares: int) -> Record:
    """Find the rows of each part among the pages of each share.

    Writes ``pieces`` of shape (parts, shares, 3): the first byte of the pages, the byte after the
    last, and the number of rows in them before those of the part.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    parts, shares : int
    """
    order = run.node(ARRANGE, "order")
    offsets = order.read("offsets")
    nodes = [run.node(ARRANGE, f"assign-{i:04d}") for i in range(shares)]
    rows = np.array([node.record["rows"] for node in nodes])
    pieces = np.zeros((parts, shares, 3), dtype=np.int64)
    page_rows = np.array([node.record["page_rows"] for node in nodes])
    borders = [node.read("borders") for node in nodes]
    done = np.zeros(shares, dtype=np.int64)
    for part in range(parts):
        start, stop = blocks_of_part(offsets, part, parts)
        listed = order.read("rows", slice(int(offsets[start]), int(offsets[stop])))
        until = done + np.bincount(shares_of(listed, rows), minlength=shares)
        pages = np.stack([done // page_rows, -(-until // page_rows)])
        for number in np.flatnonzero(until > done):
            pieces[part, number, :2] = borders[number][pages[:, number]]
        pieces[part, :, 2] = done - pages[0] * page_rows
        done = until
    attempt.write("pieces", pieces, max(1, TABLE_BYTES // pieces[0].nbytes))
    return {"rows": rows.tolist(), "attempts": [node.attempt for node in nodes]}


def take_pieces(run: RunFolder, data: Data, part: int, listed: Index) -> LabelledRows:
    """Return the rows of a part from the pages of all shares.

    Parameters
    ----------
    run : RunFolder
    data : DataSet or SampledDataSet
    part : int
    listed : ndarray of int64
        Numbers of the rows in the data set, block after block and ascending in each.

    Returns
    -------
    LabelledRows
        In the order of `listed`.

    Raises
    ------
    InputError
        If a page is missing or damaged.
    """
    found = run.node(ARRANGE, "pieces")
    pieces = found.read("pieces", slice(part, part + 1))[0]
    weighted, targets = data.read_weights(0, 0) is not None, data.targets is not None
    form = PageForm(data.n_features, data.is_sparse, weighted, targets)
    share_of = shares_of(listed, np.array(found.record["rows"]))
    counts = np.bincount(share_of, minlength=len(pieces))
    home = run.stage(ARRANGE)

    def read(number: int) -> LabelledRows:
        place = home / found.record["attempts"][number] / PAGES
        first, last, skip = pieces[number].tolist()
        pages = joined(read_pages(place, first, last, form, number), form)
        return pages.take(slice(skip, skip + int(counts[number])))

    # Rows of a share with the same label are in the order of the data set, and so are shares: a
    # stable sort by share gives the order of the rows in the pieces.
    place = np.argsort(share_of, kind="stable")
    taken = np.empty(len(listed), dtype=np.float64 if targets else np.int32)
    weights = np.empty(len(listed)) if form.weighted else None
    X = None if form.is_sparse else np.empty((len(listed), form.n_features), np.float32)
    parts, done = [], 0
    with ThreadPoolExecutor(READERS) as pool:
        for piece in pool.map(read, np.flatnonzero(counts).tolist()):
            mine = place[done : done + len(piece.y)]
            taken[mine] = piece.y
            if weights is not None:
                weights[mine] = piece.weights
            if X is not None:
                X[mine] = piece.X
            else:
                parts.append(piece.X)
            done += len(piece.y)
    if X is not None:
        return LabelledRows(X, taken, weights)
    back = np.empty_like(place)
    back[place] = np.arange(len(place))
    return LabelledRows(stack_rows(parts, form.n_features, True)[back], taken, weights)


def shares_of(rows: NDArray[np.integer], counts: Index) -> Index:
    """Return the share of each row, given the number of rows of each share."""
    return np.searchsorted(np.cumsum(counts), rows, side="right")


def share_of_chunks(borders: Index, part: int, parts: int) -> tuple[int, int]:
    """Return the first row of a share of whole chunks, and the one after its last.

    Shares have nearly equal numbers of rows, as far as chunks allow; some may have none.

    Parameters
    ----------
    borders : ndarray of int64, shape (n_chunks + 1,)
        The first row of every chunk, and the number of rows.
    part, parts : int
        The share and the number of shares.
    """
    first, last = share(int(borders[-1]), part, parts)
    low, high = np.searchsorted(borders, (first, last))
    return int(borders[low]), int(borders[high])


ARRANGED_CHUNK_ROWS = 4096


def merge_repeats(run: RunFolder, attempt: Attempt) -> Record:
    """Commit an arrangement in the stored order of the rows, with repeats merged.

    Writes ``rows`` (one for each group of rows equal in x and y, ascending), ``weight`` (the number
    of rows of the group, or the sum of their weights) and, if there are repeats,
    ``representative`` (the row that stands for each row).
    """
    data = data_of(run)
    hashes = data.read_hashes(0, data.n_rows)
    rows, representative = first_of_equal(hashes)
    weight = summed(representative, data.read_weights(0, data.n_rows), data.n_rows)[rows]
    attempt.write("rows", rows)
    attempt.write("weight", weight)
    if len(rows) < data.n_rows:
        attempt.write("representative", representative)
    largest = {"largest_weight": float(weight.max())}
    return {"variables": len(rows), "rows": data.n_rows, "parts": 0, **largest}


def order_rows(run: RunFolder, attempt: Attempt, *, parts: int, readers: int) -> Record:
    """List the data set's rows block by block: ``rows`` with their ``offsets``.

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    parts : int
        Number of tasks that assigned the rows.
    readers : int
        Number of tasks that will read a part of the list each.
    """
    index, offsets, label = group_by_label(read_labels(run, ARRANGE, parts))
    # A reader of a much shorter part would read a whole chunk; the commit lists all chunks.
    chunk = min(2 * len(index) // readers + 1, CHUNK_BYTES // index.itemsize)
    attempt.write("rows", index, chunk)
    attempt.write("offsets", offsets)
    attempt.write("block_label", label)
    return {"rows": len(index), "blocks": len(label)}


def arrange_part(
    run: RunFolder, attempt: Attempt, *, part: int, parts: int, shuffled: bool
) -> Record:
    """Write some consecutive blocks: repeats merged, each block in k-d order.

    Equal rows are in the same block, since the label of a row depends on the row alone. Writes for
    the variables their rows ``X``, ``targets`` (see `stored_targets`), ``weight`` and
    ``rows``; for each block its number of variables (``sizes``); for each row that ``order``
    lists here the variable that stands for it (``variable``); and of dense rows, where the kernel
    decays, the boxes of runs of variables (``low``, ``high``; see `Boxes`).

    Parameters
    ----------
    run : RunFolder
    attempt : Attempt
    part, parts : int
        The part and the number of parts.
    shuffled : bool
        Whether the rows were shuffled; else the whole data set is read.
    """
    data, order = data_of(run), run.node(ARRANGE, "order")
    offsets = order.read("offsets")
    start, stop = blocks_of_part(offsets, part, parts)
    borders = offsets[start : stop + 1]
    # Ascending in each block: the first of equal rows is the first in the data set.
    listed = order.read("rows", slice(int(borders[0]), int(borders[-1]))).astype(np.int64)
    if shuffled:
        taken = take_pieces(run, data, part, listed)
    else:
        weights = data.take_weights(listed)
        taken = LabelledRows(data_rows(run).take(listed), data.take_y(listed), weights)
    X, y = taken.X, taken.y
    hashes = row_hashes(X, None if data.one_class else y)
    kept, variable, sizes = [], np.empty(len(listed), dtype=np.int32), []
    done = 0
    for first, last in zip(borders[:-1] - borders[0], borders[1:] - borders[0], strict=True):
        distinct, representative = first_of_equal(hashes[first:last])
        distinct = distinct[kd_order(X[first:last][distinct])]
        place = np.empty(last - first, dtype=np.int32)
        place[distinct] = np.arange(done, done + len(distinct), dtype=np.int32)
        variable[first:last] = place[representative]
        kept.append(first + distinct)
        sizes.append(len(distinct))
        done += len(distinct)
    position = np.concatenate([np.empty(0, dtype=np.int64), *kept])
    attempt.write("rows", listed[position])
    weight = summed(variable, taken.weights, done)
    attempt.write("weight", weight)
    attempt.write("targets", stored_targets(run, y[position]))
    attempt.write("variable", variable)
    attempt.write("sizes", np.array(sizes, dtype=np.int64))
    if has_boxes(settings_of(run), data.is_sparse):
        boxes = Boxes.of(X, np.array(sizes), position)
        attempt.write("low", boxes.low)
        attempt.write("high", boxes.high)
    chunks = (X[position[i : i + ARRANGED_CHUNK_ROWS]] for i in range(0, done, ARRANGED_CHUNK_ROWS))
    write_rows(
        attempt.place / "X",
        chunks,
        n_features=data.n_features,
        sparse=data.is_sparse,
        chunk_rows=ARRANGED_CHUNK_ROWS,
    )
    largest = {"largest_weight": float(weight.max(initial=0.0))}
    return {"rows": len(listed), "variables": done, "blocks": stop - start, **largest}


def commit_arrangement(run: RunFolder, attempt: Attempt, *, parts: int) -> Record:
    """Commit the arrangement: ``offsets`` and ``block_label`` of all blocks.

    If there are repeats, also ``representative``: the row that stands for each row.
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
    return {
        "variables": variables,
        "rows": n_rows,
        "parts": parts,
        "largest_weight": max(node.record["largest_weight"] for node in nodes),
        **block_record(offsets),
    }


def summed(
    variable: NDArray[np.integer], weights: NDArray[np.float64] | None, n: int
) -> NDArray[Any]:
    """Return the weight of each of n variables: its number of rows, or the sum of their weights."""
    found = np.bincount(variable, weights=weights, minlength=n)
    return found if weights is not None else found.astype(np.min_scalar_type(found.max(initial=1)))


def first_of_equal(hashes: NDArray[np.uint64]) -> tuple[Index, Index]:
    """Return the first row of each group of equal rows, ascending, and the one of every row.

    Parameters
    ----------
    hashes : ndarray, shape (n, 2), uint64
        Hashes of the rows with their labels.
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
