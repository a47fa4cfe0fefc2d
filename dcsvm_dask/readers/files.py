"""Opening foreign files: local paths and URLs, plain or compressed by gzip, bzip2 or xz.

Memory: text is read in blocks of 8 MB and decompressed piece by piece. A block and its parsed
values take at most 20 times its bytes, and a line is part of one block: a line above 1/32 of the
memory bound is an error. gzip and bzip2 take less than 10 MB. xz takes the memory that a file's
header asks for, up to 4 GiB; more than half of the memory bound is an error.
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

from dcsvm_dask.absent import no_such
from dcsvm_dask.errors import AccessError, InputError, UnreachableError
from dcsvm_dask.masking import has_credentials
from dcsvm_dask.readers.encoding import AsUtf8, check_utf8, decode_head, find_encoding
from dcsvm_dask.readers.folders import no_pattern
from dcsvm_dask.readers.memory import above_bound, bound, check_bound, show_size
from dcsvm_dask.readers.urls import check_url, is_url

DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
"""Errors of damaged files; bzip2 has no error class of its own."""

_PIECE = 1 << 16


def unpacked(file: IO[bytes], head: bytes, name: str) -> IO[bytes] | None:
    """Return the stream of decompressed bytes; None if the first bytes are of no known compression.

    Parameters
    ----------
    file : file object
        At its beginning.
    head : bytes
        Its first six bytes.
    name : str
        For messages.

    Returns
    -------
    file object or None
    """
    if head.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(file))
    if head.startswith(b"BZh"):
        return bz2.open(file)
    if head.startswith(b"\xfd7zXZ\x00"):
        return cast("IO[bytes]", io.BufferedReader(_Xz(file, name), _PIECE))
    return None


class _Xz(io.RawIOBase):
    """An xz file of one or more streams; `lzma.open` has no memory limit."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._left = b""
        self._stream: lzma.LZMADecompressor | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Decompress the next bytes into a buffer; return 0 at the end."""
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
"""Largest number of bytes of memory for each byte of a line."""
TOP_MEMORY = 64
"""Largest number of bytes of memory for each byte of a first line, which is split into words."""


_CLIENTS = ("botocore", "aiobotocore", "gcsfs", "google", "azure", "aiohttp")
"""Clients of object stores, most of whose errors are not ``OSError``."""


def is_out_of_reach(error: Exception) -> bool:
    """Return whether an error means that a store is unreachable or denies access."""
    if isinstance(error, FileNotFoundError | FileExistsError):
        return False
    client = type(error).__module__.partition(".")[0]
    return client in _CLIENTS or isinstance(error, PermissionError | ConnectionError | TimeoutError)


def is_refused(error: Exception) -> bool:
    """Return whether an error means that a store denies access."""
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # fsspec raises it for any error of a web server
    # The first attribute that exists: aiohttp warns about ``code``.
    names = (name for name in ("status", "status_code", "code") if name in dir(error))
    status = getattr(error, next(names, ""), None)
    return isinstance(error, PermissionError) or status in (401, 403)


def refused(path: str) -> AccessError:
    """Return the error for a place to which access is denied."""
    return AccessError(
        f"{path}: access was refused (permission denied); check the credentials, whether a "
        "signed URL has expired, and the permissions"
    )


def cause_of(error: Exception, path: str) -> Exception | None:
    """Return the cause to show in a traceback; None where the client's message repeats
    credentials.
    """
    return None if is_url(path) and has_credentials(path) else error


@contextlib.contextmanager
def plain_errors(path: str) -> Iterator[None]:
    """Convert errors of opening or reading a file to messages of one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        if is_url(path) and is_refused(error):
            raise refused(path) from cause_of(error, path)
        cause = error.__cause__  # fsspec raises the same if a web server does not answer
        if is_url(path) and isinstance(cause, OSError) and is_out_of_reach(cause):
            raise UnreachableError(f"{path}: cannot be reached: {cause}") from cause_of(error, path)
        several = None if is_url(path) else no_pattern(path)
        raise InputError(f"{path}: {several or no_such('file', path)}") from cause_of(error, path)
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
        # bz2 has no error class of its own.
        if isinstance(error, OSError) and "data stream" in str(error):
            raise InputError(
                f"{path}: damaged or cut off: cannot be decompressed ({error})"
            ) from cause_of(error, path)
        raise


