"""Writing predictions to a Zarr group.

A group is many files, so an existing one cannot be replaced at once. Locally two renames
replace it: a kill between them leaves the old group under ``.NAME.ID-old`` and the new one under
``.NAME.ID``. On an object store the old group is deleted once the new one is complete on local
disk; while that is uploaded, its metadata last, there is no group.
"""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import zarr

from dcsvm_dask.storage.files import sync_folder
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.prediction_writer import PREDICTION, Codes, PredictionWriter, Vector
from dcsvm_dask.storage.rows.write import ArrayWriter

ZARR_CHUNK_ROWS = 1 << 17
UPLOADS = 8
"""Concurrent uploads of objects."""


class ZarrWriter(PredictionWriter):
    """A writer of a Zarr group with the arrays ``label`` and ``decision``, or ``prediction``."""

    _temporary: Location | None = None

    def open(self) -> None:
        """Begin the arrays."""
        temporary = self._temporary = Location.of(self.temporary())
        chunk = ZARR_CHUNK_ROWS
        if self.labels.dtype.kind == "U":  # Zarr 3 has no stable type of fixed-width strings
            self.labels = self.labels.astype(np.dtypes.StringDType())
        self._label: ArrayWriter | None = None
        if self.has_classes:
            self._label = ArrayWriter(temporary / "label", (), self.labels.dtype, chunk)
        name = "decision" if self.has_classes else PREDICTION
        shape = () if self.width is None else (self.width,)
        self._decision = ArrayWriter(temporary / name, shape, np.float64, chunk)

    def add(self, codes: Codes | None, values: Vector) -> None:
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
