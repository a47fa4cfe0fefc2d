"""Columns of text whose numbers may be versions: 1.10 follows 1.9, and is not 1.1."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.identifiers import words_of
from dcsvm_dask.readers.preparing.text_columns import columns_of_text
from dcsvm_dask.readers.preparing.words import different, tidy
from dcsvm_dask.readers.source import Source

_NAMES = ("version", "ver", "release", "build", "firmware")
_OF_NAMES = ("code", "id", "name", "no", "nr", "number")
"""Words after those; other ones, as in release_price, name something else."""
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})")
MOST = 200
"""Different numbers of such a column in a sample."""


def versions_doubts(source: Source, rows: NDArray[np.float64]) -> list[str]:
    """Return a sentence for each column that may hold versions, of which zeros at the end count.

    Parameters
    ----------
    source : Source
        Of anything but delimited text there are no sentences.
        The beginning of a text is looked at.
    rows : ndarray, shape (n, n_features), float64
        Some rows as they were read.
    """
    few = [j for j in range(rows.shape[1]) if _are_few(rows[:, j])]
    columns = list(columns_of_text(source, few))
    if not columns:
        return []
    table = columns[0][0]
    batch = table.beginning([place for _, _, place in columns])
    found = []
    for (_, name, _), cells in zip(columns, batch, strict=bool(batch)):
        words = different(tidy(cells, table.missing_words))[0].drop_null().to_pylist()
        word = _lost(words, names_version=_named(name))
        if word is not None:
            quoted = f"'{name}'" if " " in name else name
            found.append(
                f"the numbers of the column {name!r} may be versions: {word} is read as "
                f"{float(word)}; where they are, give --one-hot {quoted}, or leave it out "
                f"(--drop {quoted}, in Python drop=[NAME])"
            )
    return found


def _named(name: str) -> bool:
    words = [word.lower() for word in words_of(name)]
    while words and words[-1] in _OF_NAMES:
        words.pop()
    return bool(words) and words[-1] in _NAMES


def _are_few(values: NDArray[np.float64]) -> bool:
    """Return whether values may be versions: few decimals of up to three digits."""
    thousands = 1000.0 * values
    small = (values >= 0) & (values < 1000)
    exact = np.abs(thousands - np.rint(thousands)) <= 2.0**-23 * np.abs(thousands) + 1e-9
    if not (small & exact).all() or (values == np.rint(values)).all():
        return False
    return len(np.unique(values)) <= MOST


def _lost(words: Sequence[str], *, names_version: bool) -> str | None:
    """Return a word with a zero at its end that means something, as it seems; else None.

    Decimals of one width end with zeros, too, and some people write 0.5 and 0.50.
    """
    parts = [found.groups() for found in map(_VERSION.fullmatch, words) if found]
    if len(parts) < sum(not word.isdigit() for word in words):
        return None
    if len({len(minor) for _, minor in parts}) < 2:
        return None
    known = set(parts)
    for major, minor in parts:
        if not minor.endswith("0") or len(minor) < 2:
            continue
        before = str(int(minor) - 1)  # 1.9 comes before 1.10
        if names_version or (len(before) < len(minor) and (major, before) in known):
            return f"{major}.{minor}"
    return None
