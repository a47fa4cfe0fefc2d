"""A place for arrays and JSON objects: a local folder or an fsspec URL (s3://, gs://, memory://).

A key is written whole or not at all: locally by a temporary file, fsync and rename, on object
stores by one PUT. Folders are never renamed.

Memory: a JSON object (``dataset.json``, ``run.json``, commits, ``preparation.json``) takes 2 to 5
bytes for each byte of its text and 80 for each value, which is compared with the memory bound
before it is parsed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.memory import check_bound, show_size
from dcsvm_dask.readers.urls import check_place, check_writable, is_url, is_web
from dcsvm_dask.storage.files import create_file, replace_file, sync_file, sync_folder
from dcsvm_dask.storage.object_store import PatientStore, client_settings, on_store, read_intact

SEAL = "checksum"
"""Key of the checksum in a sealed JSON object."""
SMALL_JSON = 1 << 20
"""Bytes of text that are parsed without comparing them with the memory bound."""
JSON_VALUE = 80
"""Largest number of bytes of a JSON value in memory, besides its text."""
_LONGEST_NAME = 255
UPLOADS = 10
"""Concurrent parts of the upload of a large file, where the client has such a setting."""
DELETERS = 8
"""Concurrent deletions of files of a local disk."""


@dataclass(frozen=True, slots=True)
class Location:
    """A folder or key prefix.

    Parameters
    ----------
    url : str
        A local path or an fsspec URL, without a trailing slash.
    """

    url: str

    def __post_init__(self) -> None:
        if is_url(self.url):
            check_place(self.url)

    @classmethod
    def of(cls, place: str | os.PathLike[str] | Location, *, writable: bool = False) -> Location:
        """Return the location of a path or URL; local paths become absolute.

        Raises
        ------
        InputError
            If the path is not valid, the protocol of the URL is not supported, or the place must be
            `writable` and is a web server's, or ``-``, which is standard output elsewhere.
        """
        if writable and isinstance(place, str) and place == "-":
            raise InputError(
                "-: standard output cannot be written to, nor is a file of this name; give the "
                "name of a file or folder (or ./-)"
            )
        found = place if isinstance(place, Location) else cls._of(place)
        if writable:
            check_writable(found.url)
        return found

    @classmethod
    def _of(cls, place: str | os.PathLike[str]) -> Location:
        try:
            text = os.fspath(place)
        except TypeError as error:
            raise InputError(f"{place!r:.80} is no path; give a path or a URL.") from error
        if not text:
            raise InputError("the path is empty; give a path or a URL.")
        if text.startswith("file://"):
            text = text.removeprefix("file://")
        if is_url(text):
            return cls(text.rstrip("/"))
        try:
            path = Path(text).expanduser().resolve()
            longest = max(len(os.fsencode(name)) for name in path.parts)
        except (ValueError, RuntimeError) as error:  # NUL; not of this file system; ~nobody
            raise InputError(f"{text!r}: is not a valid path ({error})") from error
        if longest > _LONGEST_NAME:
            raise InputError(f"{text!r}: is not a valid path (a name in it is too long)")
        return cls(str(path))

    @property
    def is_local(self) -> bool:
        """Whether it is a folder of the local file system."""
        return not is_url(self.url)

    @property
    def is_process_local(self) -> bool:
        """Whether only this process can see it (memory://)."""
        return self.url.startswith("memory://")

    @property
    def is_remote(self) -> bool:
        """Whether it is accessed over a network."""
        return not (self.is_local or self.is_process_local)

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.url.rsplit("/", 1)[-1]

    @property
    def parent(self) -> Location:
        """The folder that contains this one."""
        return Location(self.url.rsplit("/", 1)[0])

    def __truediv__(self, part: str) -> Location:
        return Location(f"{self.url}/{part}")

    def __str__(self) -> str:
        return self.url

    def store(self) -> Store:
        """Return a Zarr store rooted here.

        Raises
        ------
        InputError
            If the URL's protocol is unknown or its package is not installed.
        """
        if self.is_local:
            return LocalStore(self.url)
        settings = client_settings(self.url)
        return on_store(self.url, lambda *_: PatientStore(FsspecStore.from_url(self.url, settings)))

    def exists(self) -> bool:
        """Return whether a key or a folder with this name exists."""
        if self.is_local:
            return Path(self.url).exists()
        return on_store(self.url, lambda fs, path: bool(_fresh(fs, path).exists(path)))

    def read_bytes(self) -> bytes:
        """Return the object's bytes; ``FileNotFoundError`` if there is none."""
        if self.is_local:
            return Path(self.url).read_bytes()
        return on_store(self.url, lambda fs, path: cast(bytes, fs.cat_file(path)))

    def read_range(self, start: int, stop: int) -> bytes:
        """Return the object's bytes start:stop; ``FileNotFoundError`` if there is no object."""
        if self.is_local:
            with Path(self.url).open("rb") as file:
                file.seek(start)
                return file.read(stop - start)
        return on_store(
            self.url, lambda fs, path: cast(bytes, fs.cat_file(path, start=start, end=stop))
        )

    def write_bytes(self, data: bytes) -> None:
        """Write the object whole or not at all; it is durable when this returns."""
        check_writable(self.url)
        if not self.is_local:
            on_store(self.url, lambda fs, path: fs.pipe_file(path, data))
            return
        replace_file(Path(self.url), data)

    def upload(self, file: Path) -> None:
        """Write a local file's bytes to an object store, whole or not at all."""
        check_writable(self.url)
        words = dict.fromkeys(client_settings(self.url), UPLOADS)
        on_store(self.url, lambda fs, path: fs.put_file(str(file), path, **words))

    def write_new(self, data: bytes) -> bool:
        """Write the object whole if there is none; return whether this call wrote it."""
        check_writable(self.url)
        if not self.is_local:
            return on_store(self.url, lambda fs, path: self._create(fs, path, data))
        return create_file(Path(self.url), data)

    def _create(self, fs: Any, path: str, data: bytes) -> bool:
        try:
            fs.pipe_file(path, data, mode="create")
        except OSError:  # stores report a lost race by different errors
            if not self.exists():
                raise
            return False
        return True

    def read_json(self, *, sealed: bool = False) -> dict[str, Any]:
        """Return the JSON object stored here; ``FileNotFoundError`` if there is none.

        Parameters
        ----------
        sealed : bool, default False
            Whether it must have the checksum that `seal` adds. A checksum is verified in any case
            and left out of the result.

        Raises
        ------
        InputError
            If it is not a JSON object, or its checksum does not match.
        """
        if self.is_remote and not is_web(self.url):
            return read_intact(lambda: self._read_json(sealed))
        return self._read_json(sealed)

    def _read_json(self, sealed: bool) -> dict[str, Any]:
        return unsealed(self.json_text(), self.url, needed=sealed)

    def json_text(self) -> bytes:
        """Return the text of a JSON object; `InputError` if it exceeds the memory bound."""
        what = "an object of {}"
        if self.is_local and (size := Path(self.url).stat().st_size) > SMALL_JSON:
            check_bound(2 * size, self.url, what.format(show_size(size)))
        data = self.read_bytes()
        if len(data) > SMALL_JSON:
            values = sum(data.count(mark) for mark in (b",", b"[", b"{", b":"))
            text = len(data) * (2 if data.isascii() else 5)
            check_bound(text + JSON_VALUE * values, self.url, what.format(show_size(len(data))))
        return data

    def write_json(self, value: dict[str, Any]) -> None:
        """Write a JSON object whole or not at all."""
        self.write_bytes(_to_json(value))

    def write_new_json(self, value: dict[str, Any]) -> bool:
        """Write a JSON object if there is no object; return whether this call wrote it."""
        return self.write_new(_to_json(value))

    def list(self) -> list[str]:
        """Return the sorted names directly below this folder; empty if there is none."""
        if self.is_local:
            folder = Path(self.url)
            return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []
        try:
            found = on_store(self.url, lambda fs, path: _fresh(fs, path).ls(path, detail=False))
        except FileNotFoundError:
            return []
        names = {name.rstrip("/").rsplit("/", 1)[-1] for name in found}
        return sorted(names - {self.name})

    def keys(self) -> dict[str, int]:
        """Return every object below this folder, as relative key -> size in bytes."""
        if self.is_local:
            root = Path(self.url)
            return {
                p.relative_to(root).as_posix(): p.stat().st_size
                for p in sorted(root.rglob("*"))
                if p.is_file()
            }
        try:
            found, path = on_store(
                self.url, lambda fs, path: (_fresh(fs, path).find(path, detail=True), path)
            )
        except FileNotFoundError:
            return {}
        prefix = path.rstrip("/") + "/"
        return {
            key[len(prefix) :]: int(info["size"])
            for key, info in sorted(found.items())
            if key.startswith(prefix)
        }

    def delete(self) -> None:
        """Delete this object or everything below this folder, if it exists."""
        if self.is_local:
            target = Path(self.url)
            if target.is_dir():
                shutil.rmtree(target, ignore_errors=True)
            else:
                target.unlink(missing_ok=True)
            return

        def remove(fs: Any, path: str) -> None:
            if _fresh(fs, path).exists(path):
                fs.rm(path, recursive=True)

        on_store(self.url, remove)

    def delete_objects(self, keys: Iterable[str]) -> None:
        """Delete objects below this folder, many in a request, and folders that become empty."""
        keys = list(keys)
        if not keys:
            return
        if not self.is_local:
            # A retried call may find its objects deleted.
            with contextlib.suppress(FileNotFoundError):
                on_store(self.url, lambda fs, path: fs.rm([f"{path}/{key}" for key in keys]))
            return
        root = Path(self.url)
        with ThreadPoolExecutor(DELETERS) as pool:
            list(pool.map(lambda key: (root / key).unlink(missing_ok=True), keys))
        above = {parent for key in keys for parent in Path(key).parents if parent.name}
        for folder in sorted(above, key=lambda path: len(path.parts), reverse=True):
            with contextlib.suppress(OSError):
                (root / folder).rmdir()

    def delete_if_empty(self) -> None:
        """Delete this folder if it is empty; object stores have no empty folders."""
        if self.is_local:
            with contextlib.suppress(OSError):
                Path(self.url).rmdir()
        elif self.is_process_local and not self.list():
            self.delete()

    def sync_names(self) -> None:
        """Make the names in this local folder durable; object stores need no sync."""
        if self.is_local and Path(self.url).is_dir():
            sync_folder(Path(self.url))

    def sync(self) -> None:
        """Make every file below this local folder durable; object stores need no sync."""
        root = Path(self.url)
        if not self.is_local or not root.is_dir():
            return
        # A disk syncs several files in little more time than one.
        with ThreadPoolExecutor(8) as pool:
            for folder, _, files in os.walk(root):
                list(pool.map(sync_file, [Path(folder) / name for name in files]))
                sync_folder(Path(folder))
        sync_folder(root.parent)


def _fresh(fs: Any, path: str) -> Any:
    """Invalidate a client's cache: Zarr writes through another client."""
    fs.invalidate_cache(path)
    return fs


def seal(value: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON object with its checksum, which `Location.read_json` verifies."""
    return {**value, SEAL: _checksum(value)}


def unsealed(text: bytes, url: str, *, needed: bool = True) -> dict[str, Any]:
    """Return the JSON object of a text without its checksum.

    Parameters
    ----------
    text : bytes
    url : str
        The origin of the text, for messages.
    needed : bool, default True
        Whether a checksum is required; one that is there is verified in any case.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        If it is not a JSON object, or its checksum does not match.
    """
    value = parse_object(text, url)
    if needed or SEAL in value:
        found = value.pop(SEAL, None)
        if found != _checksum(value):
            raise InputError(f"{url}: damaged: its checksum does not match")
    return value


def _checksum(value: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(value, sort_keys=True).encode())


def parse_object(text: bytes, url: str) -> dict[str, Any]:
    """Return the JSON object of a text; `InputError` if it is none."""
    try:
        value = json.loads(text)
    # ValueError: no UTF-8, no JSON, or a number of thousands of digits.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{url}: damaged: not a JSON object ({error})") from error
    if not isinstance(value, dict):
        raise InputError(f"{url}: damaged: a JSON object was expected")
    return value


def _to_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=1, allow_nan=False).encode()
