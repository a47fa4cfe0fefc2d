"""Encodings of text: what a byte order mark says, else what the user says, else UTF-8.

Nothing is guessed, and no byte is replaced: two labels that differ never become one. Text in
another encoding is brought into UTF-8 while it is read, so that parsers see UTF-8 alone.
"""

from __future__ import annotations

import codecs
from typing import IO

from dcsvm_dask.errors import InputError

MARKED = ("utf-16", "utf-32")
"""Encodings of files that begin with a mark; without one their byte order is in their name."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PIECE = 1 << 20
"""Bytes that are decoded at a time."""


def find_encoding(head: bytes, given: str | None) -> str:
    """Return the name of the codec that reads a text.

    Parameters
    ----------
    head : bytes
        The beginning of the file.
    given : str or None
        What the user, or the data set that a model was trained on, says.

    Raises
    ------
    InputError
        If Python has no such encoding.
    """
    name = known_encoding(given)
    for mark, marked in _MARKS:
        if head.startswith(mark):
            return marked
    return f"{name}-le" if name in MARKED else name


def known_encoding(given: str | None) -> str:
    """Return the usual name of an encoding of text, refuse what is none; None is UTF-8."""
    try:
        name = codecs.lookup(given or "utf-8").name
        "".encode(name)  # codecs of bytes (base64) or of text alone (rot13) are no encodings
    except (LookupError, ValueError, TypeError) as error:
        raise InputError(
            f"encoding {given!r} is not known; give for example utf-8, cp1252, latin-1 or utf-16"
        ) from error
    return name


def shown_encoding(codec: str) -> str:
    """Return the name of an encoding for users, as `find_encoding` takes it."""
    return codec.removesuffix("-sig")


def decode_head(head: bytes, codec: str, path: str, *, whole: bool) -> str:
    """Return the beginning of a text; unless it is whole, a character may be cut off at its end."""
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(head, whole)
    except UnicodeDecodeError as error:
        line = 1 + head[: error.start].count(b"\n")
        raise undecodable(path, line, error, codec) from error


def check_utf8(text: bytearray, stop: int, path: str, first_line: int) -> None:
    """Refuse text up to a position that is not UTF-8, with the line."""
    if text.isascii():
        return
    try:
        with memoryview(text) as view:
            codecs.utf_8_decode(view[:stop], "strict", True)
    except UnicodeDecodeError as error:
        line = first_line + text.count(b"\n", 0, error.start)
        raise undecodable(path, line, error, "utf-8") from error


def undecodable(path: str, line: int, error: UnicodeDecodeError, codec: str) -> InputError:
    """Return the error for bytes that an encoding does not have."""
    byte = error.object[error.start]
    said = f"{path}, line {line}: the byte 0x{byte:02x} is not {shown_encoding(codec)}; "
    if codec.startswith("utf-8"):
        return InputError(
            said + "say how the text is encoded: --encoding cp1252 (Western European, as Windows "
            "writes it), latin-1 or another one (in Python encoding=)"
        )
    return InputError(said + "give another --encoding (in Python encoding=), or mend the file")


class AsUtf8:
    """A file in another encoding, read as UTF-8.

    Parameters
    ----------
    file : file object
        Opened for reading bytes.
    codec : str
        From `find_encoding`.
    path : str
        For messages.
    """

    def __init__(self, file: IO[bytes], codec: str, path: str) -> None:
        self._file, self._codec, self._path = file, codec, path
        self._decoder = codecs.getincrementaldecoder(codec)("strict")
        self._held, self._line, self._ended = b"", 1, False

    def readinto(self, buffer: memoryview) -> int:
        """Fill a buffer as far as there is text; return the number of bytes."""
        while not self._held and not self._ended:
            piece = self._file.read(_PIECE)
            self._ended = not piece
            self._held = self._decoded(piece)
            self._line += self._held.count(b"\n")
        size = min(len(buffer), len(self._held))
        buffer[:size] = self._held[:size]
        self._held = self._held[size:]
        return size

    def _decoded(self, piece: bytes) -> bytes:
        try:
            return self._decoder.decode(piece, not piece).encode("utf-8")
        except UnicodeDecodeError as error:
            before = bytes(error.object[: error.start]).decode(self._codec, "backslashreplace")
            line = self._line + before.count("\n")
            raise undecodable(self._path, line, error, self._codec) from error
        except UnicodeEncodeError as error:  # half of a pair of UTF-16, as UTF-7 may have it
            raise InputError(f"{self._path}: is not {self._codec}: {error.reason}") from error
