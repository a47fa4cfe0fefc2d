"""Writing predictions to a CSV, NumPy, Parquet or Zarr file, whole or not at all.

A row has a label, and one decision value for two classes, one for each class for more. Without
classes it has the predicted target alone, or one for each of several quantiles.

Rows are written to a temporary file beside the target and renamed at the end; for an object
store, to a temporary local file that is uploaded by one PUT.

A Zarr group is many files, so an existing one cannot be replaced at once. Locally two renames
replace it: a kill between them leaves the old group under ``.NAME.ID-old`` and the new one under
``.NAME.ID``. On an object store the old group is deleted once the new one is complete on local
disk; while that is uploaded, its metadata last, there is no group.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import os
import shutil
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.kept import KeptColumns
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.storage.files import sync_folder
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.outputs import exists_already, output, refuse_inside
from dcsvm_dask.storage.rows.write import ArrayWriter

Codes = NDArray[np.int32]
Vector = NDArray[np.float64]

ZARR_CHUNK_ROWS = 1 << 17
PREDICTION = "prediction"
"""Name of the column of predicted targets."""
UPLOADS = 8
"""Concurrent uploads of objects."""


class PredictionWriter(ABC):
    """Writes predictions block by block; the context publishes them at its end.

    Parameters
    ----------
    target : Location
        The place of the predictions; older predictions there are replaced.
    classes : list of labels
        The label of each code; empty where targets are predicted.
    outputs : sequence of str
        Names of the predicted targets of a row; empty: there is one.
    """

    def __init__(self, target: Location, classes: list[Label], outputs: Sequence[str] = ()) -> None:
        self.target = target
        self.has_classes = bool(classes)
        self.labels = label_array(classes)
        self.outputs = list(outputs)
        self.width = len(classes) if len(classes) > 2 else len(outputs) or None
        """Values of a row; None: there is one, as of two classes."""

    def columns(self) -> list[str]:
        """Return the names of the columns of decision values, or of predicted targets."""
        if not self.has_classes:
            return [f"{PREDICTION}_{name}" for name in self.outputs] or [PREDICTION]
        if self.width is None:
            return ["decision"]
        return [f"decision_{label}" for label in self.labels.tolist()]

    @abstractmethod
    def open(self) -> None:
        """Begin under a temporary name."""

    @abstractmethod
    def append(self, codes: Codes | None, values: Vector) -> None:
        """Add rows at the end: codes of their labels, where there are classes, and values."""

    @abstractmethod
    def publish(self) -> None:
        """Finish, and move the file to its target."""

    @abstractmethod
    def discard(self) -> None:
        """Delete the temporary file."""

    def __enter__(self) -> PredictionWriter:
        try:
            self.open()
        except BaseException:
            self.discard()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.discard()
            return
        try:
            self.publish()
        except BaseException:
            self.discard()
            raise


class FileWriter(PredictionWriter):
    """A writer of one file."""

    _file: Any = None
    _path: Path

    def open(self) -> None:
        """Open the temporary file."""
        if self.target.is_local:
            target = Path(self.target.url)
            target.parent.mkdir(parents=True, exist_ok=True)
            self._path = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        else:
            self._path = Path(tempfile.gettempdir()) / f"dcsvm-{uuid.uuid4().hex}"
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

    def append(self, codes: Codes | None, values: Vector) -> None:
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

    def append(self, codes: Codes | None, values: Vector) -> None:
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

    def append(self, codes: Codes | None, values: Vector) -> None:
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
            self._parquet.close()
        super().discard()


class ZarrWriter(PredictionWriter):
    """A writer of a Zarr group with the arrays ``label`` and ``decision``, or ``prediction``."""

    _temporary: Location | None = None

    def open(self) -> None:
        """Begin the arrays."""
        if self.target.is_local:
            temporary = self.target.parent / f".{self.target.name}.{uuid.uuid4().hex}"
        else:
            temporary = Location.of(tempfile.gettempdir()) / f"dcsvm-{uuid.uuid4().hex}"
        self._temporary = temporary
        chunk = ZARR_CHUNK_ROWS
        if self.labels.dtype.kind == "U":  # Zarr 3 has no stable type of fixed-width strings
            self.labels = self.labels.astype(np.dtypes.StringDType())
        self._label: ArrayWriter | None = None
        if self.has_classes:
            self._label = ArrayWriter(temporary / "label", (), self.labels.dtype, chunk)
        name = "decision" if self.has_classes else PREDICTION
        shape = () if self.width is None else (self.width,)
        self._decision = ArrayWriter(temporary / name, shape, np.float64, chunk)

    def append(self, codes: Codes | None, values: Vector) -> None:
        """Add rows at the end."""
        if self._label is not None:
            self._label.append(self.labels[codes])
        self._decision.append(values)

    def publish(self) -> None:
        """Complete the group and move it to its target."""
        assert self._temporary is not None
        if self._label is not None:
            self._label.close()
        self._decision.close()
        zarr.create_group(self._temporary.store())
        if self.target.is_local:
            self._temporary.sync()
            _swap(Path(self._temporary.url), Path(self.target.url))
        else:
            _upload(self._temporary, self.target)
            self._temporary.delete()

    def discard(self) -> None:
        """Delete the temporary group."""
        if self._temporary is not None:
            self._temporary.delete()


def _swap(temporary: Path, target: Path) -> None:
    """Replace a local folder by another one."""
    old = temporary.with_name(f"{temporary.name}-old")
    if target.exists():
        target.rename(old)
    try:
        temporary.rename(target)
    except BaseException:
        if old.exists():
            old.rename(target)
        raise
    sync_folder(target.parent)
    shutil.rmtree(old, ignore_errors=True)


def _upload(temporary: Location, target: Location) -> None:
    """Replace a group on an object store by a local one."""
    metadata = target / "zarr.json"
    # The group's metadata is deleted first, so that no mixture of old and new opens.
    metadata.delete()
    target.delete()
    keys = set(temporary.keys()) - {metadata.name}
    with ThreadPoolExecutor(UPLOADS) as pool:
        for _ in pool.map(lambda key: _copy(temporary / key, target / key), keys):
            pass
    _copy(temporary / metadata.name, metadata)


def _copy(source: Location, target: Location) -> None:
    target.upload(Path(source.url))


_WRITERS: dict[str, type[PredictionWriter]] = {
    ".csv": CsvWriter,
    ".npy": NpyWriter,
    ".parquet": ParquetWriter,
    ".zarr": ZarrWriter,
}


def open_predictions(
    out: str | os.PathLike[str] | Location,
    classes: list[Label],
    outputs: Sequence[str] = (),
    *,
    overwrite: bool = False,
    kept: KeptColumns | None = None,
) -> PredictionWriter:
    """Return a writer of predictions; nothing is written before its context is entered.

    Parameters
    ----------
    out : str, path or Location
        The extension selects the format: ``.csv`` (header ``label,decision``, of more than two
        classes ``label,decision_A,decision_B,...``), ``.npy`` (a structured array), ``.parquet``
        (columns as in CSV) or ``.zarr`` (a group of two arrays). Without classes there is one
        column, field or array ``prediction``; with `outputs` a column ``prediction_NAME`` of text
        and Parquet for each, and of the field or array.
    classes : list of labels
        The label of each code; empty where targets are predicted.
    outputs : sequence of str, optional
        Names of the predicted targets of a row where there are several.
    overwrite : bool, default False
        Whether existing predictions are replaced, once the new ones are complete.
    kept : KeptColumns, optional
        Columns of the table that stand first in CSV.

    Returns
    -------
    PredictionWriter

    Raises
    ------
    InputError
        If the extension is none of these, columns are kept in another format than CSV,
        a package is missing, a file exists, or the place is inside a run or a data set.
    """
    target = Location.of(out, writable=True)
    extension = os.path.splitext(target.name)[1].lower()  # noqa: PTH122 - may be a URL
    writer = _WRITERS.get(extension)
    if writer is None:
        raise InputError(
            f"out: {target.name!r} has the extension {extension!r}; "
            f"give one of {', '.join(_WRITERS)}"
        )
    if writer is ParquetWriter and importlib.util.find_spec("pyarrow") is None:
        raise InputError("out: .parquet needs pyarrow: pip install pyarrow")
    if kept is not None and writer is not CsvWriter:
        raise InputError(
            f"keep: is for predictions in CSV, not in {extension}; give --out FILE.csv"
        )
    # Check the target now rather than after predicting.
    if writer is not ZarrWriter:
        output(target, overwrite=overwrite)
        made = writer(target, classes, outputs)
        if isinstance(made, CsvWriter) and kept is not None:
            both = set(kept.names) & {"label", *made.columns()}
            if both:
                raise InputError(
                    f"keep: predictions have a column {min(both)!r}, too; rename that of the table"
                )
            made.kept = kept
        return made
    refuse_inside(target)
    if target.exists():
        if not _is_predictions(target):
            raise InputError(f"out: {target} holds something that is not predictions; remove it")
        if not overwrite:
            raise exists_already(target)
    return writer(target, classes, outputs)


def label_array(classes: list[Label]) -> NDArray[Any]:
    """Return class labels as an array: bool, int64, float64, or strings where none holds all."""
    if classes and all(isinstance(c, bool) for c in classes):
        return np.array(classes, dtype=np.bool_)
    if all(isinstance(c, int) and -(2**63) <= c < 2**63 for c in classes):
        return np.array(classes, dtype=np.int64)
    if not any(isinstance(c, str) for c in classes):
        values = np.array([float(c) for c in classes])
        if values.tolist() == classes:  # whole numbers above 2^53 may have no float
            return values
    return np.array([str(c) for c in classes])


def _is_predictions(place: Location) -> bool:
    names, arrays = set(place.list()), {"label", "decision", PREDICTION}
    # An interrupted upload may leave one array.
    return bool(names & arrays) and names <= arrays | {"zarr.json"}


def _quoted(cell: str) -> str:
    """Return a cell of CSV, as `_csv_cell` does, for many."""
    if any(mark in cell for mark in ',"\r\n'):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _csv_cell(label: Any) -> str:
    cell = io.StringIO()
    csv.writer(cell, lineterminator="").writerow([label])
    return cell.getvalue()
