"""Which sources an ingest reads: arrays, files, data sets, and the test part of each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.open import open_source, source_parts
from dcsvm_dask.readers.scaling import Scaling
from dcsvm_dask.readers.source import ArraySource, Block, Source
from dcsvm_dask.readers.svmlight import SvmlightSource
from dcsvm_dask.storage.dataset import DataSet, is_data_set
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.predictions import label_array


class DataSetSource:
    """One part of a data set as a source, for subsets and other classes of the same rows.

    Attributes
    ----------
    scaling : Scaling or None
        What was done to the rows already.
    weights : ndarray or None
        What the rows weigh.
    about : dict
        What the data set knows of its own source.
    """

    parses = False

    def __init__(self, data: DataSet) -> None:
        self.name = data.url
        self.n_features: int | None = data.n_features
        self.is_sparse = data.is_sparse
        self.feature_names = data.feature_names
        self.scaling: Scaling | None = data.scaling
        self.weights = data.read_weights(0, data.n_rows)
        self.about: dict[str, Any] = {"reading": data.reading, "positive": data.positive}
        self._data = data

    def blocks(self) -> Iterator[Block]:
        """Return the chunks in order."""
        classes = label_array(self._data.classes)
        for start, stop in pairwise(self._data.rows.borders().tolist()):
            yield self._data.rows.read(start, stop), classes[self._data.read_codes(start, stop)]


def resolve_sources(
    source: Any,
    test: Any,
    *,
    label: str | int | None,
    header: bool | None,
    own_test: bool,
) -> tuple[Source, Source | None]:
    """Return the sources of the training and of the test part.

    Parameters
    ----------
    source, test : str, path, Location, tuple (X, y) or Source
        ``test`` may be None.
    label, header
        See `open_source`.
    own_test : bool
        Whether a test part of ``source`` is taken, too.
    """
    train = _open(source, label, header, "train")
    if test is not None:
        has_test = _is_path(test) and "test" in _parts(test)
        return train, _open(test, label, header, "test" if has_test else "train")
    if own_test and _is_path(source) and "test" in _parts(source):
        return train, _open(source, label, header, "test")
    return train, None


def check_names(train: Source, test: Source) -> None:
    """Refuse a test part whose features have other names than the training part's."""
    first, second = train.feature_names, test.feature_names
    if first is None or second is None or len(first) != len(second):
        return
    for k, (a, b) in enumerate(zip(first, second, strict=True)):
        if a != b:
            raise InputError(
                f"{test.name}: feature {k} is {b!r}, but in {train.name} it is {a!r}; "
                "the columns have to be the same in the same order"
            )


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike | Location)


def _text(source: Any) -> str:
    return source.url if isinstance(source, Location) else os.fspath(source)


def _parts(source: Any) -> list[str]:
    data = _data_set(source)
    if data is not None:
        # DATA.zarr/train asks for that part alone.
        return data.parts if data.place == Location.of(source) else [data.part]
    return source_parts(_text(source))


def _data_set(source: Any) -> DataSet | None:
    return DataSet.open(source) if is_data_set(source) else None


def _open(source: Any, label: str | int | None, header: bool | None, part: str) -> Source:
    if isinstance(source, tuple):
        if len(source) != 2:
            raise InputError("a tuple (X, y) was expected")
        return ArraySource(*source, name=f"(X, y) of the {part} part")
    if not _is_path(source):
        if not hasattr(source, "blocks"):
            raise InputError(f"{type(source).__name__} is no source: give a path or (X, y)")
        found: Source = source
        return found
    data = _data_set(source)
    if data is not None:
        whole = data.place == Location.of(source)
        return DataSetSource(data.open_part(part) if whole else data)
    opened = open_source(_text(source), part=part, label=label, header=header)
    if label is not None and isinstance(opened, SvmlightSource):
        raise InputError(
            f"{opened.name}: label {label!r} has no meaning for svmlight text, where the label "
            "stands first; leave it out"
        )
    return opened
