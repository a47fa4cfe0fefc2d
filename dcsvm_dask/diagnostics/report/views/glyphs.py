"""Lines, dots and bars.

`figure.line` and its like make five models of each, for selections that a report does not have.
"""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, HBar, Line, Scatter, VBar

AUTO = ""
"""Filled as it is outlined."""


def line(
    made: Any,
    source: ColumnDataSource,
    colour: str,
    width: float = 1.8,
    *,
    y: str = "y",
    dash: str = "solid",
    alpha: float = 1.0,
) -> Any:
    """Draw a line through the columns x and y."""
    shape = Line(x="x", y=y, line_color=colour, line_width=width, line_dash=dash, line_alpha=alpha)
    return made.add_glyph(source, shape)


def dots(
    made: Any,
    source: ColumnDataSource,
    colour: Any,
    size: float = 8,
    *,
    x: str = "x",
    y: str = "y",
    marker: str = "circle",
    fill: str | None = AUTO,
    alpha: float = 1.0,
) -> Any:
    """Draw a marker at each row; `fill` None: open ones."""
    shape = Scatter(
        x=x,
        y=y,
        size=size,
        marker={"value": marker},
        line_color=colour,
        fill_color=colour if fill == AUTO else fill,
        fill_alpha=alpha,
        line_alpha=alpha,
    )
    return made.add_glyph(source, shape)


def columns(made: Any, source: ColumnDataSource, colour: str, *, top: str, bottom: Any = 0) -> Any:
    """Draw a standing bar at each x."""
    shape = VBar(x="x", top=top, bottom=bottom, width=0.5, fill_color=colour, line_color=colour)
    return made.add_glyph(source, shape)


def bars(
    made: Any,
    source: ColumnDataSource,
    colour: str,
    *,
    y: str,
    right: str,
    left: Any = 0,
    height: float = 0.36,
    alpha: float = 1.0,
) -> Any:
    """Draw a lying bar for each row."""
    shape = HBar(
        y=y,
        left=left,
        right=right,
        height=height,
        fill_color=colour,
        line_color=colour,
        line_width=0.6,
        fill_alpha=alpha,
        line_alpha=alpha,
    )
    return made.add_glyph(source, shape)


def points(x: Any, y: Any) -> ColumnDataSource:
    """Return the columns x and y."""
    return ColumnDataSource({"x": list(x), "y": list(y)})
