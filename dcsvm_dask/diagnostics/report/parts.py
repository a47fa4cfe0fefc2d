"""What a report is made of: sections of figures, tables and words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dcsvm_dask.diagnostics.report.tables.table import Table, rows_of
from dcsvm_dask.diagnostics.report.text import Format


@dataclass(frozen=True)
class Picture:
    """A figure with what one should see in it."""

    figure: Any
    """A Bokeh model."""
    title: str
    caption: str
    table: str | None = None
    """Name of the table that holds its numbers."""
    third: bool = False
    """Whether three stand side by side; else two do, or one where `wide`."""
    wide: bool = False

    @property
    def kind(self) -> str:
        """The class of its box."""
        return "picture"


@dataclass(frozen=True)
class Grid:
    """A table as people read it."""

    title: str
    headers: list[str]
    rows: list[list[str]]
    words: list[bool]
    """Which columns are text, not numbers."""
    caption: str = ""
    table: str | None = None
    wide: bool = True

    @property
    def kind(self) -> str:
        """The class of its box."""
        return "grid"


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix."""

    title: str
    cells: list[list[tuple[str, str, float]]]
    """For each true class and predicted class the count, its share as text and as a number."""
    labels: list[str]

    @property
    def kind(self) -> str:
        """The class of its box."""
        return "matrix"


@dataclass(frozen=True)
class Words:
    """A paragraph; `code` is shown as what one types."""

    text: str
    code: str = ""

    @property
    def kind(self) -> str:
        """The class of its box."""
        return "words"


Part = Picture | Grid | Matrix | Words


@dataclass(frozen=True)
class Section:
    """A section of the page; one without parts says why in its lead."""

    name: str
    """Where links of the page go."""
    title: str
    lead: str
    parts: list[Part] = field(default_factory=list)


def grid(
    columns: Table,
    shown: Sequence[tuple[str, str, Format]],
    *,
    title: str = "",
    caption: str = "",
    table: str | None = None,
    words: tuple[str, ...] = (),
    wide: bool = True,
) -> Grid:
    """Return a table as people read it.

    Parameters
    ----------
    columns : Table
    shown : list of (key, header, format)
    words : tuple of str
        Keys of columns that are text.
    """
    rows = [[form(row[key]) for key, _, form in shown] for row in rows_of(columns)]
    return Grid(
        title=title,
        headers=[header for _, header, _ in shown],
        rows=rows,
        words=[key in words for key, _, _ in shown],
        caption=caption,
        table=table,
        wide=wide,
    )
