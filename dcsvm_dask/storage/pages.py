"""Labelled rows in compressed pages of one object: consecutive rows are one range of its bytes.

This suits rows that many tasks read in small pieces. A chunk of a Zarr array is an object and is
read whole; a page is a range of an object, so pages can be small while objects are few. Each page
is

    size        uint32  bytes after the checksum
    checksum    uint32  of these bytes and of the page's position
    packed      Blosc (zstd): int32 items: codes, or targets in two items each; weights, where rows
                have some; dense values, or values a row, columns and values of CSR rows
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numcodecs.blosc import Blosc
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.object_store import read_intact
from dcsvm_dask.storage.rows.read import as_csr, stack_rows

_HEAD = struct.Struct("<II")
_WORD = np.dtype("<i4")
_PACK = Blosc(cname="zstd", clevel=1, shuffle=Blosc.SHUFFLE)


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows with their class codes or targets and, where they have them, weights."""

    X: Rows
    y: NDArray[Any]
    weights: NDArray[np.float64] | None

    def take(self, index: slice | NDArray[np.int64]) -> LabelledRows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[index]
        return LabelledRows(self.X[index], self.y[index], weights)


@dataclass(frozen=True, slots=True)
class PageForm:
    """The form of the rows in pages, which is not stored in them."""

    n_features: int
    is_sparse: bool
    weighted: bool
    targets: bool = False
    """Whether y are targets (float64), else codes (int32)."""


def write_pages(
    place: Location, rows: LabelledRows, order: NDArray[np.int64], page_rows: int, seat: int
) -> NDArray[np.int64]:
    """Write rows in an order.

    Parameters
    ----------
    place : Location
    rows : LabelledRows
    order : ndarray of int64
        Row numbers.
    page_rows : int
        Rows of a page.
    seat : int
        Number of the object among similar ones, which is verified when it is read.

    Returns
    -------
    ndarray of int64, shape (n_pages + 1,)
        First byte of each page, and the end of the last one.
    """
    packed, borders = io.BytesIO(), [0]
    for first in range(0, len(order), page_rows):
        page = _PACK.encode(_as_int32(rows.take(order[first : first + page_rows])))
        packed.write(_HEAD.pack(len(page), _checksum(page, seat, borders[-1])))
        packed.write(page)
        borders.append(packed.tell())
    place.write_bytes(packed.getvalue())
    return np.array(borders, dtype=np.int64)


def read_pages(
    place: Location, first: int, last: int, form: PageForm, seat: int
) -> list[LabelledRows]:
    """Return the pages in a range of bytes of an object.

    Parameters
    ----------
    place : Location
    first, last : int
        First byte of a page, and the end of a page.
    form : PageForm
    seat : int
        Number of the object, as given to `write_pages`.

    Returns
    -------
    list of LabelledRows

    Raises
    ------
    InputError
        If a page is missing or damaged.
    """
    if first == last:
        return []

    def read() -> list[LabelledRows]:
        try:
            found = place.read_range(first, last)
        except FileNotFoundError as error:
            raise InputError(f"{place}: damaged: it is missing") from error
        return [_rows_of(words, form) for words in _unpacked(place, found, first, last, seat)]

    return read_intact(read) if place.is_remote else read()


def joined(pages: list[LabelledRows], form: PageForm) -> LabelledRows:
    """Return the rows of some pages, one after the other."""
    if len(pages) == 1:
        return pages[0]
    X = stack_rows([page.X for page in pages], form.n_features, form.is_sparse)
    none = np.empty(0, np.float64 if form.targets else np.int32), np.empty(0)
    y = np.concatenate([none[0], *(page.y for page in pages)])
    if not form.weighted:
        return LabelledRows(X, y, None)
    weights = [page.weights for page in pages if page.weights is not None]
    return LabelledRows(X, y, np.concatenate([none[1], *weights]))


def _unpacked(
    place: Location, found: bytes, first: int, last: int, seat: int
) -> Iterator[NDArray[np.int32]]:
    """Yield the words of each page; only verified pages are decoded."""
    at = 0
    while at < last - first:
        size, checksum = _HEAD.unpack_from(found.ljust(at + _HEAD.size, b"\0"), at)
        page = found[at + _HEAD.size : at + _HEAD.size + size]
        if not size or len(page) != size or _checksum(page, seat, first + at) != checksum:
            raise InputError(f"{place}: damaged: the page at byte {first + at} is not intact")
        yield np.frombuffer(_PACK.decode(page), dtype=_WORD)
        at += _HEAD.size + size


def _checksum(page: bytes, seat: int, at: int) -> int:
    return zlib.crc32(page, zlib.crc32(struct.pack("<QQ", seat, at)))


def _as_int32(rows: LabelledRows) -> NDArray[np.int32]:
    """Return a page's rows as items of 32 bits, which Blosc shuffles by bytes."""
    parts: list[NDArray[Any]] = [np.array([len(rows.y)], np.int32), rows.y]
    if rows.weights is not None:
        parts.append(rows.weights)
    if sparse.issparse(rows.X):
        parts += [np.diff(rows.X.indptr).astype(np.int32), rows.X.indices, rows.X.data]
    else:
        parts.append(np.ascontiguousarray(rows.X).reshape(-1))
    return np.concatenate([_as_words(part) for part in parts])


def _as_words(values: NDArray[Any]) -> NDArray[np.int32]:
    """Return integers, or the bits of floats, as items of 32 bits, little endian."""
    kind = values.dtype if values.dtype.kind == "f" else _WORD
    return np.ascontiguousarray(values, kind.newbyteorder("<")).view(_WORD)


def _rows_of(words: NDArray[np.int32], form: PageForm) -> LabelledRows:
    n = int(words[0])
    widths = [1, n * (1 + form.targets), 2 * n * form.weighted, n * form.is_sparse]
    _, y, weights, counts, values = np.split(words, np.cumsum(widths))
    if form.targets:
        y = y.view("<f8")
    if form.is_sparse:
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        nnz = int(indptr[-1])
        X = as_csr(values[nnz:].view("<f4"), values[:nnz], indptr, form.n_features)
    else:
        X = values.view("<f4").reshape(n, form.n_features)
    return LabelledRows(X, y, weights.view("<f8") if form.weighted else None)
