"""Zarr arrays: creating, writing and reading them with checks.

Every array has a checksum for each chunk (Crc32c) and stores chunks that are all fill value; a
missing chunk is an error when it is read.

Memory: a chunk takes a third of the memory bound at most, and rows are read only if all their
chunks are stored, so that false sizes in metadata allocate no memory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
import zarr
from numpy.typing import DTypeLike, NDArray
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec
from zarr.core.chunk_key_encodings import DefaultChunkKeyEncoding
from zarr.errors import ContainsArrayError, NodeNotFoundError

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.readers.zarr_files import METADATA_ERRORS
from dcsvm_dask.storage.checksums import Checksums
from dcsvm_dask.storage.chunks import CHUNK_BYTES, read_chunks
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.object_store import read_intact

SMALL_BYTES = 64 << 10
"""Arrays up to this size are not compressed, which would cost more than it saves."""

MOST_SHUFFLED = 255
"""Largest size of an item that Blosc shuffles."""

CHECKED_BYTES = 64 << 20
"""Reads of more bytes check first that all chunks exist."""

Form: TypeAlias = tuple[tuple[int, ...], DTypeLike]
"""Shape and dtype of an array."""

_CONFIG: Any = {"write_empty_chunks": True}


def create_array(
    place: Location,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    chunks: tuple[int, ...],
    *,
    packed: bool = True,
) -> zarr.Array[Any]:
    """Create an empty array and return it for writing.

    Parameters
    ----------
    place : Location
        Folder of the array's metadata and chunks.
    shape, chunks : tuple of int
        Sizes of the array and of its chunks; chunks are at least 1 along each axis.
    dtype : dtype
        A numeric type.
    packed : bool, default True
        Whether chunks are compressed.

    Returns
    -------
    zarr.Array

    Raises
    ------
    InputError
        If an array exists there.
    """
    kind = np.dtype(dtype)
    sizes = tuple(max(1, c) for c in chunks)
    # Packs and unpacks two to three times as fast as zstd's level 1, and 5 to 15 % larger.
    pack = BloscCodec(
        cname="lz4", clevel=5, shuffle="shuffle", typesize=_shuffled_bytes(kind.itemsize, sizes)
    )
    try:
        return zarr.create_array(
            place.store(),
            shape=shape,
            dtype=kind,
            chunks=sizes,
            compressors=[*([pack] if packed else []), Crc32cCodec()],
            fill_value=_fill_value(kind),
            config=_CONFIG,
        )
    except ContainsArrayError as error:
        raise InputError(f"{place}: an array exists there already") from error


def _shuffled_bytes(itemsize: int, chunks: tuple[int, ...]) -> int:
    """Return the size of what Blosc shuffles: a row, whose features are then packed one by one."""
    row = itemsize * math.prod(chunks[1:])
    return row if row <= MOST_SHUFFLED else itemsize


def open_array(
    place: Location, form: Form | None = None, checksums: Checksums | None = None
) -> zarr.Array[Any]:
    """Return an array for reading, or for writing into its chunks.

    Parameters
    ----------
    place : Location
    form : tuple (shape, dtype), optional
        The expected shape and dtype.
    checksums : Checksums, optional
        Those of the place; the array is opened for reading, and each object is verified.

    Returns
    -------
    zarr.Array

    Raises
    ------
    InputError
        If there is none, or its metadata is not that of `create_array` or of `form`.
    """
    try:
        store, mode = (place.store(), "r+") if checksums is None else (checksums.store(), "r")
        array = zarr.open_array(store, mode=cast(Any, mode), zarr_format=3, config=_CONFIG)
    except (FileNotFoundError, NodeNotFoundError) as error:
        raise InputError(f"{place}: no array there") from error
    except InputError:  # its message names the object
        raise
    except METADATA_ERRORS as error:
        raise InputError(f"{place}: damaged array metadata ({error!s:.200})") from error
    if not _is_own(array):
        raise InputError(f"{place}: damaged array metadata (this program writes none like it)")
    chunk = math.prod(array.chunks) * array.dtype.itemsize
    check_bound(3 * chunk, place.url, f"a chunk of shape {array.chunks}")
    if form is not None and (array.shape, array.dtype) != (form[0], np.dtype(form[1])):
        raise InputError(
            f"{place}: damaged array metadata ({array.dtype} {array.shape} instead of "
            f"{np.dtype(form[1])} {form[0]})"
        )
    return array


def _is_own(array: zarr.Array[Any]) -> bool:
    """Return whether an array has the codecs and the layout of `create_array`."""
    about: Any = array.metadata
    kind, codecs = array.dtype, about.codecs
    if kind.kind not in "biuf" or math.prod(array.shape) * kind.itemsize >= 1 << 63:
        return False
    fill = np.array([about.fill_value, _fill_value(kind)], kind)
    return (
        [type(c) for c in codecs if not isinstance(c, BloscCodec)] == [BytesCodec, Crc32cCodec]
        and len(codecs) <= 3
        and (kind.itemsize == 1 or codecs[0] == BytesCodec(endian="little"))
        and about.chunk_key_encoding == DefaultChunkKeyEncoding("/")
        and bool(np.array_equal(fill[:1], fill[1:], equal_nan=kind.kind == "f"))
    )


def write_array(
    place: Location,
    values: NDArray[Any],
    chunk: int | tuple[int, ...] | None = None,
) -> None:
    """Write a whole array to an empty place.

    Parameters
    ----------
    place : Location
    values : ndarray
        Of a numeric type.
    chunk : int or tuple of int, optional
        Rows of a chunk, or the whole shape of chunks; by default chunks of about 4 MB.
    """
    values = np.asarray(values)
    if isinstance(chunk, tuple):
        chunks = chunk
    else:
        row = values.dtype.itemsize * math.prod(values.shape[1:])
        rows = chunk if chunk is not None else max(1, CHUNK_BYTES // max(1, row))
        chunks = (min(rows, max(1, values.shape[0])), *values.shape[1:]) if values.ndim else ()
        if rows == 1 and row > CHUNK_BYTES:  # alpha, one long row for each binary SVM
            chunks = (*chunks[:-1], max(1, CHUNK_BYTES * values.shape[-1] // row))
    packed = values.nbytes > SMALL_BYTES
    form = values.shape, values.dtype, chunks
    array = create_array(place, *form, packed=packed)
    if values.size:
        array[...] = values


def read_array(
    place: Location,
    rows: slice | None = None,
    form: Form | None = None,
    checksums: Checksums | None = None,
) -> NDArray[Any]:
    """Return an array, or some of its rows.

    Parameters
    ----------
    place : Location
    rows : slice, optional
        The rows start:stop; by default all.
    form : tuple (shape, dtype), optional
        The expected shape and dtype.
    checksums : Checksums, optional
        Those of the place, against which each object is verified.

    Returns
    -------
    ndarray

    Raises
    ------
    InputError
        If there is no array, a chunk is missing, or a checksum does not match.
    """
    return _intact(place, lambda: _read(place, rows, form, checksums))


def _read(
    place: Location, rows: slice | None, form: Form | None, checksums: Checksums | None
) -> NDArray[Any]:
    array = open_array(place, form, checksums)
    if rows is None or array.ndim == 0:
        start, stop = 0, array.shape[0] if array.ndim else 1
    else:
        start, stop, _ = rows.indices(array.shape[0])
    return _read_rows(array, place, start, stop)


def read_rows(array: zarr.Array[Any], place: Location, start: int, stop: int) -> NDArray[Any]:
    """Return array[start:stop] of an open array with checks.

    Parameters
    ----------
    array : zarr.Array
    place : Location
        The place of the array, for messages and checks.
    start, stop : int

    Returns
    -------
    ndarray

    Raises
    ------
    InputError
        If a chunk is missing, or a checksum does not match.
    """
    return _intact(place, lambda: _read_rows(array, place, start, stop))


def _intact(place: Location, read: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    return read_intact(read) if place.is_remote else read()


def _read_rows(array: zarr.Array[Any], place: Location, start: int, stop: int) -> NDArray[Any]:
    row = array.dtype.itemsize * math.prod(array.shape[1:])
    if place.is_local and array.ndim and (stop - start) * row > CHECKED_BYTES:
        _check_stored(array, place, start, stop)
    whole = read_chunks(array, place, start, stop)
    if whole is not None:
        return whole
    try:
        values = np.asarray(array[start:stop] if array.ndim else array[()])
    except InputError:
        raise
    except METADATA_ERRORS as error:
        raise InputError(
            f"{place}: damaged: rows {start}:{stop} cannot be read ({error!s:.200})"
        ) from error
    if values.size:
        _check_chunks(array, place, values, start)
    return values


def _check_chunks(
    array: zarr.Array[Any], place: Location, values: NDArray[Any], start: int
) -> None:
    """Raise an error if a chunk of some rows is missing: Zarr reads such a chunk as fill values."""
    if not array.ndim:
        return
    chunks = array.chunks
    stop = start + values.shape[0]
    first = range(start - start % chunks[0], stop, chunks[0])
    corners = np.maximum(np.array(first), start) - start
    later = [range(0, size, c) for size, c in zip(array.shape[1:], chunks[1:], strict=True)]
    sample = values[np.ix_(corners, *later)]
    fill = _fill_value(values.dtype)
    same = np.isnan(sample) if values.dtype.kind == "f" else sample == fill
    if not same.any():
        return
    grid = [[f // chunks[0] for f in first], *([range(len(r)) for r in later])]
    for corner, is_fill in zip(itertools.product(*grid), same.ravel(), strict=True):
        key = "c/" + "/".join(str(c) for c in corner)
        if is_fill and not (place / key).exists():
            raise InputError(f"{place}: damaged: the chunk {key} is missing")


def _check_stored(array: zarr.Array[Any], place: Location, start: int, stop: int) -> None:
    """Raise an error if a chunk of some rows is missing, before memory is allocated for them."""
    low = start // array.chunks[0]
    stops = (stop, *array.shape[1:])
    counts = [-(-size // c) for size, c in zip(stops, array.chunks, strict=True)]
    counts[0] -= low
    for number in range(math.prod(counts)):
        first, *later = np.unravel_index(number, counts)
        key = "c/" + "/".join(str(c) for c in (low + first, *later))
        if not (place / key).exists():
            raise InputError(f"{place}: damaged: the chunk {key} is missing")


def _fill_value(kind: np.dtype[Any]) -> Any:
    """Return a value that is rare in real data, so that only suspicious chunks are checked."""
    if kind.kind == "f":
        return kind.type(np.nan)
    if kind.kind == "i":
        return np.iinfo(kind).min
    if kind.kind == "u":
        return np.iinfo(kind).max
    return kind.type()
