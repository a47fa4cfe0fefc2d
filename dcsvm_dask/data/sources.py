"""The sources of an ingest: arrays, frames, files, data sets, and the test part of each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import Expected, match_names
from dcsvm_dask.readers.frame_checks import is_frame
from dcsvm_dask.readers.frames import memory_source
from dcsvm_dask.readers.label_array import label_array
from dcsvm_dask.readers.open import open_source, source_parts
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.scaling import Scaling
from dcsvm_dask.readers.source import Block, Reading, Source
from dcsvm_dask.readers.svmlight import SvmlightSource
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_commit import is_data_set
from dcsvm_dask.storage.location import Location

Learn = Callable[[PreparedSource], None]


def learn_from_all(source: PreparedSource) -> None:
    """Learn the preparation of columns from all rows of a source."""
    source.learn()


class DataSetSource:
    """A part of a data set as a source, for subsets and other classes of the same rows.

    Parameters
    ----------
    data : DataSet
    expected : Expected, optional
        Features of the training part, which are found by name.

    Attributes
    ----------
    scaling : Scaling or None
        The scaling of the rows.
    weights : ndarray or None
        Weights of the rows.
    about : dict
        Properties of the data set's own source.
    """

    parses = False

    def __init__(self, data: DataSet, expected: Expected | None = None) -> None:
        self.name = data.url
        self.is_sparse = data.is_sparse
        self.feature_names = data.feature_names
        self.scaling: Scaling | None = data.scaling
        self._features: list[int] | None = None
        wanted = None if expected is None else expected.names
        if wanted is not None and data.feature_names not in (None, wanted):
            self._features = match_names(data.url, data.feature_names, wanted)
            self.feature_names = list(wanted)
            if data.scaling is not None:
                if data.scaling.kind == "unit" and len(self._features) != data.n_features:
                    raise InputError(
                        f"{data.url}: was scaled to length 1 over {data.n_features} features, of "
                        f"which {len(self._features)} are needed; ingest its source again"
                    )
                self.scaling = data.scaling.of_features(self._features)
        self.n_features: int | None = len(self._features or range(data.n_features))
        self.weights = data.read_weights(0, data.n_rows)
        self.about: dict[str, Any] = {
            "reading": data.reading,
            "positive": data.positive,
            "ranges": data.ranges,  # before scaling; those of these rows are after it
        }
        if data.columns is not None:
            self.about["columns"] = data.columns.to_json()
        known = {one.name for one in fields(Reading)}
        self.reading = Reading(
            **{"format": "data set", **{k: v for k, v in data.reading.items() if k in known}}
        )
        self._data = data

    def blocks(self) -> Iterator[Block]:
        """Yield the chunks in order."""
        classes = label_array(self._data.classes)
        for start, stop in pairwise(self._data.rows.borders().tolist()):
            rows = self._data.rows.read(start, stop)
            if self._features is not None:
                rows = rows[:, self._features]
            y = self._data.read_y(start, stop)
            yield rows, y if self._data.targets is not None else classes[y]


def resolve_sources(
    source: Any, test: Any, *, own_test: bool, learn: Learn = learn_from_all, **how: Any
) -> tuple[Source, Source | None]:
    """Return the sources of the training and of the test part.

    Features of the test part are found by their names, where both parts have names.

    Parameters
    ----------
    source, test : str, path, Location, data frame, tuple (X, y) or Source
        ``test`` may be None.
    own_test : bool
        Whether a test part of ``source`` is used, too.
    learn : callable, optional
        Has a source of prepared columns learn how; by default from all rows.
    **how
        ``label``, ``header``, ``encoding``, ``drop``, ``choices`` and ``data``; see `open_source`.

    Returns
    -------
    train : Source
    test : Source or None
    """
    train = _open(source, "train", **how)
    made = None
    if isinstance(train, PreparedSource):
        learn(train)
        made = train.preparation
    expected = None
    if train.n_features is not None:
        names, reading = train.feature_names, getattr(train, "reading", Reading("source"))
        expected = Expected(train.n_features, names, reading.label, reading.position, made)
    encoding = how["encoding"]
    if test is not None:
        has_test = _is_path(test) and "test" in _parts(test, encoding)
        return train, _open(test, "test" if has_test else "train", expected, **how)
    if own_test and _is_path(source) and "test" in _parts(source, encoding):
        return train, _open(source, "test", expected, **how)
    return train, None


def _is_path(source: Any) -> bool:
    return isinstance(source, str | os.PathLike | Location)


def _text(source: Any) -> str:
    return source.url if isinstance(source, Location) else os.fspath(source)


def _parts(source: Any, encoding: str | None) -> list[str]:
    data = _data_set(source)
    if data is not None:
        # DATA.zarr/train is one part only.
        return data.parts if data.place == Location.of(source) else [data.part]
    return source_parts(_text(source), encoding)


def _data_set(source: Any) -> DataSet | None:
    return DataSet.open(source) if is_data_set(source) else None


def _open(
    source: Any,
    part: str,
    expected: Expected | None = None,
    *,
    label: str | int | None,
    header: bool | None,
    encoding: str | None,
    drop: list[str],
    choices: Choices,
    data: str | None,
) -> Source:
    """Return the source of a part, of what its kind is."""
    named: dict[str, Any] = {"label": label, "drop": drop}
    if expected:
        # Rows with missing cells are left out of the test part, too.
        choices = Choices(missing="drop") if choices.missing == "drop" else Choices()
        named = {"label": None, "drop": ()}
    if hasattr(source, "open_part") and not _is_path(source):
        return _open_collection(source, part, expected, choices, data, named)
    if not _is_path(source):
        return _open_in_memory(source, part, expected, choices, named)
    known = _data_set(source)
    if known is not None:
        for word in (*(["drop"] if named["drop"] else ()), *({} if expected else choices.given)):
            raise InputError(
                f"{known.url}: {word} cannot be used with a data set; ingest its source"
            )
        whole = known.place == Location.of(source)
        return DataSetSource(known.open_part(part) if whole else known, expected)
    if expected is not None and expected.position is not None:
        label = None  # it names a column of the training table
    opened = open_source(
        _text(source),
        part=part,
        label=label,
        header=header,
        encoding=encoding,
        expected=expected,
        drop=() if expected else drop,
        choices=choices,
        data=data,
    )
    if label is not None and isinstance(opened, SvmlightSource):
        raise InputError(
            f"{opened.name}: label {label!r} cannot be used with svmlight text, where the label "
            "stands first; leave it out"
        )
    return opened


def _open_collection(
    source: Any,
    part: str,
    expected: Expected | None,
    choices: Choices,
    data: str | None,
    named: dict[str, Any],
) -> Source:
    """Return rows in Dask as a source."""
    for word in (*choices.given, *(["data"] if data else ())):
        raise InputError(
            f"{word}: cannot be used with rows in Dask; make columns of numbers of them there, "
            "for example with dask.dataframe.get_dummies and fillna"
        )
    own: Source = source.open_part(part, expected, **named)
    return own


def _open_in_memory(
    source: Any, part: str, expected: Expected | None, choices: Choices, named: dict[str, Any]
) -> Source:
    """Return rows in memory, or an object that is a source itself."""
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        source = (source, None)
    if isinstance(source, tuple):
        if len(source) != 2:
            raise InputError(f"a tuple must be (X, y), got {len(source)} entries")
        name = f"(X, y) of the {part} part"
        return memory_source(*source, name=name, expected=expected, choices=choices, **named)
    if is_frame(source):
        name = f"the data frame of the {part} part"
        return memory_source(source, name=name, expected=expected, choices=choices, **named)
    if not hasattr(source, "blocks"):
        raise InputError(
            f"a source must be a path, a data frame or (X, y), got {type(source).__name__}"
        )
    found: Source = source
    return found
