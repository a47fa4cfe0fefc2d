"""The memory bound of all readers.

A reader computes its memory from the sizes that a file states, and calls `check_bound` before it
allocates anything of that size. The setting is an environment variable, so that worker processes
inherit it; `memory_bound` and ``--memory-bound`` set it.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator

from dcsvm_dask.errors import InputError

SETTING = "DCSVM_MEMORY_BOUND"
DEFAULT = 1 << 30
LEAST = 256 << 20
"""Memory of a block of text and its parsed values."""


@contextlib.contextmanager
def memory_bound(size: int | str) -> Iterator[None]:
    """Set the memory bound of readers inside a ``with`` block, in the whole process.

    Parameters
    ----------
    size : int or str
        Bytes, or a text such as ``"4GiB"``; at least 256 MiB. The default is 1 GiB. It bounds the
        memory that a reader needs for one file besides the rows that it returns, not the memory of
        the process.

    Raises
    ------
    InputError
        If it is not a valid size.
    """
    _parse(str(size))
    before = os.environ.get(SETTING)
    os.environ[SETTING] = str(size)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(SETTING, None)
        else:
            os.environ[SETTING] = before


def bound() -> int:
    """Return the bytes that a reader may take."""
    given = os.environ.get(SETTING)
    return _parse(given) if given else DEFAULT


def check_bound(wanted: int, name: str, what: str) -> None:
    """Raise an error if a reader would exceed the memory bound.

    Parameters
    ----------
    wanted : int
        Bytes of memory.
    name : str
        The file, and the place in it.
    what : str
        The object that takes the memory, for the message.

    Raises
    ------
    InputError
        With the size and the bound.
    """
    if wanted > bound():
        raise above_bound(name, f"{what} takes {show_size(wanted)} of memory")


def above_bound(name: str, problem: str) -> InputError:
    """Return the error for a file whose reading exceeds the memory bound."""
    return InputError(
        f"{name}: {problem}, above the memory bound of {show_size(bound())}; where the machine has "
        f"it, raise --memory-bound (in Python dcsvm_dask.memory_bound, in the environment "
        f"{SETTING})"
    )


def show_size(size: int) -> str:
    """Return a number of bytes as text."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB")):
        if size >= unit:
            shown = size // unit if size >= 1000 * unit else f"{size / unit:.3g}"
            return f"{shown} {name}"
    return f"{size} bytes"


@functools.lru_cache
def _parse(text: str) -> int:
    from dask.utils import parse_bytes

    try:
        size = int(parse_bytes(text))
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(
            f"memory-bound must be a size like 800MB or 2GiB, got {text!r:.80}"
        ) from error
    if size < LEAST:
        raise InputError(f"memory-bound must be at least {show_size(LEAST)}, got {text!r:.80}")
    return size
