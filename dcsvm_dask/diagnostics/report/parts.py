"""The parts of a report: sections of figures, tables and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dcsvm_dask.diagnostics.report.tables.table import Table, rows_of
from dcsvm_dask.diagnostics.report.text import Format


@dataclass(frozen=True)
class Picture:
    """A figure with an explanation."""

    figure: Any
    """A Bokeh model."""
    title: str
    caption: str
    table: str | None = None
    """Name of the table with its numbers."""
    third: bool = False
    """Whether three stand side by side; else two, or one if `wide`."""
    wide: bool = False

    @property
    def kind(self) -> str:
        """CSS class of the box."""
        return "picture"


@dataclass(frozen=True)
class Grid:
    """A table of texts."""

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
        """CSS class of the box."""
        return "grid"


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix."""

    title: str
    cells: list[list[tuple[str, str, float]]]
    """For each true class and predicted class the count, and its share as text and as number."""
    labels: list[str]

    @property
    def kind(self) -> str:
        """CSS class of the box."""
        return "matrix"


@dataclass(frozen=True)
class Words:
    """A paragraph; `code` is shown as a command."""

    text: str
    code: str = ""

    @property
    def kind(self) -> str:
        """CSS class of the box."""
        return "words"


Part = Picture | Grid | Matrix | Words


@dataclass(frozen=True)
class Section:
    """A section of the page; one without parts gives the reason in its lead."""

    name: str
    """Target of links in the page."""
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
    """Return a table formatted as text.

    Parameters
    ----------
    columns : Table
    shown : list of (key, header, format)
        The columns to show.
    title, caption : str
    table : str, optional
        Name of the table with the same numbers.
    words : tuple of str
        Keys of columns that are text.
    wide : bool, default True
        Whether it fills the width of the page.

    Returns
    -------
    Grid
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
