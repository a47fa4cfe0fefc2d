"""Text packed by gzip, bzip2 or xz as a stream of bytes.

Memory: gzip and bzip2 take less than 10 MB. xz takes what a file's header asks for, up to 4 GiB;
more than half of the memory bound is refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from typing import IO, Any, cast

from dcsvm_dask.readers.memory import above_bound, bound, show_size

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
