"""Figures of the sizes and times of blocks."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource

from dcsvm_dask.diagnostics.report.tables.table import Table, rows_of
from dcsvm_dask.diagnostics.report.views.glyphs import dots, line
from dcsvm_dask.diagnostics.report.views.style import hover, legend, log_axis, plot, series_colour

MOST_POINTS = 1500
"""Largest number of points of a level in one figure."""


def sizes(blocks: Table) -> Any:
    """Return the figure of each level's block sizes in descending order."""
    made = plot("share of the level's blocks, largest first", "rows of a block", log="y")
    items, drawn = [], []
    for position, (level, own) in enumerate(_by_level(blocks)):
        ordered = sorted((row["rows"] for row in own), reverse=True)
        step = max(1, len(ordered) // MOST_POINTS)
        y = ordered[::step]
        x = [(i * step + 0.5) / len(ordered) for i in range(len(y))]
        source = ColumnDataSource({"x": x, "y": y, "level": [level] * len(y)})
        colour = series_colour(position)
        line(made, source, colour)
        marks = dots(made, source, colour, 6 if len(y) < 40 else 2)
        items.append((f"level {level}", colour))
        drawn.append(marks)
    legend(made, items)
    log_axis(made, "y", blocks["rows"])
    hover(made, [("level", "@level"), ("rows", "@y{0,0}")], drawn)
    return made


def costs(blocks: Table) -> Any:
    """Return the figure of each block's seconds over its rows."""
    made = plot("rows of a block", "seconds", log="xy", svg=False)
    items, drawn = [], []
    for position, (level, own) in enumerate(_by_level(blocks)):
        # The longest ones.
        shown = sorted(own, key=lambda row: -row["seconds"])[:MOST_POINTS]
        shown = [row for row in shown if row["seconds"] > 0]
        source = ColumnDataSource(
            {
                key: [row[key] for row in shown]
                for key in ("rows", "seconds", "support", "iterations", "block", "level")
            }
        )
        colour = series_colour(position)
        marks = dots(made, source, colour, 6, x="rows", y="seconds", alpha=0.6)
        items.append((f"level {level}", colour))
        drawn.append(marks)
    legend(made, items)
    log_axis(made, "x", blocks["rows"])
    log_axis(made, "y", blocks["seconds"])
    hover(
        made,
        [
            ("", "level @level, block @block"),
            ("rows", "@rows{0,0}"),
            ("support vectors", "@support{0,0}"),
            ("iterations", "@iterations{0,0}"),
            ("seconds", "@seconds{0.000}"),
        ],
        drawn,
    )
    return made


def _by_level(blocks: Table) -> list[tuple[int, list[dict[str, Any]]]]:
    rows = list(rows_of(blocks))
    return [
        (level, [row for row in rows if row["level"] == level])
        for level in sorted(set(blocks["level"]), reverse=True)
    ]
