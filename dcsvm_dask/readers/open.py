"""Opens a foreign file as a source, whatever its format."""

from __future__ import annotations

import os
import re

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.files import read_head
from dcsvm_dask.readers.numpy_files import NpySource, NpzSource, npz_parts
from dcsvm_dask.readers.parquet import ParquetSource
from dcsvm_dask.readers.source import Source
from dcsvm_dask.readers.svmlight import SvmlightSource
from dcsvm_dask.readers.table import TableSource
from dcsvm_dask.readers.urls import is_url
from dcsvm_dask.readers.zarr_files import ZarrSource, zarr_parts

FORMATS = ("svmlight", "table", "npy", "npz", "parquet", "zarr")

_MAGIC = (
    (b"PK\x03\x04", "npz"),
    (b"PK\x05\x06", "npz"),
    (b"\x93NUMPY", "npy"),
    (b"PAR1", "parquet"),
)
_PAIRS = re.compile(r"^\s*[^\s:,;]+(\s+(qid:\d+|-?\d+:\S+))+\s*(#.*)?$")
_TABLES = (".csv", ".tsv")
_SVMLIGHT = (".svm", ".svmlight", ".libsvm")


def find_format(path: str) -> str:
    """Return which of `FORMATS` a file has, by its ending and its first bytes.

    Raises
    ------
    InputError
        If the file is missing or empty.
    """
    base = path.lower().rstrip("/")
    if is_url(path):
        base = base.partition("?")[0]  # what signs it
    for ending in (".gz", ".bz2", ".xz"):
        base = base.removesuffix(ending)
    if base.endswith(".zarr") or (os.path.isdir(path) and not is_url(path)):  # noqa: PTH112
        return "zarr"
    head = read_head(path, 1 << 16)
    if not head.strip():
        raise InputError(f"{path}: empty: it holds no rows")
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    for ending in (".npy", ".npz", ".parquet"):
        if base.endswith(ending):
            raise InputError(f"{path}: damaged: not a {ending} file by its first bytes")
    if b"\0" in head:
        raise InputError(f"{path}: neither text nor a format that is known here")
    if base.endswith(_TABLES):
        return "table"
    if base.endswith(_SVMLIGHT):
        return "svmlight"
    lines = head.decode("utf-8-sig", "replace").splitlines()
    rows = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    # A row may have no pairs at all, so one that has them decides.
    pairs = any(_PAIRS.match(line) for line in rows[:50])
    return "svmlight" if pairs or (rows and _looks_cut(rows[0])) else "table"


def open_source(
    path: str | os.PathLike[str],
    *,
    part: str = "train",
    label: str | int | None = None,
    n_features: int | None = None,
    first_feature: int | None = None,
    header: bool | None = None,
) -> Source:
    """Open a file as a source of rows and labels.

    Parameters
    ----------
    path : str or path
        svmlight / LIBSVM text, CSV or TSV (all plain or packed by gzip, bzip2, xz), .npy, .npz,
        Parquet or a Zarr group; a local path or an fsspec URL.
    part : {"train", "test"}, default "train"
        Which part of an archive.
    label : str or int, optional
        Name or position of the label: a column of a table, an array of an archive.
    n_features : int, optional
        Number of features that rows have to have, for files that go to a model. Such files may
        lack labels.
    first_feature : int, optional
        For svmlight: whether indices count from 0 or from 1; see `SvmlightSource`.
    header : bool, optional
        For tables: whether the first line holds names.

    Raises
    ------
    InputError
        If the file is missing, empty, damaged or does not fit.
    """
    text = os.fspath(path)
    kind = find_format(text)
    if part != "train" and part not in source_parts(text):
        raise InputError(f"{text}: has no {part} part")
    source: Source
    if kind == "svmlight":
        source = SvmlightSource(text, n_features=n_features, first_feature=first_feature)
    elif kind == "table":
        source = TableSource(text, label=label, n_features=n_features, header=header)
    elif kind == "npy":
        source = NpySource(text, label=label, n_features=n_features)
    elif kind == "npz":
        source = NpzSource(text, part=part, label=label, n_features=n_features)
    elif kind == "parquet":
        source = ParquetSource(text, label=label, n_features=n_features)
    else:
        source = ZarrSource(text, part=part, label=label, n_features=n_features)
    if n_features is not None and source.n_features != n_features:
        raise InputError(f"{text}: {source.n_features} features, but {n_features} are needed")
    return source


def source_parts(path: str) -> list[str]:
    """Return the parts of a file: train, and test if it is an archive that has it."""
    kind = find_format(path)
    if kind == "npz":
        return npz_parts(path)
    return zarr_parts(path) if kind == "zarr" else ["train"]


def _looks_cut(line: str) -> bool:
    """Whether a first row longer than what was looked at starts as svmlight does."""
    return bool(re.match(r"^\s*[^\s:,;]+\s+(qid:)?-?\d+:\S", line))
