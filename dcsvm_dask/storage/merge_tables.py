"""Tables of merges as files: a cache beside compiled code, and files that users make and name.

Both are .npz archives of ``h`` and ``wd``, float64; see `dcsvm_dask.solvers.budget.tables`. To read
the tables of 400 x 400 points takes 6 ms, to compute them 125 ms.

Memory: three times the bytes of the tables, at most 805 MB.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.memory import check_bound
from dcsvm_dask.readers.numpy_files import NpyStream
from dcsvm_dask.solvers import MergeTables
from dcsvm_dask.solvers.budget.tables import (
    DEFINITION,
    KNOWN,
    LEAST_SIZE,
    MOST_SIZE,
    MOST_WD,
    SIZE,
    cache_folder,
)
from dcsvm_dask.storage.files import replace_file
from dcsvm_dask.storage.location import Location

ARRAYS = ("h", "wd")
_LARGEST = {"h": 0.5, "wd": MOST_WD}
_ROUNDING = 1e-12
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,  # of archives with a password or an unknown compression
    ValueError,
)
REMEDY = "make it by `dcsvm merge-tables`"


def computed_tables(size: int = SIZE) -> MergeTables:
    """Return the computed tables of a size: of this process, from the cache, or computed now.

    The cache is the folder of Numba's compiled code, a file for each size, kind of processor and
    version of the definition. A file that cannot be read is made again; a folder that cannot be
    written to is left alone. Files are renamed into place whole, so that processes may do this side
    by side.

    Parameters
    ----------
    size : int, default 400
        Points in each direction.
    """
    if size in KNOWN:
        return KNOWN[size]
    place = cached_at(size)
    if place is None:
        return MergeTables.of(size)
    with contextlib.suppress(InputError, OSError):
        found = parsed(place.read_bytes(), str(place))
        if found.size == size:
            KNOWN[size] = MergeTables(found.h, found.wd, is_computed=True)
            return KNOWN[size]
    made = MergeTables.of(size)
    with contextlib.suppress(OSError):
        replace_file(place, as_bytes(made))
    return made


def cached_at(size: int) -> Path | None:
    """Return the file of the cache for the tables of a size; None: nothing is cached."""
    folder = cache_folder()
    if folder is None:
        return None
    from numba.core.registry import cpu_target

    # Processors of other kinds compute other last digits, and compiled code differs likewise.
    processor = repr(cpu_target.target_context.codegen().magic_tuple())
    digest = hashlib.sha256(processor.encode()).hexdigest()[:16]
    return folder / f"merge-tables-{DEFINITION}-{size}-{digest}.npz"


def as_bytes(tables: MergeTables) -> bytes:
    """Return tables as the bytes of an .npz archive."""
    file = io.BytesIO()
    np.savez(file, h=tables.h, wd=tables.wd)
    return file.getvalue()


def read_tables(place: str | os.PathLike[str] | Location) -> MergeTables:
    """Return the tables of a file that `dcsvm merge-tables` has written.

    Parameters
    ----------
    place : str, path or Location

    Raises
    ------
    InputError
        If there is no such file, it is no archive, or its arrays are no such tables.
    """
    location = Location.of(place)
    try:
        if location.is_local:
            size = Path(location.url).stat().st_size
            check_bound(size, f"tables: {location}", "the file")
        data = location.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"tables: there is no file {location}; {REMEDY}.") from error
    except OSError as error:
        raise InputError(
            f"tables: {location} cannot be read ({error.strerror or error}); {REMEDY}."
        ) from error
    return parsed(data, f"tables: {location}")


def given_tables(place: str | os.PathLike[str] | Location, size: int = SIZE) -> MergeTables:
    """Return the tables of a file, which has a size of its own.

    Parameters
    ----------
    place : str, path or Location
    size : int, default 400
        What is asked for beside the file; another size than the usual one must be that of the file.

    Raises
    ------
    InputError
        As for `read_tables`; if the file has another size.
    """
    found = read_tables(place)
    if size not in (SIZE, found.size):
        raise InputError(
            f"table_size is {size}, but {Location.of(place)} has tables of {found.size} points: "
            "leave table_size out, or make another file by `dcsvm merge-tables`."
        )
    return found


def parsed(data: bytes, name: str) -> MergeTables:
    """Return the tables in the bytes of an .npz archive.

    Parameters
    ----------
    data : bytes
    name : str
        For messages.

    Raises
    ------
    InputError
        If it is no archive, or its arrays are no tables of merges.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            there = archive.namelist()
            for one in ARRAYS:
                if f"{one}.npy" not in there:
                    raise InputError(f"{name} has no array {one}; {REMEDY}.")
            h, wd = (_table(archive, one, name) for one in ARRAYS)
    except InputError:
        raise
    except _DAMAGED as error:
        raise InputError(f"{name} is no .npz archive, or damaged ({error}); {REMEDY}.") from error
    if h.shape != wd.shape:
        raise InputError(f"{name} has h of shape {h.shape} and wd of {wd.shape}; {REMEDY}.")
    return MergeTables(h, wd)


def _table(archive: zipfile.ZipFile, array: str, name: str) -> NDArray[np.float64]:
    with archive.open(f"{array}.npy") as file:
        stream = NpyStream(file, f"{name}, {array}")
        shape = stream.shape
        square = len(shape) == 2 and shape[0] == shape[1] and LEAST_SIZE <= shape[0] <= MOST_SIZE
        if not square or stream.dtype != np.float64:
            raise InputError(
                f"{name} has {array} of shape {shape} and type {stream.dtype}, not square float64 "
                f"of {LEAST_SIZE} to {MOST_SIZE} points; {REMEDY}."
            )
        table = np.ascontiguousarray(stream.read(shape[0]))
        file.read(1)  # only at its end the checksum of a member is compared
    largest = _LARGEST[array]
    if not ((table >= 0.0) & (table <= largest + _ROUNDING)).all():  # also for NaN
        raise InputError(f"{name} has values of {array} outside of 0 to {largest:g}; {REMEDY}.")
    return table
