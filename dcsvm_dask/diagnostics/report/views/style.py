"""The style of all figures of a report; the page sets colours of text and lines, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bokeh.models import (
    BasicTickFormatter,
    ColumnDataSource,
    CustomJSTickFormatter,
    FixedTicker,
    HoverTool,
    Range1d,
    Span,
    Whisker,
)
from bokeh.plotting import figure

from dcsvm_dask.diagnostics.colours import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY

THIRD, HALF, WHOLE = 338, 518, 1056
"""Widths of figures, in pixels."""
HEIGHT = 260

SERIES = (ORANGE, GREEN, PURPLE, RED, SKY, "#b59f00", "#7f7f7f")
"""Colours of models and levels; the exact model is blue."""
EXACT = BLUE

MOST_DECADES = 7
"""Largest number of labels of a logarithmic axis."""

FONT = "system-ui, sans-serif"
# Powers of ten, with a raised exponent where they are long.
LOG_TICKS = """
    const exponent = Math.round(Math.log10(tick))
    if (exponent >= -3 && exponent <= 3) return String(Number(Math.pow(10, exponent).toFixed(3)))
    const raised = {'-': '\\u207b', '0': '\\u2070', '1': '\\u00b9', '2': '\\u00b2', '3': '\\u00b3',
        '4': '\\u2074', '5': '\\u2075', '6': '\\u2076', '7': '\\u2077', '8': '\\u2078',
        '9': '\\u2079'}
    return '10' + String(exponent).split('').map(one => raised[one]).join('')
"""
SHORT_TICKS = """
    const names = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']]
    for (const [size, name] of names)
        if (Math.abs(tick) >= size) return Number((tick / size).toPrecision(6)) + name
    return String(Number(tick.toPrecision(6)))
"""


def plot(
    x_label: str = "",
    y_label: str = "",
    *,
    width: int = HALF,
    height: int = HEIGHT,
    svg: bool = True,
    log: str = "",
    **more: Any,
) -> Any:
    """Return an empty figure.

    Parameters
    ----------
    x_label, y_label : str
        Labels of the axes.
    width, height : int
        Pixels.
    svg : bool, default True
        Whether it is drawn as SVG, which prints sharply; figures of thousands of shapes are
        faster without.
    log : {"", "x", "y", "xy"}
        Logarithmic axes.
    more : dict
        Further options of `bokeh.plotting.figure`.

    Returns
    -------
    bokeh.plotting.figure
    """
    made = figure(
        width=width,
        height=height,
        output_backend="svg" if svg else "canvas",
        tools="box_zoom,xwheel_pan,reset,save" if width == WHOLE else "box_zoom,reset,save",
        toolbar_location="right",
        x_axis_label=x_label,
        y_axis_label=y_label,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        x_axis_type="log" if "x" in log else "auto",
        y_axis_type="log" if "y" in log else "auto",
        **more,
    )
    made.toolbar.logo = None
    made.toolbar.autohide = True
    for axis in made.axis:
        axis.axis_label_text_font = axis.major_label_text_font = FONT
        axis.axis_label_text_font_size, axis.major_label_text_font_size = "12px", "11px"
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_color = None
        axis.major_tick_in = 0
        axis.axis_line_width = 1
    made.xgrid.grid_line_color = None
    for axis, name in ((made.xaxis, "x"), (made.yaxis, "y")):
        axis.formatter = CustomJSTickFormatter(code=LOG_TICKS if name in log else SHORT_TICKS)
    return made


def hover(made: Any, tooltips: Sequence[tuple[str, str]], renderers: Sequence[Any]) -> None:
    """Show some columns as a tooltip.

    Parameters
    ----------
    made : bokeh.plotting.figure
    tooltips : sequence of (str, str)
        Labels and fields.
    renderers : sequence of bokeh.models.GlyphRenderer
    """
    made.add_tools(HoverTool(tooltips=list(tooltips), renderers=list(renderers)))


def legend(made: Any, items: Sequence[tuple[str, str]]) -> None:
    """Set the labels and colours of the legend, which the page shows above the figure."""
    made.tags = [list(item) for item in items]


def log_axis(made: Any, name: str, values: Sequence[float]) -> None:
    """Fit a logarithmic axis to some values, with labels at powers of ten, at least two.

    Parameters
    ----------
    made : bokeh.plotting.figure
    name : {"x", "y"}
    values : sequence of float
        Values up to 0 are ignored.
    """
    known = [value for value in values if value > 0]
    low, high = math.log10(min(known, default=0.1)), math.log10(max(known, default=1.0))
    margin = 0.06 * max(high - low, 1.0)
    low, high = low - margin, high + margin
    if math.floor(high) - math.ceil(low) < 1:
        low, high = math.floor(low), math.ceil(high)
    step = max(1, math.ceil((high - low) / MOST_DECADES))
    decades = [10.0**power for power in range(math.ceil(low), math.floor(high) + 1, step)]
    setattr(made, f"{name}_range", Range1d(10.0**low, 10.0**high))
    axis = getattr(made, f"{name}axis")
    axis.ticker = FixedTicker(ticks=decades)


def linear_range(low: float, high: float) -> Range1d:
    """Return a range with a margin on both sides."""
    margin = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return Range1d(low - margin, high + margin)


def whiskers(made: Any, source: ColumnDataSource, colour: str) -> None:
    """Draw error bars from the columns x, low and high.

    Parameters
    ----------
    made : bokeh.plotting.figure
    source : bokeh.models.ColumnDataSource
    colour : str
    """
    bars = Whisker(base="x", lower="low", upper="high", source=source, line_color=colour)
    bars.upper_head.size = bars.lower_head.size = 6
    bars.upper_head.line_color = bars.lower_head.line_color = colour
    made.add_layout(bars)


def breaks(made: Any, times: Sequence[float]) -> None:
    """Draw a dashed line at each time at which a run was resumed."""
    for time in times:
        made.add_layout(
            Span(location=time, dimension="height", line_color=GREY, line_dash="dashed")
        )


def line_at(made: Any, value: float) -> None:
    """Draw a horizontal dashed line.

    Parameters
    ----------
    made : bokeh.plotting.figure
    value : float
        Its y coordinate.
    """
    made.add_layout(Span(location=value, dimension="width", line_color=GREY, line_dash="dashed"))


def from_zero(made: Any, most: float) -> None:
    """Set the range of the y axis from zero to a little above the largest value."""
    made.y_range = Range1d(0.0, 1.08 * most if most > 0 else 1.0)


def ticks(axis: Any, at: Sequence[float], labels: Sequence[str]) -> None:
    """Set texts as labels of an axis.

    Parameters
    ----------
    axis : bokeh.models.Axis
    at : sequence of float
        Positions.
    labels : sequence of str
    """
    axis.ticker = FixedTicker(ticks=list(at))
    axis.major_label_overrides = dict(zip(at, labels, strict=True))
    axis.formatter = BasicTickFormatter()


def series_colour(position: int) -> str:
    """Return the colour of a level by its position."""
    return SERIES[position % len(SERIES)]
