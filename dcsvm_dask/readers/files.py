"""Opening foreign files: local paths and URLs, plain or compressed, with plain errors.

Memory: text is read in blocks of 8 MB and unpacked piece by piece, whatever it unpacks to. A
block and what is parsed from it take at most 20 times its bytes, and a line is part of one block:
a line above 1/32 of the memory bound is refused.

Text packed by gzip, bzip2 or xz as a stream of bytes.

Memory: gzip and bzip2 take less than 10 MB. xz takes what a file's header asks for, up to 4 GiB;
more than half of the memory bound is refused.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

import fsspec
import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import AccessError, InputError, UnreachableError
from dcsvm_dask.masking import has_credentials
from dcsvm_dask.readers.encoding import AsUtf8, check_utf8, decode_head, find_encoding
from dcsvm_dask.readers.memory import above_bound, bound, check_bound, show_size
from dcsvm_dask.readers.urls import check_url, is_url

DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
"""Errors of damaged files; bzip2 has none of its own."""

_PIECE = 1 << 16


def unpacked(file: IO[bytes], head: bytes, name: str) -> IO[bytes] | None:
    """Return the stream of unpacked bytes, None where the first bytes name no packing.

    Parameters
    ----------
    file : file object
        At its beginning.
    head : bytes
        Its first six bytes.
    name : str
        For messages.
    """
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(file))
    if head.startswith(b"BZh"):
        return bz2.open(file)
    if head.startswith(b"\xfd7zXZ\x00"):
        return cast("IO[bytes]", io.BufferedReader(_Xz(file, name), _PIECE))
    return None


class _Xz(io.RawIOBase):
    """An xz file of one stream or more; `lzma.open` has no limit of memory."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._left = b""
        self._stream: lzma.LZMADecompressor | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Unpack the next bytes into a buffer; 0 at the end."""
        while True:
            data = b""
            if self._stream is None or self._stream.needs_input:
                data, self._left = self._left or self._file.read(_PIECE), b""
                if self._stream is None:
                    if not data:
                        return 0
                    data = data.lstrip(b"\0")  # padding between streams
                    if not data:
                        continue
                    memory = bound() // 2
                    self._stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=memory)
                elif not data:
                    raise EOFError("the compressed file ends before its end marker")
            try:
                found = self._stream.decompress(data, len(buffer))
            except lzma.LZMAError as error:
                if "emory usage limit" not in str(error):
                    raise
                half = show_size(bound() // 2)
                raise above_bound(
                    self._name, f"unpacking it (xz) takes more than {half}, and parsing as much"
                ) from error
            if self._stream.eof:
                self._left, self._stream = self._stream.unused_data, None
            if found:
                buffer[: len(found)] = found
                return len(found)


TEXT_BYTES = 8 << 20
"""Bytes of text that are parsed at a time."""

LINE_MEMORY = 32
"""Bytes of memory for each byte of a line, at most."""
TOP_MEMORY = 64
"""Bytes of memory for each byte of a first line, which is taken apart into words."""


_CLIENTS = ("botocore", "aiobotocore", "gcsfs", "google", "azure", "aiohttp")
"""Clients of object stores: most of their errors are no ``OSError``."""


def is_out_of_reach(error: Exception) -> bool:
    """Whether an error says that a store could not be reached or does not let one in."""
    if isinstance(error, FileNotFoundError | FileExistsError):
        return False
    client = type(error).__module__.partition(".")[0]
    return client in _CLIENTS or isinstance(error, PermissionError | ConnectionError | TimeoutError)


def is_refused(error: Exception) -> bool:
    """Whether an error says that a store is there and does not let one in."""
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # what fsspec makes of any answer of a web server
    # The first that there is: aiohttp warns of its ``code``.
    names = (name for name in ("status", "status_code", "code") if name in dir(error))
    status = getattr(error, next(names, ""), None)
    return isinstance(error, PermissionError) or status in (401, 403)


def refused(path: str) -> AccessError:
    """Return the error for a place that a store does not let one into."""
    return AccessError(
        f"{path}: access was refused (permission denied); look at the credentials, whether a "
        "signed URL has expired, and who may read there"
    )


def cause_of(error: Exception, path: str) -> Exception | None:
    """Return what a traceback may show as the cause: a client's message repeats the URL."""
    return None if is_url(path) and has_credentials(path) else error


