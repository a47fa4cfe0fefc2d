"""Objective, gap, violation and support vectors over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bokeh.models import ColumnDataSource, Range1d

from dcsvm_dask.diagnostics.colours import GREY
from dcsvm_dask.diagnostics.report.draw.glyphs import dots, line, points
from dcsvm_dask.diagnostics.report.draw.style import (
    EXACT,
    SERIES,
    breaks,
    from_zero,
    hover,
    line_at,
    linear_range,
    log_axis,
    plot,
    whiskers,
)
from dcsvm_dask.diagnostics.report.table import Table, rows_of

LEVELS, ROUNDS = SERIES[0], EXACT
TIME = "time (s)"


def over_time(
    history: Table,
    key: str,
    label: str,
    *,
    pauses: Sequence[float] = (),
    log: bool = False,
    zero: bool = False,
    goal: float | None = None,
) -> Any | None:
    """Return the figure of one column of the history; None where it has no numbers.

    Parameters
    ----------
    history : Table
        See `dcsvm_dask.diagnostics.report.history.history`.
    key : str
        The column; where there is ``KEY_error`` it is drawn as bars.
    pauses : sequence of float
        Where the run was taken up again.
    zero : bool
        Whether the axis begins at 0.
    goal : float, optional
        A line to reach.
    """
    rows = [row for row in rows_of(history) if row[key] is not None and (row[key] > 0 or not log)]
    if not rows:
        return None
    made = plot(TIME, label, log="y" if log else "")
    values = [row[key] for row in rows]
    line(made, points([row["time"] for row in rows], values), GREY, 1, alpha=0.6)
    drawn, sources = [], []
    for level, colour in ((True, LEVELS), (False, ROUNDS)):
        own = [row for row in rows if (row["level"] is not None) == level]
        errors = [row.get(f"{key}_error") or 0.0 for row in own]
        source = ColumnDataSource(
            {
                "x": [row["time"] for row in own],
                "y": [row[key] for row in own],
                "stage": [row["stage"] for row in own],
                "error": errors,
                "low": [_low(row[key], e, log) for row, e in zip(own, errors, strict=True)],
                "high": [row[key] + e for row, e in zip(own, errors, strict=True)],
            }
        )
        sources.append(source)
        if any(errors):
            whiskers(made, source, colour)
        drawn.append(dots(made, source, colour))
    hover(made, [("", "@stage"), ("time", "@x{0.0} s"), (label, "@y{0,0.[000000]}")], drawn)
    if goal is not None:
        line_at(made, goal)
    ends = [value for source in sources for key in ("low", "high") for value in source.data[key]]
    if zero:
        from_zero(made, max(ends))
    elif log:
        log_axis(made, "y", [*ends, *([goal] if goal else [])])
    else:
        made.y_range = linear_range(min(ends), max(ends))
    made.x_range = Range1d(0.0, 1.03 * max(row["time"] for row in rows) or 1.0)
    breaks(made, pauses)
    return made


def _low(value: float, error: float, log: bool) -> float:
    return max(value - error, value / 100) if log else value - error
