"""Arranging: repeated rows merged, the rest written once in block order.

Blocks scatter over all chunks, so a task that read the rows of its blocks from the data set would
read nearly all of it. Instead the task that assigns a share of the rows, consecutive whole chunks,
also writes them sorted by label, in small pages of one object. The task that arranges some
consecutive blocks finds its rows of each share in a few consecutive pages.

How many shares there are, and how large pages are, follows from the data and the parameters, so
the copy is the same whoever makes it. It is deleted when the arrangement is committed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import kd_order
from dcsvm_dask.methods.partition import block_record, group_by_label, read_labels, read_rule
from dcsvm_dask.methods.problem import ARRANGE, data_of, data_rows, is_of_classes, settings_of
from dcsvm_dask.methods.sizes import blocks_of_part, share
from dcsvm_dask.storage.arrays import CHUNK_BYTES
from dcsvm_dask.storage.dataset_sample import Data
from dcsvm_dask.storage.hashing import row_hashes
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.pages import LabelledRows, PageForm, joined, read_pages, write_pages
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.rows.read import stack_rows
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import TASKS

Index = NDArray[np.int64]

PAGES = "pages"
TABLE_BYTES = 16 << 10
"""Of a chunk of the table of pieces, of which each part reads its own row."""
READERS = 8
"""Ranges of bytes that a task asks for at a time: a store answers each after a while."""


def assign_and_sort(
    run: RunFolder, attempt: Attempt, *, part: int, parts: int, pages: int
) -> Record:
    """Assign a share of the data set's chunks to blocks, and write its rows sorted by block.

    Writes ``labels`` in the order of the data set, the rows as ``pages``, and in ``borders`` the
    bytes at which each page begins and the last one ends.

    Parameters
    ----------
    pages : int
        Pages that the rows of a share are cut into, about.
    """
    data, rows, settings = data_of(run), data_rows(run), settings_of(run)
    first, last = share_of_chunks(rows.borders(), part, parts)
    X, rule, step = rows.read(first, last), read_rule(run, ARRANGE), settings.chunk_rows
    labels = np.empty(last - first, dtype=np.int32)
    for start in range(0, last - first, step):
        labels[start : start + step] = rule.assign(X[start : start + step])
    attempt.write("labels", labels)
    labelled = LabelledRows(X, data.read_codes(first, last), data.read_weights(first, last))
    page_rows = max(1, len(labels) // pages)
    order = np.argsort(labels, kind="stable")
    borders = write_pages(attempt.place / PAGES, labelled, order, page_rows, part)
    attempt.write("borders", borders)
    return {"rows": len(labels), "page_rows": page_rows, "bytes": int(borders[-1])}


def find_pieces(run: RunFolder, attempt: Attempt, *, parts: int, shares: int) -> Record:
    """Find where the rows of each part are among the pages of each share.

    Writes ``pieces`` of shape (parts, shares, 3): the bytes of the pages, from and to, and how many
    of their rows come before those of the part.
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
    """Return the rows of a part, in the order in which they are listed.

    Parameters
    ----------
    listed : ndarray of int64
        Their numbers in the data set, block after block and ascending in each.

    Raises
    ------
    InputError
        If a page is missing or damaged.
    """
    found = run.node(ARRANGE, "pieces")
    pieces = found.read("pieces", slice(part, part + 1))[0]
    form = PageForm(data.n_features, data.is_sparse, data.read_weights(0, 0) is not None)
    share_of = shares_of(listed, np.array(found.record["rows"]))
    counts = np.bincount(share_of, minlength=len(pieces))
    home = run.stage(ARRANGE)

    def read(number: int) -> LabelledRows:
        place = home / found.record["attempts"][number] / PAGES
        first, last, skip = pieces[number].tolist()
        pages = joined(read_pages(place, first, last, form, number), form)
        return pages.take(slice(skip, skip + int(counts[number])))

    # Rows of a share that have one label are in the order of the data set, and so are shares: a
    # stable sort by share lists the rows as the pieces hold them.
    place = np.argsort(share_of, kind="stable")
    taken = np.empty(len(listed), dtype=np.int32)
    weights = np.empty(len(listed)) if form.weighted else None
    X = None if form.is_sparse else np.empty((len(listed), form.n_features), np.float32)
    parts, done = [], 0
    with ThreadPoolExecutor(READERS) as pool:
        for piece in pool.map(read, np.flatnonzero(counts).tolist()):
            mine = place[done : done + len(piece.codes)]
            taken[mine] = piece.codes
            if weights is not None:
                weights[mine] = piece.weights
            if X is not None:
                X[mine] = piece.X
            else:
                parts.append(piece.X)
            done += len(piece.codes)
    if X is not None:
        return LabelledRows(X, taken, weights)
    back = np.empty_like(place)
    back[place] = np.arange(len(place))
    return LabelledRows(stack_rows(parts, form.n_features, True)[back], taken, weights)


def shares_of(rows: NDArray[np.integer], counts: Index) -> Index:
    """Return the share of each row, given how many rows each share has."""
    return np.searchsorted(np.cumsum(counts), rows, side="right")


def share_of_chunks(borders: Index, part: int, parts: int) -> tuple[int, int]:
    """Return the first row of a share of whole chunks, and the one after its last.

    Shares have nearly equal numbers of rows, as far as chunks allow; some may have none.

    Parameters
    ----------
    borders : ndarray
        The first row of every chunk, and the number of rows.
    """
    first, last = share(int(borders[-1]), part, parts)
    low, high = np.searchsorted(borders, (first, last))
    return int(borders[low]), int(borders[high])


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
        Whether the rows lie sorted by block in shares (see `dcsvm_dask.methods.arrange`); else they
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
        task = TASKS[settings_of(run).task]
        attempt.write("y", task.targets(codes[position], data.classes))
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
