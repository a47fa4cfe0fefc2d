"""Writing predictions to a CSV, NumPy or Parquet file, whole or not at all.

Rows are written to a temporary file beside the target and renamed at the end; for an object
store, to a temporary local file that is uploaded by one PUT.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from dcsvm_dask.readers.kept import KeptColumns
from dcsvm_dask.storage.files import sync_folder
from dcsvm_dask.storage.prediction_writer import PREDICTION, Codes, PredictionWriter, Vector


class FileWriter(PredictionWriter):
    """A writer of one file."""

    _file: Any = None
    _path: Path

    def open(self) -> None:
        """Open the temporary file."""
        if self.target.is_local:
            Path(self.target.url).parent.mkdir(parents=True, exist_ok=True)
        self._path = self.temporary()
        self._file = self._path.open("xb")
        self.begin(self._file)

    def begin(self, file: Any) -> None:
        """Write the part before the rows."""

    def end(self, file: Any) -> None:
        """Write the part after the rows."""

    def publish(self) -> None:
        """Rename or upload the file."""
        self.end(self._file)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if self.target.is_local:
            self._path.replace(self.target.url)
            sync_folder(self._path.parent)
            return
        self.target.upload(self._path)
        self._path.unlink()

    def discard(self) -> None:
        """Remove the temporary file."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):  # a full disk refuses what is left to write
            self._file.close()
        self._path.unlink(missing_ok=True)


class CsvWriter(FileWriter):
    """A writer of ``label,decision``, or ``prediction``, behind columns of the table that are kept.

    Values have the shortest decimals that restore them.
    """

    kept: KeptColumns | None = None

    def begin(self, file: Any) -> None:
        """Write the header."""
        labels = ["label"] if self.has_classes else []
        kept = [] if self.kept is None else self.kept.names
        names = ",".join(_csv_cell(name) for name in [*kept, *labels, *self.columns()])
        file.write(f"{names}\n".encode())
        self._names = [_csv_cell(label) for label in self.labels.tolist()]

    def add(self, codes: Codes | None, values: Vector) -> None:
        """Add rows at the end."""
        names = self._names
        if self.width is None:
            texts = [repr(value) for value in values.tolist()]
        else:
            texts = [",".join(map(repr, row)) for row in values.tolist()]
        if codes is None:
            lines = [f"{text}\n" for text in texts]
        else:
            pairs = zip(codes.tolist(), texts, strict=True)
            lines = [f"{names[code]},{text}\n" for code, text in pairs]
        if self.kept is not None:
            cells = self.kept.take(len(lines))
            rows = zip(cells, lines, strict=True)
            lines = [",".join([*map(_quoted, kept), line]) for kept, line in rows]
        self._file.write("".join(lines).encode())

    def end(self, file: Any) -> None:  # noqa: ARG002 - CSV has no end
        """Check that all rows have predictions."""
        if self.kept is not None:
            self.kept.finish()


class NpyWriter(FileWriter):
    """A writer of a structured array with the fields ``label`` and ``decision``.

    Without classes its field is ``prediction``.
    """

    def begin(self, file: Any) -> None:
        """Write a header with room for the number of rows."""
        shape = () if self.width is None else (self.width,)
        fields: list[Any] = [(PREDICTION, np.float64, shape)]
        if self.has_classes:
            fields = [("label", self.labels.dtype), ("decision", np.float64, shape)]
        self._dtype = np.dtype(fields)
        self._n_rows = 0
        self._write_header(file)

    def add(self, codes: Codes | None, values: Vector) -> None:
        """Add rows at the end."""
        rows = np.empty(len(values), self._dtype)
        if codes is None:
            rows[PREDICTION] = values
        else:
            rows["label"], rows["decision"] = self.labels[codes], values
        self._file.write(rows.tobytes())
        self._n_rows += len(values)

    def end(self, file: Any) -> None:
        """Write the header again; NumPy pads it so that its length does not change."""
        file.seek(0)
        self._write_header(file)

    def _write_header(self, file: Any) -> None:
        np.lib.format.write_array_header_1_0(
            file,
            {
                "descr": np.lib.format.dtype_to_descr(self._dtype),
                "fortran_order": False,
                "shape": (self._n_rows,),
            },
        )


class ParquetWriter(FileWriter):
    """A writer of the columns ``label`` and ``decision``, or ``prediction``; needs pyarrow."""

    _parquet: Any = None

    def begin(self, file: Any) -> None:
        """Write the schema."""
        import pyarrow as pa
        from pyarrow import parquet

        self._pa = pa
        kind = (
            pa.string() if self.labels.dtype.kind == "U" else pa.from_numpy_dtype(self.labels.dtype)
        )
        decisions = [(name, pa.float64()) for name in self.columns()]
        labels = [("label", kind)] if self.has_classes else []
        self._schema = pa.schema([*labels, *decisions])
        self._parquet = parquet.ParquetWriter(file, self._schema)

    def add(self, codes: Codes | None, values: Vector) -> None:
        """Add a row group."""
        pa = self._pa
        columns = [pa.array(column) for column in values.reshape(len(values), -1).T]
        if codes is not None:
            labels = pa.array(self.labels.tolist(), self._schema.field("label").type)
            columns = [labels.take(pa.array(codes)), *columns]
        self._parquet.write_batch(pa.record_batch(columns, schema=self._schema))

    def end(self, file: Any) -> None:  # noqa: ARG002 - pyarrow has it
        """Write the footer."""
        self._parquet.close()

    def discard(self) -> None:
        """Remove the temporary file."""
        if self._parquet is not None:
            with contextlib.suppress(OSError):
                self._parquet.close()
        super().discard()


def _quoted(cell: str) -> str:
    """Return a cell of CSV, as `_csv_cell` does, for many."""
    if any(mark in cell for mark in ',"\r\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _csv_cell(label: Any) -> str:
    cell = io.StringIO()
    csv.writer(cell, lineterminator="").writerow([label])
    return cell.getvalue()
