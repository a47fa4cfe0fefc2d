"""Dask arrays and data frames as sources of an ingest; their rows stay on the workers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dask
import numpy as np
from dask._task_spec import TaskRef
from dask.core import flatten
from scipy import sparse

from dcsvm_dask.data.partitions import Reader
from dcsvm_dask.data.scan import Report, Table
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import NO_LABEL, Expected
from dcsvm_dask.readers.frame_checks import is_frame, is_numeric
from dcsvm_dask.readers.frames import memory_source
from dcsvm_dask.readers.labels import LabelTable
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.source import Reading, check_shape, name_of
from dcsvm_dask.readers.statistics import ScalingStatistics
from dcsvm_dask.readers.survey import Survey
from dcsvm_dask.readers.targets import TargetTable
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.runtime.collection_scan import CollectionScan
from dcsvm_dask.runtime.computing import Computing, tasks_of
from dcsvm_dask.storage.location import Location


@dataclass(frozen=True)
class Collection:
    """Rows in a Dask collection, with the labels in a column or in a second collection.

    Parameters
    ----------
    given : Dask data frame, or tuple (X, y) of Dask collections
    place : Location
        Folder of the data set; this process owns it when a part is scanned.
    computing : Computing
        Computes the partitions.
    """

    given: Any
    place: Location
    computing: Computing

    def open_part(
        self,
        part: str,
        expected: Expected | None,
        *,
        label: str | int | None = None,
        drop: Sequence[str] = (),
    ) -> CollectionSource:
        """Return the rows as the source of a part.

        Parameters
        ----------
        part : {"train", "test"}
        expected : Expected or None
            The columns of the training part.
        label : str or int, optional
            Column of the labels.
        drop : sequence of str
            Columns to leave out.

        Returns
        -------
        CollectionSource

        Raises
        ------
        InputError
            If X or y is no Dask array or data frame, or the labels are not one column.
        """
        beside = isinstance(self.given, tuple)
        X, y = self.given if beside else (self.given, None)
        rows = beside or hasattr(X, "numblocks")  # an array may have no labels
        name = f"(X, y) of the {part} part" if rows else f"the data frame of the {part} part"
        for what, one in (("X", X), ("y", y)) if beside else (("it", X),):
            if not _is_rows(one) and (one is not None or what != "y"):
                raise InputError(
                    f"{name}: {what} is a {type(one).__module__}.{type(one).__name__}; give X and "
                    "y both as Dask arrays or data frames (see dask.array.from_array), or both in "
                    "memory"
                )
        if y is not None and label is not None:
            raise InputError(f"{name}: both y and label {label!r} are given; give one of them")
        if is_frame(X._meta):
            source = _of_frame(X, y, name, label, expected, drop)
        else:
            source = _of_array(X, y, name, label, drop)
        if y is not None and y.ndim != 1:
            raise InputError(
                f"{name}: y must have 1 axis, got {y.ndim}; give one label for each row"
            )
        return CollectionSource(self, source, X, y)


@dataclass(frozen=True)
class Described:
    """Properties of a collection that are known before it is computed."""

    name: str
    n_features: int
    feature_names: list[str] | None
    reading: Reading
    expected: Expected | None


def _of_frame(
    X: Any,
    y: Any,
    name: str,
    label: str | int | None,
    expected: Expected | None,
    drop: Sequence[str],
) -> Described:
    from dask.dataframe.utils import meta_nonempty

    example = meta_nonempty(X._meta)
    labels = None if y is None else np.zeros(len(example))
    found = memory_source(example, labels, name=name, label=label, expected=expected, drop=drop)
    called = found.reading.label if y is None else _name_of(y)
    reading = replace(found.reading, format="Dask data frame", label=called)
    if isinstance(found, PreparedSource):
        kinds = {str(k): kind for k, kind in zip(X.columns, X.dtypes, strict=True)}
        word = next(column for column in found.input_names if not is_numeric(kinds[column]))
        raise InputError(
            f"{name}: the column {word!r} must be numeric, got {kinds[word]}; make numbers of such "
            "columns in Dask, for example with categorize and dask.dataframe.get_dummies"
        )
    assert found.n_features is not None
    columns = Expected(found.n_features, found.feature_names, called, reading.position)
    return Described(name, found.n_features, found.feature_names, reading, columns)


def _of_array(X: Any, y: Any, name: str, label: str | int | None, drop: Sequence[str]) -> Described:
    if label not in (None, NO_LABEL) or drop:
        raise InputError(
            f"{name}: a Dask array has no names and no label; give (X, y), or a Dask data frame"
        )
    check_shape(X.shape, X.dtype, name)
    if math.isnan(X.shape[1]):
        raise InputError(f"{name}: the number of features is unknown; call X.compute_chunk_sizes()")
    reading = Reading("Dask arrays", label=_name_of(y))
    return Described(name, int(X.shape[1]), None, reading, None)


class CollectionSource:
    """A Dask array or data frame as a source whose rows are never in this process.

    Parameters
    ----------
    owner : Collection
    about : Described
    X, y : Dask collections
        Rows; labels, or None where they are a column.

    Attributes
    ----------
    collections : tuple
        X and y with optimised graphs.
    keys : list of (key, key or None)
        Keys of the partitions of X and y.
    sizes : list of int or None
        Rows of each partition; None where they are unknown.
    reader : Reader
    """

    parses = False

    def __init__(self, owner: Collection, about: Described, X: Any, y: Any) -> None:
        self.name, self.n_features = about.name, about.n_features
        self.feature_names, self.reading = about.feature_names, about.reading
        self._unlabelled = y is None and not is_frame(X._meta)
        self.is_sparse = bool(sparse.issparse(X._meta))
        self.reader = Reader(about.name, self.is_sparse, about.n_features, about.expected)
        self._owner = owner
        is_array = hasattr(X, "numblocks")
        if is_array and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        if y is not None:
            X, y = self._aligned(X, y)
        self.sizes = list(X.chunks[0]) if is_array and not math.isnan(X.shape[0]) else None
        self.collections = _optimized(X) if y is None else _optimized(X, y)
        keys = [list(flatten(one.__dask_keys__())) for one in self.collections]
        labels = keys[1] if len(keys) > 1 else [None] * len(keys[0])
        self.keys = list(zip(keys[0], labels, strict=True))

    def scan(
        self,
        rows: tuple[int | None, int | None],
        *,
        table: Callable[[str], Table] = LabelTable,
        copy: bool,
        statistics: ScalingStatistics | None,
        weights: Weights | None = None,
        survey: Survey | None = None,
        report: Report,
    ) -> CollectionScan:
        """Read all partitions on their workers; see `Scan` for the result.

        Parameters
        ----------
        rows : tuple (int or None, int or None)
            Must be (None, None).
        table : callable
            Returns what reads y, given the name of rows: labels of classes, real targets, or the
            labels of a one-class SVM.
        copy : bool
            Must be False.
        statistics : ScalingStatistics or None
            Updated with every row.
        weights : Weights, optional
            Weights of all rows, above 0.
        survey : Survey, optional
            Updated with every row.
        report : callable
            Called with lines about the progress.

        Returns
        -------
        CollectionScan

        Raises
        ------
        InputError
            If other rows, a shuffle or weights of 0 are asked for, or a worker does not see the
            data set's folder.
        """
        if table in (LabelTable, TargetTable) and self._unlabelled:
            raise InputError(
                f"{self.name}: a Dask array has no names and no label; give (X, y), or a Dask data "
                "frame"
            )
        for word, given in (
            ("rows", rows != (None, None)),
            ("test_fraction or shuffle", copy),
            ("a weight of 0", weights is not None and not weights.values.all()),
        ):
            if given:
                raise InputError(
                    f"{self.name}: {word} cannot be used with Dask collections; select the rows "
                    "with Dask, or give them in memory or as a file"
                )
        self._owner.computing.refuse_blind(self._owner.place)
        return CollectionScan(
            self, self._owner.computing, table, statistics, weights, survey, report
        )

    def _aligned(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return rows and labels with the same partitions, as far as their sizes are known."""
        if hasattr(X, "numblocks") and hasattr(y, "numblocks"):
            known = [not math.isnan(one.shape[0]) for one in (X, y)]
            if any(known):
                X, y = (
                    one if has else self._counted(one)
                    for one, has in zip((X, y), known, strict=True)
                )
                if X.shape[0] != y.shape[0]:
                    raise InputError(
                        f"{self.name}: {X.shape[0]} rows, but labels of shape {y.shape}"
                    )
                return X, y if X.chunks[0] == y.chunks[0] else y.rechunk((X.chunks[0],))
        if X.npartitions != y.npartitions:
            raise InputError(
                f"{self.name}: {X.npartitions} partitions of rows, but {y.npartitions} of labels; "
                "give both the same partitions"
            )
        return X, y

    def _counted(self, array: Any) -> Any:
        """Return an array with the sizes of its chunks."""
        import dask.array as da

        refs = [(TaskRef(key),) for key in flatten(array.__dask_keys__())]
        tasks = tasks_of("count", len_of, refs)
        sizes = self._owner.computing.results(tasks, list(tasks), [array], self.reader.name_of)
        return da.Array(array.dask, array.name, (tuple(sizes), *array.chunks[1:]), meta=array._meta)


