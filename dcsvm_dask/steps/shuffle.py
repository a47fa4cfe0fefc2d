"""Bringing the rows of a block together: each row is read once, and its copy once.

Blocks scatter over all chunks, so a task that read the rows of its blocks from the data set would
read nearly all of it. Instead the task that assigns a share of the rows, consecutive whole chunks,
also writes them sorted by label, in small pages of one object. The task that arranges some
consecutive blocks finds its rows of each share in a few consecutive pages.

How many shares there are, and how large pages are, follows from the data and the parameters, so
the copy is the same whoever makes it. It is deleted when the arrangement is committed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.steps.partition import read_rule
from dcsvm_dask.steps.problem import ARRANGE, data_of, data_rows, settings_of
from dcsvm_dask.steps.shares import blocks_of_part, share
from dcsvm_dask.storage.dataset_sample import Data
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.pages import LabelledRows, PageForm, joined, read_pages, write_pages
from dcsvm_dask.storage.rows_read import stack_rows
from dcsvm_dask.storage.run import RunFolder

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