@contextlib.contextmanager
def plain_errors(path: str) -> Iterator[None]:
    """Turn what goes wrong while a file is opened or read into one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        if is_url(path) and is_refused(error):
            raise refused(path) from cause_of(error, path)
        cause = error.__cause__  # fsspec makes the same of a web server that does not answer
        if is_url(path) and isinstance(cause, OSError) and is_out_of_reach(cause):
            raise UnreachableError(f"{path}: cannot be reached: {cause}") from cause_of(error, path)
        raise InputError(f"{path}: there is no such file") from cause_of(error, path)
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a folder; a file is needed") from cause_of(error, path)
    except PermissionError as error:
        if is_url(path):
            raise refused(path) from cause_of(error, path)
        raise InputError(f"{path}: may not be read (permission denied)") from error
    except DAMAGED as error:
        raise InputError(
            f"{path}: damaged or cut off: cannot be decompressed ({error})"
        ) from cause_of(error, path)
    except (ValueError, ImportError) as error:
        if isinstance(error, InputError) or "rotocol" not in str(error):
            raise
        raise InputError(f"{path}: cannot be opened: {error}") from cause_of(error, path)
    except Exception as error:
        if is_url(path) and is_refused(error):
            raise refused(path) from cause_of(error, path)
        if is_out_of_reach(error):
            raise UnreachableError(f"{path}: cannot be reached: {error}") from cause_of(error, path)
        # bz2 has no error of its own.
        if isinstance(error, OSError) and "data stream" in str(error):
            raise InputError(
                f"{path}: damaged or cut off: cannot be decompressed ({error})"
            ) from cause_of(error, path)
        raise


def open_raw(path: str) -> Any:
    """Open a file for reading bytes, as it is, with random access."""
    if is_url(path):
        check_url(path)
        # Not fsspec.open, which takes the ? of a query for a pattern.
        fs, inner = fsspec.core.url_to_fs(path)
        return fs.open(inner, "rb")
    return open(os.path.expanduser(path), "rb")  # noqa: PTH123, PTH111 - closed by callers


@contextlib.contextmanager
def open_bytes(path: str) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed if its first bytes say gzip, bzip2 or xz."""
    with plain_errors(path), open_raw(path) as file:
        head = file.read(6)
        file.seek(0)
        stream = unpacked(file, head, path)
        if stream is None:
            yield file
            return
        with stream:
            yield stream


def read_head(path: str, size: int) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with open_bytes(path) as file:
        head = b""
        while len(head) < size:
            piece = file.read(size - len(head))
            if not piece:
                break
            head += piece
        return head


def read_top(path: str, encoding: str | None = None) -> tuple[str, str]:
    """Return the beginning of a text file, and the codec that reads the file.

    Returns
    -------
    text : str
        The first line that is not blank, and more.
    codec : str
        See `find_encoding`.

    Raises
    ------
    InputError
        If that line, or the blank lines before it, are too long for the memory bound, or the text
        is not in that encoding.
    """
    with open_bytes(path) as file:
        head = bytearray()
        while True:
            piece = file.read(max(1 << 16, len(head)))
            head += piece
            check_bound(TOP_MEMORY * len(head), path, _long_line(len(head)))
            codec = find_encoding(bytes(head[:4]), encoding)
            text = decode_head(bytes(head), codec, path, whole=not piece)
            if not piece or "\n" in text.lstrip(" \t\r\n"):
                return text, codec


def _long_line(size: int) -> str:
    return f"a line of {show_size(size)} or more"


def text_blocks(
    path: str, size: int = TEXT_BYTES, *, encoding: str | None = None
) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Return a text file in blocks of whole lines, in UTF-8.

    Parameters
    ----------
    path : str
        Local path or URL.
    size : int
        Bytes of a block, about.
    encoding : str, optional
        Of a file that does not begin with a byte order mark; UTF-8 by default.

    Yields
    ------
    text : uint8 array
        Whole lines, the last one with a newline; 16 newlines follow that end it, so that a parser
        may look ahead.
    first_line : int
        Number of the first of them, from 1.

    Raises
    ------
    InputError
        If the file is missing or damaged, not in that encoding, or a line too long for the memory
        bound.
    """
    codec = find_encoding(read_head(path, 4), encoding)
    line = 1
    buffer = bytearray(size + 16)
    held = 0
    with open_bytes(path) as raw:
        file: Any = raw if codec.startswith("utf-8") else AsUtf8(raw, codec, path)
        while True:
            if held >= len(buffer) - 16 - size // 2:
                buffer.extend(bytes(size))
            with memoryview(buffer) as view:
                got = file.readinto(view[held : len(buffer) - 16])
            end = held + got
            if got:
                cut = buffer.rfind(b"\n", held, end) + 1
                if cut == 0:
                    held = end
                    check_bound(LINE_MEMORY * held, f"{path}, line {line}", _long_line(held))
                    continue
            elif held == 0:
                return
            else:
                buffer[end : end + 1] = b"\n"
                cut = end = end + 1
            rest = bytes(memoryview(buffer)[cut:end])
            buffer[cut : cut + 16] = b"\n" * 16
            if file is raw:
                check_utf8(buffer, cut, path, line)
            if line == 1 and buffer.startswith(b"\xef\xbb\xbf"):
                buffer[:3] = b"   "  # a byte order mark
            text = np.frombuffer(buffer, np.uint8, cut + 16)
            yield text, line
            line += count_lines(text, cut)
            # The block may still be in use by the caller, so its buffer is left to it.
            buffer = bytearray(max(size, 2 * len(rest)) + 16)
            buffer[: len(rest)] = rest
            held = len(rest)
            if not got:
                return


def count_lines(text: NDArray[np.uint8], end: int) -> int:
    """Return the number of newlines before a position."""
    return int(np.count_nonzero(text[:end] == 10))


def show(text: NDArray[np.uint8], start: int, stops: bytes = b" \t\r\n") -> str:
    """Return the word at a position for a message, cut to 40 characters."""
    word = bytes(text[start : start + 60])
    ends = [k for k in (word.find(bytes([s])) for s in stops) if k >= 0]
    shown = word[: min(ends)] if ends else word
    return repr(shown[:40].decode("utf-8", "backslashreplace"))