def len_of(part: Any) -> int:
    """Return the number of rows of a partition."""
    return int(part.shape[0])


def _is_rows(one: Any) -> bool:
    """Return whether an object is a Dask array, data frame or series."""
    return dask.is_dask_collection(one) and hasattr(one, "_meta") and hasattr(one, "npartitions")


def _name_of(y: Any) -> str | None:
    """Return the name of labels; None for a Dask array, whose name is a token."""
    return None if hasattr(y, "numblocks") else name_of(y)


def _optimized(*collections: Any) -> tuple[Any, ...]:
    """Return collections with optimised graphs, where that keeps annotations and partitions.

    Dask loses the annotations of layers of arrays whose tasks it fuses, and may fuse partitions of
    a frame, but not those of its labels.
    """
    X = collections[0]
    if not hasattr(X, "numblocks"):
        return collections if len(collections) > 1 else (X.optimize(),)
    layers = (layer for one in collections for layer in getattr(one.dask, "layers", {}).values())
    if any(layer.annotations for layer in layers):
        return collections
    if any(not hasattr(one, "numblocks") for one in collections):
        # Optimised together with an array, a series has the array's keys.
        return (*dask.optimize(X), *collections[1:])
    found: tuple[Any, ...] = dask.optimize(*collections)
    return found
