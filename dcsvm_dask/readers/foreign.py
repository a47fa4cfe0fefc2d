"""Files of other programs that are not read, each with what to do instead."""

from __future__ import annotations

import re

from dcsvm_dask.errors import InputError

_MEMBER = b"PK\x03\x04"
"""Begin of a member of a zip archive; 22 bytes later is the length of its name."""
_AS_CSV = (
    "save the sheet as CSV, or in Python give dcsvm_dask.ingest the frame of pandas.read_excel"
)
_AS_FRAME = "in Python give dcsvm_dask.ingest the frame of pandas.{}, or write it as Parquet"
_SHEET = f"is a spreadsheet: {_AS_CSV}"
_NUMBERS = "is a spreadsheet of Numbers: export it as CSV there"
_ZIP = "is a zip archive: unpack it, and give the file in it"
_ARFF = "is an ARFF file: write its rows as CSV (scipy.io.arff reads it)"
_RELATION = re.compile(rb"(\s*%[^\n]*\n|\s*\n)*\s*@relation\b", re.IGNORECASE)
"""Begin of an ARFF file, perhaps after comments."""
_MARKUP = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*<(!doctype\s+html|\w+)\b"
    rb"(?!>\s*[,;\t|])",
    re.I | re.S,
)
"""Begin of a page or document of marks, with its first one, after declarations and comments. Names
of columns may be in such brackets, too: <DATE>,<OPEN>."""
_PAGE = "is a web page: save the table that it shows as CSV"
_TEXTS = f"{_PAGE}; where it is a table of texts with such marks, begin it with a line of names"
_PAGE_MARKS = (b"html", b"head", b"body", b"table", b"meta", b"div", b"p", b"script", b"style")
_BINARY_SHEETS = (b"\xd0\xcf\x11\xe0", _MEMBER)
_ENDINGS = {
    (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"): _SHEET,
    (".numbers",): _NUMBERS,
    (".zip",): _ZIP,
    (".7z", ".rar", ".tar", ".tgz"): "is an archive: unpack it, and give the file in it",
    (".sas7bdat", ".xpt"): f"is a SAS file: {_AS_FRAME.format('read_sas')}",
    (".dta",): f"is a Stata file: {_AS_FRAME.format('read_stata')}",
    (".zst", ".lz4", ".br"): "is compressed in a way that is not read: use gzip, bzip2 or xz",
}
_MAGIC = {
    b"\xd0\xcf\x11\xe0": f"is an old Excel file: {_AS_CSV}",
    b"ARROW1": "is an Arrow (Feather) file: write it as Parquet (to_parquet), or give the frame of "
    "pandas.read_feather in Python",
    b"ORC": "is an ORC file: write it as Parquet",
    b"\x89HDF": "is an HDF5 file: write its table as Parquet, or its arrays by numpy.savez",
    b"SQLite format 3": "is a database: write the table as CSV or Parquet",
    b"\x80\x04\x95": "is a pickle, which may run code when it is read: write it as Parquet or CSV",
    b"\x80\x05\x95": "is a pickle, which may run code when it is read: write it as Parquet or CSV",
    b"MATLAB": "is a MATLAB file: in Python give dcsvm_dask.ingest the arrays of scipy.io.loadmat, "
    "or save them by numpy.savez",
    b"<stata_dta>": f"is a Stata file: {_AS_FRAME.format('read_stata')}",
    b"$FL2": f"is an SPSS file: {_AS_FRAME.format('read_spss')}",
    b"%PDF": "is a PDF document: write its table as CSV",
    b"\x89PNG": "is a picture: give a table of numbers, such as its pixels in an .npz file",
    b"\xff\xd8\xff": "is a picture: give a table of numbers, such as its pixels in an .npz file",
}


def refuse_foreign_file(path: str, base: str, head: bytes) -> None:
    """Refuse a file of a known format that is not read.

    Parameters
    ----------
    path : str
        For the message.
    base : str
        Its name in lower case, without the ending of a compression.
    head : bytes
        Its first bytes.

    Raises
    ------
    InputError
        With what to do instead.
    """
    marked = _kind_of_markup(head)
    if marked is not None:
        raise InputError(f"{path}: {marked}")
    for endings, problem in _ENDINGS.items():
        if base.endswith(endings):
            if problem == _SHEET and _is_text(head):
                problem = "is text, but has the name of a spreadsheet: rename it to .csv"
            raise InputError(f"{path}: {problem}")
    in_zip = None if base.endswith(".npz") else _kind_of_zip(head)
    if in_zip is not None:
        raise InputError(f"{path}: {in_zip}")
    if _RELATION.match(head):
        raise InputError(f"{path}: {_ARFF}")
    for magic, problem in _MAGIC.items():
        if head.startswith(magic):
            raise InputError(f"{path}: {problem}")


def _kind_of_markup(head: bytes) -> str | None:
    """Return what a file of HTML or XML is, by its first mark; None of other files.

    So is a pointer that stands for a file of any name.
    """
    if head.startswith(b"version https://git-lfs"):
        return "is a pointer of Git LFS, not the file itself: fetch that by git lfs pull"
    found = _MARKUP.match(head)
    if found is None:
        return None
    mark = found[1].lower()
    if mark.startswith(b"!doctype") or mark in _PAGE_MARKS:
        return _TEXTS if mark in (b"p", b"div") else _PAGE
    if mark == b"workbook":
        return _SHEET
    return f"is an XML file: {_AS_FRAME.format('read_xml')}" if b"<?xml" in found[0] else None


def _is_text(head: bytes) -> bool:
    """Return whether a file is text: not the binary form or the archive of a spreadsheet."""
    return not head.startswith(_BINARY_SHEETS) and b"\0" not in head


def _kind_of_zip(head: bytes) -> str | None:
    """Return what a zip archive is, by the names at its beginning; None of other files.

    The sheets of Excel, LibreOffice and Numbers are zip archives, and so are those of NumPy.
    """
    if not head.startswith(_MEMBER):
        return None
    places = [found.start() for found in re.finditer(re.escape(_MEMBER), head)]
    sizes = [int.from_bytes(head[k + 26 : k + 28], "little") for k in places]
    names = [head[k + 30 : k + 30 + size] for k, size in zip(places, sizes, strict=True)]
    if any(name.startswith(b"xl/") for name in names):
        return _SHEET
    if names[0] == b"mimetype" and b"opendocument.spreadsheet" in head[:200]:
        return _SHEET
    if any(name.endswith(b".iwa") for name in names):
        return _NUMBERS
    return None if any(name.endswith(b".npy") for name in names) else _ZIP
