"""The memory bound: how much memory a reader may take, one setting for all readers.

A reader computes how much it wants from the sizes that a file states, and asks `check_bound`
before it makes anything of that size. The setting is an environment variable, so that worker
processes have it, too; `memory_bound` and ``--memory-bound`` set it for a while.
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
"""A block of text and what is parsed from it need as much."""


@contextlib.contextmanager
def memory_bound(size: int | str) -> Iterator[None]:
    """Let readers take more or less memory inside of a ``with`` block, in the whole process.

    Parameters
    ----------
    size : int or str
        Bytes, or a text such as ``"4GiB"``; 256 MiB or more. By default readers take 1 GiB. It
        bounds what a reader needs for one file beside what it returns, not the memory of the
        process.

    Raises
    ------
    InputError
        If it is no such size.
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
    return _parse(os.environ.get(SETTING) or str(DEFAULT))


def check_bound(wanted: int, name: str, what: str) -> None:
    """Refuse what takes more memory than a reader may take.

    Parameters
    ----------
    wanted : int
        Bytes of memory.
    name : str
        The file, and the place in it.
    what : str
        What takes the memory.

    Raises
    ------
    InputError
    """
    if wanted > bound():
        raise above_bound(name, f"{what} takes {show_size(wanted)} of memory")


def above_bound(name: str, said: str) -> InputError:
    """Return the error that a file takes more memory than a reader may take."""
    return InputError(
        f"{name}: {said}, above the memory bound of {show_size(bound())}; where the machine has "
        f"it, raise --memory-bound (in Python dcsvm_dask.memory_bound, in the environment "
        f"{SETTING})"
    )


def show_size(size: int) -> str:
    """Return a number of bytes for a message."""
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
        raise InputError(f"memory-bound: {text!r:.80} is no size; write 800MB or 2GiB") from error
    if size < LEAST:
        raise InputError(f"memory-bound must be at least {show_size(LEAST)}, got {text!r:.80}")
    return size
