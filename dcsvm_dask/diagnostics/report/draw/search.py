"""The grid of a search as heat maps (Figures 6 to 9 of Hsieh, Si, Dhillon, 2014)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from bokeh.models import CategoricalTickFormatter, ColumnDataSource, FactorRange
from bokeh.palettes import Viridis256

from dcsvm_dask.diagnostics.report.draw.style import HALF, hover, plot
from dcsvm_dask.diagnostics.report.table import Table, rows_of

ROW_HEIGHT, LEAST_HEIGHT = 34, 180
DARK = 0.6
"""Cells from this place of the colours on are light: their text is dark."""
MOST_TEXTS = 12
"""Columns of cells that are wide enough for a number."""


def heat_map(candidates: Table, column: str, varied: Sequence[str], *, log: bool) -> Any:
    """Return a figure of one column, C to the right, the kernel's parameters up; None: no values.

    Parameters
    ----------
    candidates : Table
    column : str
    varied : sequence of str
        The parameters of the kernel that name a line of the grid.
    log : bool
        Whether colours follow the logarithm: of times; else numbers are shares.
    """
    rows = [row for row in rows_of(candidates) if row[column] is not None]
    if not rows:
        return None
    costs = [short(value) for value in sorted(set(candidates["C"]))]
    every = {tuple(row[key] for key in varied) for row in rows_of(candidates)}
    lines = [" · ".join(map(short, key)) for key in sorted(every)]
    values = [math.log(max(row[column], 1e-6)) if log else row[column] for row in rows]
    low, high = min(values), max(values)
    places = [(value - low) / (high - low) if high > low else 0.5 for value in values]
    source = ColumnDataSource(
        {
            "C": [short(row["C"]) for row in rows],
            "line": [" · ".join(short(row[key]) for key in varied) for row in rows],
            "colour": [Viridis256[int(255 * place)] for place in places],
            "text": [_told(row[column], log=log) for row in rows],
            "ink": ["#222222" if place >= DARK else "#ffffff" for place in places],
            "edge": ["#d62728" if row["best"] else "#ffffff" for row in rows],
            "edge_width": [3 if row["best"] else 0 for row in rows],
            "state": [_state(row) for row in rows],
        }
    )
    made = plot(
        "C",
        ", ".join(varied) or "kernel",
        height=max(LEAST_HEIGHT, 70 + ROW_HEIGHT * len(lines)),
        width=HALF,
        x_range=FactorRange(*costs),
        y_range=FactorRange(*(lines or [""])),
    )
    for axis in made.axis:
        axis.formatter = CategoricalTickFormatter()
    made.ygrid.grid_line_color = None
    cells = made.rect(
        "C",
        "line",
        width=0.98,
        height=0.96,
        source=source,
        fill_color="colour",
        line_color="edge",
        line_width="edge_width",
    )
    if len(costs) <= MOST_TEXTS:
        made.text(
            "C",
            "line",
            text="text",
            source=source,
            text_color="ink",
            text_align="center",
            text_baseline="middle",
            text_font_size="11px",
        )
    named = [("C", "@C"), (", ".join(varied) or "kernel", "@line"), ("", "@text"), ("", "@state")]
    hover(made, named, [cells])
    return made


def short(value: float) -> str:
    """Return a number as the axis shows it: a power of two as one."""
    if value <= 0:
        return f"{value:.4g}"
    power = math.log2(value)
    if value != 1 and power == int(power) and (value < 0.1 or value > 100):
        return f"2^{int(power)}"
    return f"{value:.4g}"


def _told(value: float, *, log: bool) -> str:
    if not log:
        return f"{100 * value:.2f}"
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def _state(row: dict[str, Any]) -> str:
    how = "by blocks" if row["exact_accuracy"] is None else "exact"
    if row["share"] and row["share"] < 1:
        how += f", {row['share']:.0%} of the held-out rows"
    return how + ("" if row["solved"] else ", NOT solved") + (", the best" if row["best"] else "")
