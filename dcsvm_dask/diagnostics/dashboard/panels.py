"""Functions that the page's figures share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, NumeralTickFormatter
from bokeh.plotting import figure

from dcsvm_dask.diagnostics.colours import GREY
from dcsvm_dask.diagnostics.dashboard import curves
from dcsvm_dask.diagnostics.dashboard.runs import FollowedRun

SHORT = 190
"""Height of a small figure, pixels."""


class Shown(Protocol):
    """A figure of the page."""

    root: Any

    def update(self, run: FollowedRun) -> None:
        """Draw a run."""


def panel(name: str, height: int, *, until: str = "", **how: Any) -> Any:
    """Return an empty figure in the style of the page.

    Parameters
    ----------
    name : str
    height : int
        Pixels.
    until : str
        Text in the empty figure: when it will have data.
    how : dict
        Further options of `bokeh.plotting.figure`.
    """
    plot = figure(
        name=name,
        height=height,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        outline_line_color=None,
        min_border_left=78,
        min_border_bottom=26,
        tags=[until],
        **how,
    )
    plot.title.text, plot.title.align, plot.title.text_color = until, "center", GREY
    plot.title.text_font_style, plot.title.text_font_size = "normal", "12px"
    plot.axis.visible = plot.grid.visible = not until
    plot.axis.axis_line_color = plot.axis.minor_tick_line_color = None
    plot.axis.major_tick_line_color = None
    plot.axis.major_label_text_color = GREY
    plot.grid.grid_line_color = GREY
    plot.grid.grid_line_alpha = 0.25
    plot.xgrid.grid_line_color = None
    if how.get("y_axis_type") == "log":  # see `decades`
        plot.yaxis.ticker = plot.ygrid.ticker = FixedTicker(ticks=[])
    return plot


def fill(plot: Any, known: bool) -> None:
    """Show the axes of a figure that has data; until then show its text."""
    text = "" if known else plot.tags[0]
    if plot.title.text != text:
        plot.title.text = text
        plot.axis.visible = plot.grid.visible = known


def empty(columns: Iterable[str]) -> ColumnDataSource:
    """Return an empty data source with some columns."""
    return ColumnDataSource({key: [] for key in columns})


def hover(plot: Any, renderers: list[Any], *rows: tuple[str, str], html: str = "") -> None:
    """Add a tooltip for some renderers.

    Parameters
    ----------
    plot : bokeh.plotting.figure
    renderers : list of bokeh.models.GlyphRenderer
    rows : tuple of (str, str)
        Labels and fields.
    html : str
        HTML that is used instead of rows, where it is not empty.
    """
    tooltips = html or list(rows)
    plot.add_tools(HoverTool(renderers=renderers, tooltips=tooltips, point_policy="follow_mouse"))


def thickness(n: int) -> float:
    """Return the share of its place that each of `n` bars takes, at most 0.7."""
    return min(0.7, 0.18 * n)


def span(range_: Any, start: float, end: float) -> None:
    """Set the ends of a range, unless they are the same; each change goes to the browser.

    Parameters
    ----------
    range_ : bokeh.models.Range1d
    start, end : float
    """
    if (range_.start, range_.end) != (start, end):
        range_.update(start=start, end=end)


def time_axis(plot: Any) -> None:
    """Show seconds as hours, minutes and seconds."""
    plot.xaxis.formatter = NumeralTickFormatter(format="00:00:00")
    plot.xaxis.ticker.desired_num_ticks = 5


def decades(plot: Any, values: Iterable[float]) -> None:
    """Give a log axis a range of whole decades around some values, with a tick for each."""
    low, high = curves.log_range(values)
    span(plot.y_range, low, high)
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    step = -(-(last - first) // 6)
    ticks = [10.0**power for power in range(first, last + 1, step)]
    # Always the same ticker: with another model Bokeh goes through all of the document.
    if plot.yaxis[0].ticker.ticks != ticks:
        plot.yaxis[0].ticker.ticks = ticks
