"""The second pass of an ingest: writing one part of a data set, and counting distinct rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.compiled import njit
from dcsvm_dask.data.form import Form
from dcsvm_dask.data.scan import Report, Scan
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows, largest_value
from dcsvm_dask.masking import masked
from dcsvm_dask.readers.ahead import ahead
from dcsvm_dask.readers.scaling import Scaling
from dcsvm_dask.readers.source import parts_to_fill, round_block
from dcsvm_dask.storage.hashing import fingerprint, row_hashes
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.rounding import RoundingLoss
from dcsvm_dask.storage.rows.write import ArrayWriter, RowWriter
from dcsvm_dask.storage.spool import Column

Hashes = NDArray[np.uint64]

BATCH = 1 << 21
"""Hashes that are counted at a time in memory."""
BUCKETS_A_BATCH = 8
"""Buckets for each batch of hashes, so that a table of a bucket fits a core's cache."""
MOST_BUCKETS = 256
"""Largest number of buckets, each an open file."""
DIGIT, LEVELS = 16, 4
"""Bits by which a level chooses buckets, and the number of such levels."""


def count_distinct(read: Callable[[int, int], Hashes], n: int, level: int = 0) -> int:
    """Return the number of distinct hashes, in bounded memory and linear time.

    More hashes than a batch are distributed to buckets on disk by some of their bits, in one pass;
    each bucket is then counted, or distributed again by other bits.

    Parameters
    ----------
    read : callable
        ``read(start, stop)`` returns hashes as uint64 (m, 2).
    n : int
        Number of hashes.
    level : int, default 0
        Number of times they have been distributed.

    Returns
    -------
    int
    """
    if n <= BATCH or level == LEVELS:  # equal hashes stay in one bucket
        return _count(read, n)
    total, buckets = 0, _buckets(read, n, level)
    for bucket in buckets:
        with closing(bucket):
            total += count_distinct(bucket.read, bucket.length, level + 1)
    return total


