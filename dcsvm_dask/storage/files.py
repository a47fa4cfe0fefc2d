"""Writing local files whole and durably: create, replace, sync.

The content is written to a temporary file beside the target and synced; the file is renamed in one
operation of the file system; the folder is synced. A kill or a loss of power leaves the old state
or the new one, and at most a temporary file.
"""

from __future__ import annotations

import ctypes
import errno
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_RESERVED_SECONDS = 1.0
"""Seconds during which the writer of an empty file is assumed to be active."""


def replace_file(target: Path, data: bytes) -> None:
    """Write a file whole or not at all, replacing an existing one."""
    temporary = _write_beside(target, data)
    try:
        with named(temporary, target):
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def create_file(target: Path, data: bytes) -> bool:
    """Write a file whole or not at all, if there is none; return whether this call wrote it.

    Of several concurrent calls, in any processes, one returns True where the file system has hard
    links or renames that do not replace. Where it has neither, an empty file reserves the name
    first;
    if it stays empty, its writer is assumed to have died.
    """
    temporary = _write_beside(target, data)
    try:
        with named(temporary, target):
            created = _name_new(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(target.parent)
    return created


def make_folder(folder: Path) -> None:
    """Make a folder and its parents durably."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in reversed(missing):
        sync_folder(one.parent)


def sync_file(path: Path) -> None:
    """Make a local file durable."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a local folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def named(temporary: Path, target: Path) -> Iterator[None]:
    """Let a failure of the system name the target: its temporary file or folder is not a user's.

    Where a disk is full the system names no file at all.
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or not _is_of(temporary, error.filename):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(target)) from error


def _is_of(temporary: Path, name: str | bytes | int | None) -> bool:
    """Return whether a failure names a temporary file or folder, what is inside, or nothing."""
    if not isinstance(name, str | bytes):
        return True
    path = Path(os.fsdecode(name))
    return temporary in (path, *path.parents)


def _write_beside(target: Path, data: bytes) -> Path:
    """Write a durable temporary file in the folder of a target, and return its path."""
    make_folder(target.parent)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        with named(temporary, target), temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _name_new(temporary: Path, target: Path) -> bool:
    """Give a file a new name by the first method that the file system supports."""
    for way in (os.link, _rename_new):
        try:
            way(temporary, target)
        except FileExistsError:
            return _is_reserved(target) and _reserve(temporary, target)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO):
                raise
        else:
            return True
    return _reserve(temporary, target)


def _reserve(temporary: Path, target: Path) -> bool:
    """Give a file a name that is reserved by an empty file."""
    try:
        target.touch(exist_ok=False)
    except FileExistsError:
        end = time.monotonic() + _RESERVED_SECONDS
        while _is_reserved(target) and time.monotonic() < end:
            time.sleep(_RESERVED_SECONDS / 20)
        if not _is_reserved(target):
            return False
    temporary.replace(target)
    return True


def _is_reserved(target: Path) -> bool:
    """Return whether an empty file exists: its writer is active or has died."""
    return target.exists() and target.stat().st_size == 0


@lru_cache(maxsize=1)
def _renameat2() -> Callable[..., int] | None:
    """Return the C library's function, if it has one (Linux)."""
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None


def _rename_new(source: Path, target: Path) -> None:
    """Rename a file without replacing another one."""
    rename = _renameat2()
    if rename is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    names = os.fsencode(source), os.fsencode(target)
    if rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_NOREPLACE) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(source), None, str(target))
