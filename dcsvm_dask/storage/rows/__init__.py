"""Rows of a data set on disk: the names for other rooms."""

from __future__ import annotations

from dcsvm_dask.storage.rows.read import ConcatRows, RowArray, RowReader, open_rows
from dcsvm_dask.storage.rows.write import RowWriter, write_rows

__all__ = ["ConcatRows", "RowArray", "RowReader", "RowWriter", "open_rows", "write_rows"]