def open_raw(path: str) -> Any:
    """Open a file for reading its bytes as they are, with random access."""
    if is_url(path):
        check_url(path)
        # Not fsspec.open, for which the ? of a query is a pattern.
        fs, inner = fsspec.core.url_to_fs(path)
        return fs.open(inner, "rb")
    return open(os.path.expanduser(path), "rb")  # noqa: PTH123, PTH111 - closed by callers


@contextlib.contextmanager
def open_bytes(path: str) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes, decompressed if its first bytes are those of gzip, bzip2 or
    xz.
    """
    with plain_errors(path), open_raw(path) as file:
        if not file.seekable():
            raise InputError(
                f"{path}: a pipe, which can be read only once; write its rows to a file and give "
                "that"
            )
        head = file.read(6)
        file.seek(0)
        stream = unpacked(file, head, path)
        if stream is None:
            yield file
            return
        with stream:
            yield stream


def read_head(path: str, size: int) -> bytes:
    """Return the first decompressed bytes of a file."""
    with open_bytes(path) as file:
        head = b""
        while len(head) < size:
            piece = file.read(size - len(head))
            if not piece:
                break
            head += piece
        return head


def read_top(path: str, encoding: str | None = None) -> tuple[str, str]:
    """Return the beginning of a text file, and its codec.

    Returns
    -------
    text : str
        At least the first line that is not blank.
    codec : str
        See `find_encoding`.

    Raises
    ------
    InputError
        If that line, or the blank lines before it, exceed the memory bound, or the text is not in
        the encoding.
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
    """Yield blocks of whole lines of a text file, in UTF-8.

    Parameters
    ----------
    path : str
        Local path or URL.
    size : int
        Approximate number of bytes of a block.
    encoding : str, optional
        Encoding of a file without a byte order mark; UTF-8 by default.

    Yields
    ------
    text : uint8 array
        Whole lines, the last one with a newline, followed by 16 newlines, so that a parser can look
        ahead.
    first_line : int
        Number of the first line, from 1.

    Raises
    ------
    InputError
        If the file is missing or damaged, not in the encoding, or a line exceeds the memory bound.
    """
    codec = find_encoding(read_head(path, 4), encoding)
    line = 1
    buffer = bytearray(size + 16)
    kept = 0
    with open_bytes(path) as raw:
        file: Any = raw if codec.startswith("utf-8") else AsUtf8(raw, codec, path)
        while True:
            if kept >= len(buffer) - 16 - size // 2:
                buffer.extend(bytes(size))
            with memoryview(buffer) as view:
                got = file.readinto(view[kept : len(buffer) - 16])
            end = kept + got
            if got:
                cut = buffer.rfind(b"\n", kept, end) + 1
                if cut == 0:
                    kept = end
                    check_bound(LINE_MEMORY * kept, f"{path}, line {line}", _long_line(kept))
                    continue
            elif kept == 0:
                return
            else:
                buffer[end : end + 1] = b"\n"
                cut = end = end + 1
            partial = bytes(memoryview(buffer)[cut:end])
            buffer[cut : cut + 16] = b"\n" * 16
            if file is raw:
                check_utf8(buffer, cut, path, line)
            if line == 1 and buffer.startswith(b"\xef\xbb\xbf"):
                buffer[:3] = b"   "  # a byte order mark
            text = np.frombuffer(buffer, np.uint8, cut + 16)
            yield text, line
            line += count_lines(text, cut)
            # The caller may still use the block, so its buffer is not reused.
            buffer = bytearray(max(size, 2 * len(partial)) + 16)
            buffer[: len(partial)] = partial
            kept = len(partial)
            if not got:
                return


def count_lines(text: NDArray[np.uint8], end: int) -> int:
    """Return the number of newlines before a position."""
    return int(np.count_nonzero(text[:end] == 10))


def show(text: NDArray[np.uint8], start: int, stops: bytes = b" \t\r\n") -> str:
    """Return the word at a position in quotation marks, for a message; see `word_at`."""
    return repr(word_at(text, start, stops))


def word_at(text: NDArray[np.uint8], start: int, stops: bytes = b" \t\r\n") -> str:
    """Return the word at a position, at most 40 characters.

    Parameters
    ----------
    text : ndarray of uint8
    start : int
    stops : bytes
        Bytes that end a word.

    Returns
    -------
    str
    """
    word = bytes(text[start : start + 60])
    ends = [k for k in (word.find(bytes([s])) for s in stops) if k >= 0]
    shown = word[: min(ends)] if ends else word
    return shown[:40].decode("utf-8", "backslashreplace")
