"""A labelled data set in Zarr: its parts, classes, scaling and fingerprint.

Layout below ``DATA.zarr``::

    dataset.json                     written last; without it there is no data set
    parts-ATTEMPT/checksums.json     of every object of the attempt; its own is in dataset.json
    parts-ATTEMPT/train/rows/...     rows, see rows/read.py
    parts-ATTEMPT/train/codes        int32 (n,): index into the classes
    parts-ATTEMPT/train/targets      float64 (n,): instead of codes, for regression; labels +1 and
                                     -1 (0: none) for a one-class SVM
    parts-ATTEMPT/train/hashes       uint64 (n, 2): see hashing.py
    parts-ATTEMPT/train/weights      float64 (n,): positive factors of C, where rows have weights
    parts-ATTEMPT/test/...           the same, where there is a test part
    parts-ATTEMPT/scaling/...        float64 (d,): offset, factor

Arrays are below the name of the attempt that wrote them, so that a data set stays complete until
its replacement is.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.readers.preparing.preparation import ColumnPreparation
from dcsvm_dask.readers.scaling import KINDS, Scaling
from dcsvm_dask.storage.arrays import Form, read_array
from dcsvm_dask.storage.checksums import Checksums, read_checksums
from dcsvm_dask.storage.dataset_commit import (
    ATTEMPT,
    CHECKSUMS,
    COMMIT,
    PARTS,
    VERSION,
    VERSION_OF_ONE_CLASS,
    VERSION_OF_TARGETS,
    are_labels,
    require_data_set,
)
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.rows.read import RowArray, open_rows
from dcsvm_dask.tasks import Quantile

CODES_ROWS = 1 << 20
"""Rows whose codes or weights are read at a time."""


@dataclass(frozen=True)
class DataSet:
    """A part of a data set, opened by `DataSet.open`.

    Attributes
    ----------
    place : Location
        The data set.
    part : str
        "train" or "test".
    parts : list of str
        Parts of the data set.
    rows : RowArray
        Scaled rows.
    n_rows, n_features, chunk_rows : int
    is_sparse : bool
    classes : list of int, float or str
        Original labels in order; of two, the last is the positive class (+1). Empty where the rows
        have targets.
    counts : list of int
        Rows of each class in this part.
    targets : dict or None
        ``least``, ``most``, ``mean`` and ``std`` of this part's targets; None if rows have classes.
    one_class : bool
        Whether targets are the labels of a one-class SVM, which only score: +1, -1, 0 where there
        is none.
    quantiles : bool
        Whether targets were ingested to learn quantiles of them.
    n_distinct : int
        Rows that differ in x or in y; for a one-class SVM in x.
    weights : dict or None
        ``least``, ``most`` and ``sum`` of the weights; None if rows have none.
    fingerprint : str
        Hash over rows, codes, weights, classes and number of features; not of the chunks.
    scaling : Scaling or None
        Scaling of the rows, to be applied to new rows.
    scaling_reason : str
        Why that scaling, or none, was chosen; empty where it was given.
    source : str
        Source of the part.
    positive : list or None
        Labels of the source that were joined into the class +1.
    feature_names : list of str or None
    columns : ColumnPreparation or None
        How the features were made of the columns of a table.
    reading : dict
        How the source was read, for raw files of the same kind: the fields of `Reading`, header
        as it was given, first_feature.
    ranges : list of [float, float]
        The least and the greatest unscaled value of the first features.
    largest : (int, int, float) or None
        The row, the feature and the value that is largest in size; None: it is not known.
    dropped : dict
        Rows that were read and are in no part: ``weight_0`` and ``train_rows``.
    warnings : list of str
        Warnings of its ingest.
    made_with : dict
        Parameters of its ingest; see `made_with`.
    """

    place: Location
    part: str
    parts: list[str]
    rows: RowArray
    classes: list[Label]
    counts: list[int]
    targets: dict[str, float] | None
    one_class: bool
    quantiles: bool
    n_distinct: int
    weights: dict[str, float] | None
    fingerprint: str
    scaling: Scaling | None
    scaling_reason: str
    source: str
    positive: list[Label] | None
    feature_names: list[str] | None
    columns: ColumnPreparation | None
    reading: dict[str, Any]
    made_with: dict[str, Any]
    ranges: list[list[float]]
    largest: tuple[int, int, float] | None
    dropped: dict[str, int]
    warnings: list[str]
    attempt: str
    checksums: Checksums

    @classmethod
    def open(cls, place: str | os.PathLike[str] | Location) -> DataSet:
        """Open a data set, or one part of it.

        Parameters
        ----------
        place : str, path or Location
            ``DATA.zarr`` (its training part), ``DATA.zarr/train`` or ``DATA.zarr/test``; local
            or an fsspec URL.

        Returns
        -------
        DataSet

        Raises
        ------
        InputError
            If there is no such data set or part, or it is damaged or no data set.
        """
        if not isinstance(place, str | os.PathLike | Location):
            raise InputError(
                f"a data set must be given by its path, got {type(place).__module__}."
                f"{type(place).__name__}; make one of rows by `dcsvm_dask.ingest`"
            )
        root, part, meta = require_data_set(Location.of(place))
        try:
            found = cls._of_commit(root, part, meta)
            wrong = found._contradiction(meta)
        except InputError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise InputError(f"{root}: damaged: {COMMIT} lacks values ({error!r:.200})") from error
        if wrong is not None:
            raise InputError(f"{root}: damaged: {COMMIT}: {wrong}")
        return found

    @classmethod
    def _of_commit(cls, root: Location, part: str, meta: dict[str, Any]) -> DataSet:
        """Return a part of a data set as its commit object describes it."""
        if meta["version"] not in (VERSION, VERSION_OF_TARGETS, VERSION_OF_ONE_CLASS):
            raise InputError(
                f"{root}: a data set of version {meta['version']}, this dcsvm reads {VERSION} "
                f"to {VERSION_OF_ONE_CLASS}; ingest its source again"
            )
        if part not in meta["parts"]:
            raise InputError(f"{root}: this data set has no part {part!r}")
        if not re.fullmatch(ATTEMPT, meta["attempt"]):
            raise InputError(f"{root}: damaged: {COMMIT}: attempt {meta['attempt']!r:.80}")
        base = root / meta["attempt"]
        size, crc = map(int, meta["checksums"])
        checksums = read_checksums(base, CHECKSUMS, size, crc)
        about = meta["parts"][part]
        return cls(
            place=root,
            part=part,
            parts=[p for p in PARTS if p in meta["parts"]],
            rows=open_rows(base / part / "rows", checksums.below(f"{part}/rows")),
            classes=list(meta["classes"]),
            counts=[int(c) for c in about["counts"]],
            targets=_statistics(about.get("targets")),
            one_class=meta["version"] == VERSION_OF_ONE_CLASS,
            quantiles=meta.get("task") == Quantile.name,
            n_distinct=int(about["n_distinct"]),
            weights=about.get("weights"),
            fingerprint=str(about["fingerprint"]),
            scaling=_read_scaling(root, meta, checksums),
            scaling_reason=str(meta.get("scaling_reason", "")),
            source=str(about["source"]),
            positive=meta["positive"],
            feature_names=meta["feature_names"],
            columns=ColumnPreparation.from_json(meta.get("columns")),
            reading=dict(meta["reading"]),
            made_with=dict(meta.get("made_with", {})),
            ranges=[[float(low), float(high)] for low, high in meta.get("ranges", [])],
            largest=_largest(about.get("largest")),
            dropped={str(k): int(v) for k, v in meta.get("dropped", {}).items()},
            warnings=[str(text) for text in meta.get("warnings", [])],
            attempt=str(meta["attempt"]),
            checksums=checksums.below(part),
        )

    def _contradiction(self, meta: dict[str, Any]) -> str | None:
        """Return the first invalid or contradictory value of the commit object; else None."""
        names = self.feature_names
        checks = {
            "n_features": meta["n_features"] == self.n_features,
            "sparse": meta["sparse"] is self.is_sparse,
            "chunk_rows": meta["chunk_rows"] == self.chunk_rows,
            "version": (meta["version"] > VERSION) is (self.targets is not None),
            "classes": are_labels(meta["classes"])
            and len(set(self.classes)) == len(self.classes)
            and bool(self.classes) is (self.targets is None),
            "counts": len(self.counts) == len(self.classes)
            and min(self.counts, default=0) >= 0
            and (sum(self.counts) == self.n_rows or self.targets is not None),
            "n_distinct": 0 <= self.n_distinct <= self.n_rows,
            "weights": self.weights is None or self.weights["least"] > 0,
            "positive": meta["positive"] is None or are_labels(meta["positive"]),
            "feature_names": names is None
            or (len(names) == self.n_features and all(isinstance(n, str) for n in names)),
            "columns": self.columns is None or len(self.columns.features) == self.n_features,
            "scaling": self.scaling is None or self.scaling.kind in KINDS,
            "reading": isinstance(self.reading.get("label"), str | int | None)
            and self.reading.get("header") in (None, False, True)
            and self.reading.get("first_feature") in (None, 0, 1)
            and isinstance(self.reading.get("position"), int | None)
            and all(
                isinstance(self.reading.get(key), str | None)
                for key in ("format", "separator", "encoding", "target_form")
            ),
            "ranges": len(self.ranges) <= self.n_features,
            "largest": self.largest is None
            or (
                0 <= self.largest[0] < self.n_rows
                and 0 <= self.largest[1] < self.n_features
                and math.isfinite(self.largest[2])
            ),
        }
        return next((f"{key} is impossible" for key, holds in checks.items() if not holds), None)

    @property
    def task(self) -> str:
        """The usual task of its rows."""
        if self.one_class:
            return "one-class"
        if self.quantiles:
            return Quantile.name
        return "classification" if self.targets is None else "regression"

    @property
    def labels_text(self) -> str | None:
        """Labels of a one-class SVM and their rows, in words; None for other data."""
        if not self.one_class or self.targets is None:
            return None
        if self.targets["least"] == self.targets["most"] == 0.0:
            return "none"
        positive = round(0.5 * (1.0 + self.targets["mean"]) * self.n_rows)
        return f"+1: {positive:,} rows, -1: {self.n_rows - positive:,} rows"

    @property
    def url(self) -> str:
        """Address of this part, for `open`."""
        return f"{self.place}/{self.part}"

    def __fspath__(self) -> str:
        """Return the address of this part, so that a data set can be given where its path can."""
        return self.url

    @property
    def n_rows(self) -> int:
        """Number of rows of this part."""
        return self.rows.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.n_features

    @property
    def is_sparse(self) -> bool:
        """Whether rows are stored, and read, as CSR."""
        return self.rows.is_sparse

    @property
    def chunk_rows(self) -> int:
        """Rows of a chunk."""
        return self.rows.chunk_rows

    def read_y(self, start: int, stop: int) -> NDArray[Any]:
        """Return y of the rows start:stop: codes (int32), or targets (float64)."""
        if self.targets is None:
            return self.read_codes(start, stop)
        return self._read("targets", start, stop, ((self.n_rows,), np.float64))

    def take_y(self, index: NDArray[np.int64]) -> NDArray[Any]:
        """Return y of some rows without reading all into memory; see `read_y`."""
        kind = np.int32 if self.targets is None else np.float64
        return self._taken(index, self.read_y, kind)

    def read_codes(self, start: int, stop: int) -> NDArray[np.int32]:
        """Return the codes of the rows start:stop: int32 indices into `classes`.

        With two classes, code 1 is +1 and code 0 is -1.
        """
        return self._read("codes", start, stop, ((self.n_rows,), np.int32))

    def take_codes(self, index: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the codes of some rows without reading all into memory."""
        return self._taken(index, self.read_codes, np.int32)

    def read_weights(self, start: int, stop: int) -> NDArray[np.float64] | None:
        """Return the weights of the rows start:stop, float64; None if rows have no weights."""
        if self.weights is None:
            return None
        return self._read("weights", start, stop, ((self.n_rows,), np.float64))

    def take_weights(self, index: NDArray[np.int64]) -> NDArray[np.float64] | None:
        """Return the weights of some rows without reading all into memory."""
        return None if self.weights is None else self._taken(index, self.read_weights, np.float64)

    def _taken(
        self, index: NDArray[np.int64], read: Callable[[int, int], Any], dtype: Any
    ) -> NDArray[Any]:
        found = np.empty(len(index), dtype=dtype)
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        for start in range(0, self.n_rows, CODES_ROWS):
            low, high = np.searchsorted(ordered, (start, start + CODES_ROWS))
            if low < high:
                values = read(start, min(start + CODES_ROWS, self.n_rows))
                found[order[low:high]] = values[ordered[low:high] - start]
        return found

    def read_hashes(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Return the hashes of the rows start:stop, uint64 (stop - start, 2)."""
        return self._read("hashes", start, stop, ((self.n_rows, 2), np.uint64))

    def _read(self, name: str, start: int, stop: int, form: Form) -> NDArray[Any]:
        place, checksums = self._base / name, self.checksums.below(name)
        return read_array(place, slice(start, stop), form, checksums)

    def open_part(self, part: str) -> DataSet:
        """Return another part of the same data set."""
        return DataSet.open(self.place / part)

    @property
    def _base(self) -> Location:
        return self.place / self.attempt / self.part


def _read_scaling(root: Location, meta: dict[str, Any], checksums: Checksums) -> Scaling | None:
    """Return the scaling of the rows of a data set; None where there is none."""
    if meta["scaling"] is None:
        return None
    kind, names = meta["scaling"]["kind"], meta["scaling"]["arrays"]
    possible = [set()] if kind == "unit" else [{"factor"}, {"offset", "factor"}]
    if set(names) not in possible:
        raise InputError(f"{root}: damaged: {COMMIT}: scaling is impossible")
    place, form = root / meta["attempt"] / "scaling", ((meta["n_features"],), np.float64)
    arrays = {
        name: read_array(place / name, None, form, checksums.below(f"scaling/{name}"))
        for name in names
    }
    return Scaling.from_arrays(arrays, meta["scaling"])


def _statistics(found: Any) -> dict[str, float] | None:
    """Return the statistics of targets in a commit object; None where there are none."""
    return None if found is None else {k: float(found[k]) for k in ("least", "most", "mean", "std")}


def _largest(found: Any) -> tuple[int, int, float] | None:
    """Return row, feature and value from a commit object; None where they are not there."""
    return None if found is None else (int(found[0]), int(found[1]), float(found[2]))
