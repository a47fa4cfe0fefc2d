"""Tables as columns of equal length."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Table = dict[str, list[Any]]
"""Columns of equal length by name; None where there is no value."""


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]] = ()) -> Table:
    """Return rows as columns; missing and non-finite values are None."""
    found: Table = {name: [] for name in columns}
    for row in rows:
        for name in columns:
            found[name].append(_plain(row.get(name)))
    return found


def rows_of(columns: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table."""
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def n_rows(columns: Table) -> int:
    """Return the number of rows of a table."""
    return len(next(iter(columns.values()), []))


def to_csv(columns: Table) -> str:
    """Return a table as CSV text with a header; numbers read back as they were."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()


def _plain(value: Any) -> Any:
    """Return a value that JSON and CSV can express."""
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
