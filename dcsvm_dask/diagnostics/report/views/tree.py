"""The levels as rectangles: areas are rows, colours the share of support vectors."""

from __future__ import annotations

from typing import Any

from bokeh.models import (
    ColorBar,
    ColumnDataSource,
    LinearColorMapper,
    NumeralTickFormatter,
    Quad,
    Range1d,
)

from dcsvm_dask.diagnostics.colours import SHARES
from dcsvm_dask.diagnostics.report.tables.table import Table, rows_of
from dcsvm_dask.diagnostics.report.views.style import FONT, WHOLE, hover, plot, ticks
from dcsvm_dask.diagnostics.tiles import Tile, tiles

ROW_HEIGHT = 110
MOST_TILES = 2000
"""Largest number of blocks of a level; smaller ones share a rectangle."""
GAP = 0.06


def tree(blocks: Table, whole: dict[str, Any] | None) -> Any:
    """Return the figure of the levels, the bottom one below.

    Parameters
    ----------
    blocks : Table
        See `dcsvm_dask.diagnostics.report.tables.blocks.blocks`.
    whole : dict or None
        ``rows``, ``support`` and ``bounded`` of the exact model, one rectangle on top.
    """
    levels = sorted(set(blocks["level"]), reverse=True)
    names = [f"level {level}" for level in levels] + (["exact"] if whole else [])
    made = plot(width=WHOLE, height=60 + ROW_HEIGHT * len(names), svg=False)
    columns: dict[str, list[Any]] = {key: [] for key in COLUMNS}
    for at, level in enumerate(levels):
        _add_level(columns, [row for row in rows_of(blocks) if row["level"] == level], at)
    if whole:
        exact = {"name": "the exact model", "objective": None, "seconds": None, **whole}
        _add(columns, exact, Tile(0.0, len(levels), 1.0, len(levels) + 1.0 - GAP))
    high = _scale(columns["share"])
    mapper = LinearColorMapper(palette=list(SHARES), low=0.0, high=high)
    shape = Quad(
        left="left",
        right="right",
        bottom="bottom",
        top="top",
        fill_color={"field": "share", "transform": mapper},
        line_color="#ffffff",
        line_width=0.5,
        line_alpha=0.7,
    )
    drawn = made.add_glyph(ColumnDataSource(columns), shape)
    hover(
        made,
        [
            ("", "@name"),
            ("rows", "@rows{0,0}"),
            ("support vectors", "@support{0,0} (@share{0.0 %})"),
            ("at the bound", "@bounded{0,0}"),
            ("objective", "@objective{0,0.00}"),
            ("violation", "@violation{0.0e+0}"),
            ("iterations", "@iterations{0,0}"),
            ("kernel values", "@kernel_values{0,0}"),
            ("seconds", "@seconds{0.000}"),
        ],
        [drawn],
    )
    made.x_range, made.y_range = Range1d(0.0, 1.0), Range1d(-GAP, len(names))
    made.xaxis.visible = False
    made.ygrid.grid_line_color = None
    ticks(made.yaxis[0], [at + (1 - GAP) / 2 for at in range(len(names))], names)
    made.yaxis.axis_line_color = made.yaxis.major_tick_line_color = None
    made.add_layout(_colour_bar(mapper), "right")
    return made


COLUMNS = (
    "left",
    "right",
    "bottom",
    "top",
    "name",
    "rows",
    "support",
    "share",
    "bounded",
    "objective",
    "violation",
    "iterations",
    "kernel_values",
    "seconds",
)


def _add_level(columns: dict[str, list[Any]], blocks: list[dict[str, Any]], at: int) -> None:
    """Add the rectangles of a level's blocks, `at` so many levels above the bottom."""
    largest = sorted(blocks, key=lambda row: -row["rows"])[:MOST_TILES]
    kept = {row["block"] for row in largest}
    shown = [row for row in blocks if row["block"] in kept]
    smaller = [row for row in blocks if row["block"] not in kept]
    if smaller:
        shown.append(_joined(smaller))
    aspect = ROW_HEIGHT * (1 - GAP) / (WHOLE - 190)
    boxes = tiles([row["rows"] for row in shown], Tile(0.0, at, 1.0, at + 1.0 - GAP), aspect)
    for row, box in zip(shown, boxes, strict=True):
        name = f"level {blocks[0]['level']}, block {row['block']}"
        _add(columns, {**row, "name": name}, box)


def _colour_bar(mapper: LinearColorMapper) -> ColorBar:
    return ColorBar(
        color_mapper=mapper,
        title="share of support vectors",
        title_text_font=FONT,
        title_text_font_size="11px",
        title_text_font_style="normal",
        major_label_text_font=FONT,
        formatter=NumeralTickFormatter(format="0 %"),
        background_fill_alpha=0.0,
        width=10,
        major_tick_line_color=None,
    )


def _add(columns: dict[str, list[Any]], row: dict[str, Any], box: Tile) -> None:
    about = {"left": box.left, "right": box.right, "bottom": box.bottom, "top": box.top}
    about["share"] = row["support"] / row["rows"]
    for key in COLUMNS:
        columns[key].append(about.get(key, row.get(key)))


def _joined(rows: list[dict[str, Any]]) -> dict[str, Any]:
    sums = ("rows", "support", "bounded", "objective", "iterations", "kernel_values", "seconds")
    return {
        **{key: sum(row[key] for row in rows) for key in sums},
        "block": f"{len(rows)} smaller ones together",
        "violation": max(row["violation"] for row in rows),
    }


def _scale(shares: list[float]) -> float:
    """Return the share of the last colour: a little above nearly all shares."""
    high = sorted(shares)[int(0.98 * (len(shares) - 1))]
    return min(1.0, max(0.1, round(high + 0.05, 1)))
