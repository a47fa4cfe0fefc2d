"""Lines, dots and bars, added as single glyphs.

`figure.line` and similar methods make five models each, for selections that a report does not use.
"""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, HBar, Line, Scatter, VBar

AUTO = ""
"""Fill with the colour of the outline."""


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
    """Draw a line.

    Parameters
    ----------
    made : bokeh.plotting.figure
    source : bokeh.models.ColumnDataSource
        Has the columns x and `y`.
    colour : str
    width : float, default 1.8
        Pixels.
    y : str, default "y"
        Column of the y coordinates.
    dash : str, default "solid"
    alpha : float, default 1
        Opacity in [0, 1].

    Returns
    -------
    bokeh.models.GlyphRenderer
    """
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
    """Draw a marker for each row.

    Parameters
    ----------
    made : bokeh.plotting.figure
    source : bokeh.models.ColumnDataSource
    colour : str
        A colour, or the name of a column of colours.
    size : float, default 8
        Pixels.
    x, y : str
        Columns of the coordinates.
    marker : str, default "circle"
    fill : str or None
        Fill colour; None for open markers; by default the colour of the outline.
    alpha : float, default 1
        Opacity in [0, 1].

    Returns
    -------
    bokeh.models.GlyphRenderer
    """
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
    """Draw a vertical bar at each x.

    Parameters
    ----------
    made : bokeh.plotting.figure
    source : bokeh.models.ColumnDataSource
        Has the column x.
    colour : str
    top : str
        Column of the upper ends.
    bottom : str or float, default 0
        Column of the lower ends, or their value.

    Returns
    -------
    bokeh.models.GlyphRenderer
    """
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
    """Draw a horizontal bar for each row.

    Parameters
    ----------
    made : bokeh.plotting.figure
    source : bokeh.models.ColumnDataSource
    colour : str
    y : str
        Column of the bars' centres.
    right : str
        Column of the right ends.
    left : str or float, default 0
        Column of the left ends, or their value.
    height : float, default 0.36
        Height of a bar in units of y.
    alpha : float, default 1
        Opacity in [0, 1].

    Returns
    -------
    bokeh.models.GlyphRenderer
    """
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
    """Return a data source with the columns x and y."""
    return ColumnDataSource({"x": list(x), "y": list(y)})