def _buckets(read: Callable[[int, int], Hashes], n: int, level: int) -> list[Column]:
    """Return files, each with all hashes whose bits are equal."""
    count = min(MOST_BUCKETS, -(-BUCKETS_A_BATCH * n // BATCH))
    buckets = [Column(np.uint64, 2) for _ in range(count)]
    shift = np.uint64(DIGIT * level)
    for start in range(0, n, BATCH // 4):
        hashes = read(start, min(n, start + BATCH // 4))
        digit = (hashes[:, 1] >> shift).astype(np.uint16) % np.uint16(count)
        order = np.argsort(digit, kind="stable")
        borders = np.searchsorted(digit[order], np.arange(count + 1))
        for bucket, first, last in zip(buckets, borders[:-1], borders[1:], strict=True):
            if first < last:
                bucket.append(hashes[order[first:last]])
    return buckets


def _count(read: Callable[[int, int], Hashes], n: int) -> int:
    """Count a batch at a time; of equal hashes one is all_hashes in memory."""
    known = np.empty((0, 2), np.uint64)
    for start in range(0, n, BATCH):
        known = np.concatenate([known, read(start, min(n, start + BATCH))])
        known = known[: _move_distinct(known)]
    return len(known)


@njit(cache=True, nogil=True)
def _move_distinct(hashes: Any) -> int:
    """Move one of each hash to the front and return their number.

    Distinct hashes are found by an open-addressing table that is at most half full.
    """
    size = 16
    while size < 2 * hashes.shape[0]:
        size *= 2
    table = np.zeros(size, np.int32)
    mask = size - 1
    found = 0
    for i in range(hashes.shape[0]):
        slot = np.int64(hashes[i, 0] >> np.uint64(1)) & mask
        while table[slot] != 0:
            k = table[slot] - 1
            if hashes[k, 0] == hashes[i, 0] and hashes[k, 1] == hashes[i, 1]:
                break
            slot = (slot + 1) & mask
        if table[slot] == 0:
            hashes[found, 0], hashes[found, 1] = hashes[i, 0], hashes[i, 1]
            found += 1
            table[slot] = found
    return found


SMALL_CHUNK = 1 << 16
"""Least number of rows in a chunk of codes or hashes."""


def write_part(
    place: Location,
    scan: Scan,
    order: NDArray[np.int64] | None,
    codes_of: NDArray[np.int32] | None,
    form: Form,
    report: Report,
    weights: NDArray[np.float64] | None = None,
    loss: RoundingLoss | None = None,
) -> dict[str, Any]:
    """Write rows, codes or targets, hashes and weights of one part.

    Parameters
    ----------
    place : Location
        Folder of the part.
    scan : Scan
        The source.
    order : int64 array or None
        Rows of the scan to write, in order; None: all.
    codes_of : int32 array or None
        Index into classes of each provisional code of the scan; None: it has targets.
    form : Form
    report : callable
        Called with lines about the progress.
    weights : float64 array, optional
        Weights of the written rows; weights that are all 1 are not stored.
    loss : RoundingLoss, optional
        Updated with rows before and after rounding to float32.

    Returns
    -------
    dict
        The part's entry of the commit.
    """
    scaling = _scaling_left(scan, form)
    rows_out = RowWriter(
        place / "rows",
        n_features=form.n_features,
        sparse=form.is_sparse,
        chunk_rows=form.chunk_rows,
        nnz_per_row=scan.nnz / max(1, scan.n_rows),
    )
    small = max(form.chunk_rows, SMALL_CHUNK)
    y_out = ArrayWriter(place / form.y_name, (), form.y_dtype, small)
    hashes_out = ArrayWriter(place / "hashes", (2,), np.uint64, small)
    counts = np.zeros(len(form.classes), np.int64)
    all_hashes, targets = Column(np.uint64, 2), Column(np.float64)
    done, largest = 0, None
    try:
        blocks_of = scan.blocks(order)
        coded = (
            blocks_of if codes_of is None else ((rows, codes_of[raw]) for rows, raw in blocks_of)
        )
        blocks = stored_blocks(coded, scan.source.name, form, scaling, loss, form.shift(scan))
        for stored, y, hashes in ahead(blocks):
            rows_out.append(stored)
            largest = larger(largest, largest_value(stored), done)
            y_out.append(y)
            hashes_out.append(hashes)
            all_hashes.append(hashes)
            if codes_of is None:
                targets.append(y)
            else:
                counts += np.bincount(y, minlength=counts.size)
            done += y.size
            report(f"{place.name}: {done:,} rows written")
        y_out.close()
        hashes_out.close()
        nnz = rows_out.close().nnz
        return {
            "n_rows": done,
            "nnz": nnz,
            "counts": counts.tolist(),
            **({} if largest is None else {"largest": largest}),
            **({} if codes_of is not None else {"targets": target_statistics(targets)}),
            **end_part(place, scan.source.name, form, all_hashes.read, done, weights),
        }
    finally:
        all_hashes.close()
        targets.close()


def larger(
    known: tuple[int, int, float] | None, found: tuple[int, int, float] | None, start: int
) -> tuple[int, int, float] | None:
    """Return the larger of two values with their rows; those of the second begin at `start`."""
    if found is None or (known is not None and abs(known[2]) >= abs(found[2])):
        return known
    return start + found[0], found[1], found[2]


def target_statistics(targets: Column) -> dict[str, float]:
    """Return the least, the greatest, the mean and the standard deviation of some targets.

    Parameters
    ----------
    targets : Column of float64
    """
    n = targets.length
    pieces = [(k, min(n, k + SMALL_CHUNK)) for k in range(0, n, SMALL_CHUNK)]

    def over(of: Callable[[NDArray[np.float64]], Any]) -> list[float]:
        return [float(of(targets.read(start, stop))) for start, stop in pieces]

    least, most = min(over(np.min)), max(over(np.max))
    mean = math.fsum(over(np.sum)) / n
    squares = math.fsum(over(lambda z: np.sum((z - mean) ** 2)))
    mean = mean if least < most else least
    return {
        "least": least,
        "most": most,
        "mean": mean,
        "std": math.sqrt(squares / n) if least < most else 0.0,
    }


def end_part(
    place: Location,
    source: str,
    form: Form,
    hashes: Callable[[int, int], NDArray[np.uint64]],
    n_rows: int,
    weights: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Write the weights of a part whose rows are written; return the totals of its rows.

    Parameters
    ----------
    place : Location
        Folder of the part.
    source : str
        Name of the source.
    form : Form
    hashes : callable
        ``hashes(start, stop)`` returns those of rows.
    n_rows : int
    weights : float64 array, optional
        Weights of the written rows.

    Returns
    -------
    dict
        ``n_distinct``, ``fingerprint``, ``source`` and perhaps ``weights``.
    """
    # The fingerprint of booleans is that of 0 and 1: both are found again in the other's data.
    classes = [int(label) if isinstance(label, bool) else label for label in form.classes]
    heading, about = [form.n_features, classes], {}
    if weights is not None and (weights != 1.0).any():
        small = max(form.chunk_rows, SMALL_CHUNK)
        about["weights"] = _write_weights(place / "weights", weights, small)
        heading.append(fingerprint([weights.view(np.uint64)], ""))
    pieces = (
        hashes(start, min(n_rows, start + SMALL_CHUNK)) for start in range(0, n_rows, SMALL_CHUNK)
    )
    return {
        "n_distinct": count_distinct(hashes, n_rows),
        "fingerprint": fingerprint(pieces, json.dumps(heading)),
        "source": masked(source),
        **about,
    }


def _write_weights(
    place: Location, weights: NDArray[np.float64], chunk_rows: int
) -> dict[str, float]:
    """Write weights and return their least, greatest and sum."""
    out = ArrayWriter(place, (), np.float64, chunk_rows)
    for start in range(0, len(weights), chunk_rows):
        out.append(weights[start : start + chunk_rows])
    out.close()
    return {
        "least": float(weights.min()),
        "most": float(weights.max()),
        "sum": float(weights.sum()),
    }


def stored_blocks(
    blocks: Iterable[tuple[Rows, NDArray[Any]]],
    name: str,
    form: Form,
    scaling: Scaling | None,
    loss: RoundingLoss | None,
    shift: int = 0,
) -> Iterator[tuple[Rows, NDArray[Any], NDArray[np.uint64]]]:
    """Yield rows in their stored form, their codes or targets, and their hashes.

    Parameters
    ----------
    blocks : iterable
        Rows and their codes or targets.
    name : str
        Their source, for messages.
    form : Form
    scaling : Scaling or None
        The scaling to apply.
    loss : RoundingLoss, optional
        Updated with rows before and after rounding to float32.
    shift : int, default 0
        The column of the blocks that is feature 0.

    Yields
    ------
    rows : ndarray or csr_array, float32
    y : ndarray, int32 or float64
    hashes : ndarray, shape (n, 2), uint64
    """
    name += "" if scaling is None else " after scaling"
    done = 0
    for rows, y in blocks:
        for start, stop, part in parts_to_fill(rows, dense=not form.is_sparse):
            stored = _store_form(part, name, form, scaling, loss, done + start, shift)
            own = None if form.one_class else y[start:stop]
            yield stored, y[start:stop], row_hashes(stored, own)
        done += y.size


def _scaling_left(scan: Scan, form: Form) -> Scaling | None:
    """Return the scaling that rows of a source still need."""
    done = getattr(scan.source, "scaling", None)
    if done is None:
        return form.scaling
    same = form.scaling is not None and done.equals(form.scaling)
    if not same:
        raise InputError(
            f"{scan.source.name}: is scaled differently from the training part; ingest its source"
        )
    return None


def _store_form(
    rows: Rows,
    name: str,
    form: Form,
    scaling: Scaling | None,
    loss: RoundingLoss | None,
    first_row: int,
    shift: int,
) -> Rows:
    """Return a block with the stored features, form and scaling, rounded at the end."""
    if sparse.issparse(rows):
        rows = sparse.csr_array(
            (rows.data, rows.indices - np.int32(shift), rows.indptr),
            (rows.shape[0], form.n_features),
        )
        if not form.is_sparse:
            rows = rows.toarray()
    elif form.is_sparse:
        rows = sparse.csr_array(rows)
    if scaling is not None:
        whole = None if loss is not None or sparse.issparse(rows) else scaling.apply_rounded(rows)
        if whole is not None:
            return whole
        rows = scaling.apply(rows)
    if rows.dtype == np.float32:
        return rows
    rounded = round_block(rows, name, first_row)
    if loss is not None:
        loss.update(rows, rounded)
    return rounded
