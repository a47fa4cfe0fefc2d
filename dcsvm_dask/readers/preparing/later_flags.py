"""Columns of later rows that hold yes and no where the training rows may have had numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dcsvm_dask.readers.preparing.cells import flags_in, is_text
from dcsvm_dask.readers.preparing.encoders import NUMBER, Encoder
from dcsvm_dask.readers.preparing.words import different


class LaterFlags:
    """Looks for columns of numbers whose later cells are yes and no.

    Parameters
    ----------
    encoders : sequence of Encoder
        Of the columns that are looked at.

    Attributes
    ----------
    features : set of int
        The features that are the numbers of such columns.
    """

    def __init__(self, encoders: Sequence[Encoder]) -> None:
        self.features: set[int] = set()
        self._places: list[tuple[int, int]] = []
        feature = 0
        for k, one in enumerate(encoders):
            if one.kind == NUMBER:
                self._places.append((k, feature))
            feature += len(one.features)

    def update(self, columns: Sequence[Any]) -> None:
        """Add cells of all columns."""
        for k, feature in self._places:
            if feature not in self.features and _are_flags(columns[k]):
                self.features.add(feature)


def _are_flags(column: Any) -> bool:
    import pyarrow as pa

    if not is_text(column.type):
        return bool(pa.types.is_boolean(column.type))
    words = [word for word in different(column)[0].to_pylist() if word not in (None, "0", "1")]
    return flags_in(words) is not None


def flags_doubts(
    features: Sequence[int], names: Sequence[str] | None, ranges: Sequence[Sequence[float]]
) -> list[str]:
    """Return a sentence for each feature of yes and no whose training rows had other numbers.

    Parameters
    ----------
    features : sequence of int
        Those whose cells are yes and no.
    names : sequence of str, optional
        Of all features; by default their numbers from 0.
    ranges : sequence of (float, float)
        The least and the greatest value of each feature in the training rows.
    """
    return [
        f"the column {str(j) if names is None else names[j]!r} holds yes and no, which are taken "
        f"for 1 and 0, and the training rows have {ranges[j][0]:.6g} to {ranges[j][1]:.6g} there: "
        "compare it with the training table, and write numbers of its kind"
        for j in sorted(features)
        if j < len(ranges) and not 0.0 <= ranges[j][0] <= ranges[j][1] <= 1.0
    ]
