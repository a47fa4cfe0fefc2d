"""Encodings of text: that of a byte order mark, else that given by the user, else UTF-8.

No encoding is guessed and no byte is replaced, so distinct labels stay distinct. Text in another
encoding is converted to UTF-8 while it is read, so that parsers see UTF-8 only.
"""

from __future__ import annotations

import codecs
from typing import IO

from dcsvm_dask.errors import InputError

MARKED = ("utf-16", "utf-32")
"""Encodings whose files begin with a mark; without one the name includes the byte order."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is its prefix
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PIECE = 1 << 20
"""Bytes that are decoded at a time."""


def find_encoding(head: bytes, given: str | None) -> str:
    """Return the name of the codec of a text.

    Parameters
    ----------
    head : bytes
        The beginning of the file.
    given : str or None
        The encoding given by the user, or that of the training data.

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
    """Return the canonical name of an encoding of text; None is UTF-8. An unknown one is an
    error.
    """
    try:
        name = codecs.lookup(given or "utf-8").name
        "".encode(name)  # raises for codecs of bytes (base64) or of text (rot13)
    except (LookupError, ValueError, TypeError) as error:
        raise InputError(
            f"encoding {given!r} is not known; give for example utf-8, cp1252, latin-1 or utf-16"
        ) from error
    return name


def is_utf8(head: bytes) -> bool:
    """Return whether the beginning of a text is UTF-8; its last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def shown_encoding(codec: str) -> str:
    """Return the name of an encoding for users, as `find_encoding` accepts it."""
    return codec.removesuffix("-sig")


def decode_head(head: bytes, codec: str, path: str, *, whole: bool) -> str:
    """Decode the beginning of a text.

    Parameters
    ----------
    head : bytes
    codec : str
        From `find_encoding`.
    path : str
        For messages.
    whole : bool
        Whether it is the whole text; otherwise a character may be cut off at its end.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If a byte is not in the encoding.
    """
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(head, whole)
    except UnicodeDecodeError as error:
        line = 1 + head[: error.start].count(b"\n")
        raise undecodable(path, line, error, codec) from error


def check_utf8(text: bytearray, stop: int, path: str, first_line: int) -> None:
    """Raise an error with the line if text is not UTF-8.

    Parameters
    ----------
    text : bytearray
    stop : int
        End of the checked text.
    path : str
        For messages.
    first_line : int
        Number of the first line, from 1.

    Raises
    ------
    InputError
        If it is not UTF-8.
    """
    if text.isascii():
        return
    try:
        with memoryview(text) as view:
            codecs.utf_8_decode(view[:stop], "strict", True)
    except UnicodeDecodeError as error:
        line = first_line + text.count(b"\n", 0, error.start)
        raise undecodable(path, line, error, "utf-8") from error


def undecodable(path: str, line: int, error: UnicodeDecodeError, codec: str) -> InputError:
    """Return the error for a byte that is not in an encoding.

    Parameters
    ----------
    path : str
    line : int
        Line of the byte, from 1.
    error : UnicodeDecodeError
    codec : str
        From `find_encoding`.

    Returns
    -------
    InputError
    """
    byte = error.object[error.start]
    text = f"{path}, line {line}: the byte 0x{byte:02x} is not {shown_encoding(codec)}; "
    if codec.startswith("utf-8"):
        return InputError(
            text + "give the encoding: --encoding cp1252 (Western European, as Windows "
            "writes it), latin-1 or another one (in Python encoding=)"
        )
    return InputError(text + "give another --encoding (in Python encoding=), or correct the file")


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
        self._text, self._line, self._ended = b"", 1, False

    def readinto(self, buffer: memoryview) -> int:
        """Fill a buffer with text; return the number of bytes, 0 at the end."""
        while not self._text and not self._ended:
            piece = self._file.read(_PIECE)
            self._ended = not piece
            self._text = self._decoded(piece)
            self._line += self._text.count(b"\n")
        size = min(len(buffer), len(self._text))
        buffer[:size] = self._text[:size]
        self._text = self._text[size:]
        return size

    def _decoded(self, piece: bytes) -> bytes:
        try:
            return self._decoder.decode(piece, not piece).encode("utf-8")
        except UnicodeDecodeError as error:
            before = bytes(error.object[: error.start]).decode(self._codec, "backslashreplace")
            line = self._line + before.count("\n")
            raise undecodable(self._path, line, error, self._codec) from error
        except UnicodeEncodeError as error:  # a lone surrogate, which UTF-7 can encode
            raise InputError(f"{self._path}: is not {self._codec}: {error.reason}") from error
