"""What a data set was made with: kept in it, and compared where it is asked for again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dcsvm_dask.readers.labels import canonical
from dcsvm_dask.readers.urls import is_url
from dcsvm_dask.readers.weights import Weights
from dcsvm_dask.storage.location import Location

AS_THEY_ARE = ("label", "header", "encoding", "scale", "test_fraction", "shuffle", "train_rows")


def made_with(words: Mapping[str, Any], weights: Weights | None) -> dict[str, Any]:
    """Return what shapes the rows of a data set, as JSON has it.

    Files go by their names without their folders, so that a data set may move with its source.

    Parameters
    ----------
    words : mapping
        All parameters of `ingest`.
    weights : Weights or None
        Those that were given.
    """
    positive = words["positive"]
    return {
        "source": _name(words["source"]),
        "test": _name(words["test"]),
        **{word: words[word] for word in AS_THEY_ARE},
        "drop": list(words["drop"]),
        "seed": int(words["seed"]),
        "rows": list(words["rows"]),
        "positive": None if positive is None else sorted(map(canonical, positive), key=str),
        "weights": None if weights is None else _hash(weights),
    }


def differing(kept: Mapping[str, Any], asked: Mapping[str, Any]) -> str | None:
    """Return the first word of which a data set and who asks for it say different things.

    What an older data set does not keep is not compared, nor a source that was in memory; before
    weights were kept, there were none.
    """
    kept = {"weights": None, **kept}
    known = [word for word in asked if word in kept and (word != "source" or kept[word])]
    return next((word for word in known if kept[word] != asked[word]), None)


def _name(source: Any) -> str | None:
    """Return the name of a file, a folder or a URL without its query; None: it is none."""
    if not isinstance(source, str | os.PathLike | Location):
        return None
    text = source.url if isinstance(source, Location) else os.fspath(source)
    if is_url(text):
        text = text.partition("?")[0]
    return text.rstrip("/").rpartition("/")[2]


def _hash(weights: Weights) -> str:
    return hashlib.blake2b(np.ascontiguousarray(weights.values).data, digest_size=16).hexdigest()
