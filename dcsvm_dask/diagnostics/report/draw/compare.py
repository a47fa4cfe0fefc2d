"""Several runs in one figure."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, NumeralTickFormatter, Range1d

from dcsvm_dask.diagnostics.colours import BLUE
from dcsvm_dask.diagnostics.report.draw.glyphs import dots, line, points
from dcsvm_dask.diagnostics.report.draw.style import (
    SERIES,
    WHOLE,
    hover,
    legend,
    linear_range,
    log_axis,
    plot,
    whiskers,
)
from dcsvm_dask.diagnostics.report.table import Table, rows_of

COLOURS = (BLUE, *SERIES)
DARKER = 0.55
SAME = 1e-12
"""A relative error up to this is none."""


def colour_of(position: int) -> str:
    """Return the colour of one of some runs; after as many as there are, they are darker."""
    colour, again = COLOURS[position % len(COLOURS)], position // len(COLOURS)
    parts = (int(colour[i : i + 2], 16) * DARKER**again for i in (1, 3, 5))
    return "#" + "".join(f"{round(part):02x}" for part in parts)


def accuracy(found: Table, names: list[str], *, log: bool) -> Any:
    """Return accuracy over time, a line for each run."""
    made = plot(
        "time (s)",
        "accuracy on held-out rows",
        width=WHOLE,
        height=320,
        log="x" if log else "",
    )
    ends, items, drawn = [], [], []
    for position, name in enumerate(names):
        own = [row for row in rows_of(found) if row["run"] == name]
        if not own:
            continue
        low = [row["accuracy"] - row["accuracy_error"] for row in own]
        high = [row["accuracy"] + row["accuracy_error"] for row in own]
        source = ColumnDataSource(
            {
                "x": [row["time"] for row in own],
                "y": [row["accuracy"] for row in own],
                "low": low,
                "high": high,
                "run": [name] * len(own),
                "what": [f"level {row['level']}" if row["level"] else "exact" for row in own],
            }
        )
        colour = colour_of(position)
        line(made, source, colour)
        whiskers(made, source, colour)
        drawn.append(dots(made, source, colour))
        items.append((name, colour))
        ends += [*low, *high]
    legend(made, items)
    hover(made, [("", "@run, @what"), ("accuracy", "@y{0.00 %}"), ("after", "@x{0.0} s")], drawn)
    made.y_range = linear_range(min(ends), max(ends))
    _time_axis(made, found["time"], log=log)
    made.yaxis[0].formatter = NumeralTickFormatter(format="0.0 %")
    return made


def error(found: Table, names: list[str], *, log: bool) -> Any | None:
    """Return the relative error of the objective over time, log scale, a line for each run.

    Points that cannot be told from the best one are open triangles at their upper limit: estimates
    at two standard errors, the best itself at its duality gap.
    """
    made = plot(
        "time (s)",
        "relative error of the objective",
        width=WHOLE,
        height=320,
        log="xy" if log else "y",
    )
    ends, items, drawn = [], [], []
    for position, name in enumerate(names):
        own = [row for row in rows_of(found) if row["run"] == name]
        found_points = (_point(row) for row in own)
        known = [point for point in found_points if point is not None]
        if not known:
            continue
        colour = colour_of(position)
        for limit in (False, True):
            some = [point for point in known if point["limit"] == limit]
            source = ColumnDataSource({key: [p[key] for p in some] for key in SHOWN})
            fill = None if limit else colour
            marker = "inverted_triangle" if limit else "circle"
            drawn.append(dots(made, source, colour, 9, marker=marker, fill=fill))
        line(made, points([p["x"] for p in known], [p["y"] for p in known]), colour, 1.2)
        items.append((name, colour))
        ends += [point["y"] for point in known]
    if not ends:
        return None
    legend(made, items)
    hover(made, [("", "@run, @stage"), ("error", "@y{0.0e+0}"), ("after", "@x{0.0} s")], drawn)
    log_axis(made, "y", ends)
    _time_axis(made, found["time"], log=log)
    return made


SHOWN = ("x", "y", "run", "stage", "limit")


def _point(row: dict[str, Any]) -> dict[str, Any] | None:
    """Return where a point is drawn; None where nothing is known of it."""
    value, spread = row["error"], row["standard_error"]
    about = {"x": row["time"], "run": row["run"], "stage": row["stage"]}
    if value > max(2 * spread, SAME):
        return {**about, "y": value, "limit": False}
    upper = value + 2 * spread if spread else row["gap"]
    return {**about, "y": upper, "limit": True} if upper and upper > 0 else None


def _time_axis(made: Any, times: list[float], *, log: bool) -> None:
    known = [time for time in times if time > 0]
    if log:
        log_axis(made, "x", known)
    else:
        made.x_range = Range1d(0.0, 1.03 * max(known, default=1.0))
