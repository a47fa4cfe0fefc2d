"""Opening a foreign file of any format as a source."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import Expected
from dcsvm_dask.readers.encoding import MARKED, decode_head, find_encoding, is_utf8
from dcsvm_dask.readers.files import read_head
from dcsvm_dask.readers.foreign import refuse_foreign_file
from dcsvm_dask.readers.numpy_files import NpySource, NpzSource, npz_parts
from dcsvm_dask.readers.pandas_index import index_columns
from dcsvm_dask.readers.parquet import ParquetSource
from dcsvm_dask.readers.preparing.cells import empty_words
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.json_lines import JsonLinesTable
from dcsvm_dask.readers.preparing.memory_tables import ParquetTable
from dcsvm_dask.readers.preparing.plain import is_plain_parquet, is_plain_text
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.source import Source
from dcsvm_dask.readers.svmlight import SvmlightSource
from dcsvm_dask.readers.table import TableSource
from dcsvm_dask.readers.titles import naming_line_of_label
from dcsvm_dask.readers.urls import is_url
from dcsvm_dask.readers.zarr_files import ZarrSource, zarr_parts

_MAGIC = (
    (b"PK\x03\x04", "npz"),
    (b"PK\x05\x06", "npz"),
    (b"\x93NUMPY", "npy"),
    (b"PAR1", "parquet"),
)
HEAD_BYTES = 1 << 16
_PAIRS = re.compile(r"^\s*[^\s:,;]+(\s+(qid:\d+|-?\d+:\S+))+\s*(#.*)?$")
_TABLES = (".csv", ".tsv")
_JSON = (".jsonl", ".ndjson", ".json")
_OBJECT = re.compile(r"\s*\{\s*(\"|\})")
_SVMLIGHT = (".svm", ".svmlight", ".libsvm")
_OF_COLUMNS = ("table", "jsonl", "parquet")
"""Formats whose columns may have names."""


def find_format(path: str, encoding: str | None = None) -> str:
    """Return the format of a file by its extension and its first bytes.

    Parameters
    ----------
    path : str
        Local path or URL.
    encoding : str, optional
        Encoding of text without a byte order mark; UTF-8 by default.

    Returns
    -------
    {"svmlight", "table", "jsonl", "npy", "npz", "parquet", "zarr"}

    Raises
    ------
    InputError
        If the file is missing, empty or of an unknown format.
    """
    base = path.lower().rstrip("/")
    if is_url(path):
        base = base.partition("?")[0]  # without the signature
    for ending in (".gz", ".bz2", ".xz"):
        base = base.removesuffix(ending)
    if base.endswith(".zarr") or (os.path.isdir(path) and not is_url(path)):  # noqa: PTH112
        return "zarr"
    head = read_head(path, HEAD_BYTES)
    if not head.strip():
        raise InputError(f"{path}: empty: it holds no rows")
    refuse_foreign_file(path, base, head)
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    for ending in (".npy", ".npz", ".parquet"):
        if base.endswith(ending):
            raise InputError(f"{path}: damaged: not a {ending} file by its first bytes")
    codec = find_encoding(head, encoding)
    if b"\0" in head and not codec.startswith(("utf-16", "utf-32")):
        raise InputError(
            f"{path}: neither text nor of a supported format (UTF-16 without a byte order "
            "mark needs --encoding utf-16-le or utf-16-be)"
        )
    if base.endswith(_TABLES):
        return "table"
    if base.endswith(_JSON) or _OBJECT.match(decode_head(head[:4096], codec, path, whole=False)):
        return "jsonl"
    if base.endswith(_SVMLIGHT):
        return "svmlight"
    lines = decode_head(head, codec, path, whole=len(head) < HEAD_BYTES).splitlines()
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    # A row may have no pairs, so one row with pairs is enough.
    pairs = any(_PAIRS.match(line) for line in rows[:50])
    return "svmlight" if pairs or (rows and _looks_cut(rows[0])) else "table"


def later_encoding(path: str, recorded: str | None) -> str | None:
    """Return the encoding of a later text without a mark: that of the training data.

    Parameters
    ----------
    path : str
        Local path or URL.
    recorded : str or None
        Encoding of the training data, where these are text.

    Raises
    ------
    InputError
        If the text is UTF-8 as it seems, and the training data are not: words would be others.
    """
    if recorded in (None, "utf-8", *MARKED):  # files in the latter have a mark
        return None
    if find_format(path, recorded) in ("table", "jsonl", "svmlight"):
        head = read_head(path, HEAD_BYTES)
        if not head.isascii() and find_encoding(head, recorded) == recorded and is_utf8(head):
            raise InputError(
                f"{path}: seems to be utf-8, but the training data are {recorded}: give --encoding "
                f"utf-8, or --encoding {recorded} where it is that (in Python encoding=)"
            )
    return recorded


def open_source(
    path: str | os.PathLike[str],
    *,
    part: str = "train",
    label: str | int | None = None,
    n_features: int | None = None,
    first_feature: int | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    expected: Expected | None = None,
    labelled: bool = True,
    drop: Sequence[str] = (),
    choices: Choices | None = None,
    data: str | None = None,
) -> Source:
    """Open a file as a source of rows and labels.

    Parameters
    ----------
    path : str or path
        svmlight / LIBSVM text, CSV or TSV (all plain or compressed by gzip, bzip2, xz), .npy, .npz,
        Parquet or a Zarr group; a local path or an fsspec URL.
    part : {"train", "test"}, default "train"
        Part of an archive.
    label : str or int, optional
        Name or position of the label: a column of a table, an array of an archive.
    n_features : int, optional
        Required number of features, where the columns have no names.
    first_feature : {0, 1}, optional
        For svmlight: the first index; see `SvmlightSource`.
    header : bool, optional
        For tables: whether the first line has names.
    encoding : str, optional
        Encoding of text without a byte order mark; UTF-8 by default.
    expected : Expected, optional
        Columns of the training table, for later rows; these may lack labels.
    labelled : bool, default True
        Whether to read labels of later rows.
    drop : sequence of str
        Names of columns of a table to leave out.
    choices : Choices, optional
        What is done with the columns of a training table that are not numbers.
    data : str, optional
        Name of the array of rows of an archive.

    Returns
    -------
    Source
        One with the method `learn`, to be called first, where its columns must be prepared.

    Raises
    ------
    InputError
        If the file is missing, empty or damaged, or does not fit the parameters.
    """
    text, choices = os.fspath(path), choices or Choices()
    kind = find_format(text, encoding)
    if part != "train" and part not in source_parts(text, encoding):
        raise InputError(f"{text}: has no {part} part")
    _refuse_unused(text, kind, drop, choices, data)
    if expected is None and n_features is not None:
        expected = Expected(n_features)
    source: Source
    if kind in _OF_COLUMNS:
        how = {"label": label, "expected": expected, "labelled": labelled, "drop": drop}
        source = _columns(text, kind, header, encoding, choices, **how)
        if isinstance(source, PreparedSource):  # it may not know its features yet
            return source
    elif kind == "svmlight":
        source = SvmlightSource(
            text, n_features=n_features, first_feature=first_feature, encoding=encoding
        )
    elif kind == "npy":
        source = NpySource(text, label=label, expected=expected)
    else:
        archive = NpzSource if kind == "npz" else ZarrSource
        source = archive(text, part=part, label=label, n_features=n_features, data=data)
    if n_features is not None and source.n_features != n_features:
        raise InputError(f"{text}: {source.n_features} features, but {n_features} are needed")
    return source


def _refuse_unused(
    path: str, kind: str, drop: Sequence[str], choices: Choices, data: str | None
) -> None:
    """Raise an error for what is given and is not for files of this format."""
    if kind not in _OF_COLUMNS:
        for word in (*(["drop"] if drop else ()), *choices.given):
            raise InputError(f"{path}: {word} cannot be used: its columns have no names")
    if data is not None and kind not in ("npz", "zarr"):
        raise InputError(f"{path}: data names an array of an archive, which this file is not")


def _columns(
    path: str,
    kind: str,
    header: bool | None,
    encoding: str | None,
    choices: Choices,
    **how: Any,
) -> Source:
    """Return a file of columns as a source, prepared where its columns must be made numbers."""
    if kind == "parquet":
        return _parquet(path, choices, **how)
    if kind == "jsonl":
        return PreparedSource(JsonLinesTable(path, encoding=encoding), choices=choices, **how)
    with naming_line_of_label(path, how["label"], encoding):
        prepared = _prepared_text(path, header, encoding, choices, **how)
        if prepared is not None:
            return prepared
        return TableSource(path, header=header, encoding=encoding, **how)


def _parquet(path: str, choices: Choices, **how: Any) -> Source:
    """Return a Parquet file as a source, without the columns that hold an index of pandas."""
    label, expected = how["label"], how["expected"]
    index: list[str] = []
    if expected is None or expected.names is None:
        named = {*choices.columns, *choices.named, *how["drop"]}
        index = index_columns(path, label=label, named=named)
        how["drop"] = [*how["drop"], *index]
    words = {"label": label, "drop": how["drop"], "expected": expected}
    source: Source
    if _must_prepare(choices, expected) or not is_plain_parquet(path, **words):
        source = PreparedSource(ParquetTable(path), choices=choices, **how)
    else:
        source = ParquetSource(path, **how)
    source.reading = replace(source.reading, index=tuple(index))
    return source


def _prepared_text(
    path: str, header: bool | None, encoding: str | None, choices: Choices, **how: Any
) -> PreparedSource | None:
    """Return delimited text whose columns must be made numbers as a source; None: other text."""
    expected = how["expected"]
    later = None if expected is None else expected.columns
    words = {"label": how["label"], "drop": how["drop"], "expected": expected}
    if not _must_prepare(choices, expected) and is_plain_text(path, header, encoding, **words):
        return None
    decimal, known, empty = choices.decimal, None, empty_words(choices.missing_words)
    if later is not None:
        decimal, known = later.decimal, later.inputs if later.has_names else None
        empty = later.empty_words
    table = CsvTable(
        path, header=header, encoding=encoding, decimal=decimal, known=known, missing_words=empty
    )
    return PreparedSource(table, choices=choices, **how)


def _must_prepare(choices: Choices, expected: Expected | None) -> bool:
    """Return whether columns are prepared, even if all of them are numbers."""
    return bool(choices.given) or (expected is not None and expected.columns is not None)


def source_parts(path: str, encoding: str | None = None) -> list[str]:
    """Return the parts of a file: train, and test if it is an archive that has it."""
    kind = find_format(path, encoding)
    if kind == "npz":
        return npz_parts(path)
    return zarr_parts(path) if kind == "zarr" else ["train"]


def _looks_cut(line: str) -> bool:
    """Return whether the beginning of a long first row is svmlight."""
    return bool(re.match(r"^\s*[^\s:,;]+\s+(qid:)?-?\d+:\S", line))
