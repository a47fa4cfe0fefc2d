"""The parameters that a data set was made with, stored in it and compared when it is reused."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dcsvm_dask.data.scale_choice import usual_scale
from dcsvm_dask.readers.labels import canonical
from dcsvm_dask.readers.urls import is_url
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.storage.location import Location

AS_THEY_ARE = (
    "label",
    "header",
    "encoding",
    "test_fraction",
    "shuffle",
    "train_rows",
    "task",
    "missing",
    "dates",
    "decimal",
    "data",
    "target",
)


def made_with(words: Mapping[str, Any], weights: Weights | None) -> dict[str, Any]:
    """Return the parameters that shape the rows of a data set, as JSON values.

    Files are represented by their names without their folders, so that a data set may move with its
    source.

    Parameters
    ----------
    words : mapping
        All parameters of `ingest`.
    weights : Weights or None
        The given weights.
    """
    positive, one_hot, missing = words["positive"], words["one_hot"], words["missing_words"]
    return {
        "source": _name(words["source"]),
        "test": _name(words["test"]),
        **{word: words[word] for word in AS_THEY_ARE},
        "scale": usual_scale(words["source"], words["scale"]),
        "drop": list(words["drop"]),
        "columns": list(words["columns"]),
        "one_hot": one_hot if isinstance(one_hot, str) else list(one_hot),
        "missing_words": None if missing is None else list(missing),
        "ordinal": {name: list(levels) for name, levels in (words["ordinal"] or {}).items()},
        "seed": int(words["seed"]),
        "rows": list(words["rows"]),
        "positive": None if positive is None else sorted(map(canonical, positive), key=str),
        "weights": None if weights is None else _hash(weights),
    }


def differing(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str | None:
    """Return the first parameter in which a data set and a request differ; None if they agree.

    Parameters that an older data set lacks are not compared, nor a source in memory; a data set
    without stored weights has none, and one without a task has classes.
    """
    stored = {"weights": None, "task": "classification", **stored}
    known = [word for word in asked if word in stored and (word != "source" or stored[word])]
    return next((word for word in known if stored[word] != asked[word]), None)


def _name(source: Any) -> str | None:
    """Return the name of a file, folder or URL, without a query; None for other sources."""
    if not isinstance(source, str | os.PathLike | Location):
        return None
    text = source.url if isinstance(source, Location) else os.fspath(source)
    if is_url(text):
        text = text.partition("?")[0]
    return text.rstrip("/").rpartition("/")[2]


def _hash(weights: Weights) -> str:
    return hashlib.blake2b(np.ascontiguousarray(weights.values).data, digest_size=16).hexdigest()
