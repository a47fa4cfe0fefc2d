"""Kernel values of the stages beside the plan."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, Range1d

from dcsvm_dask.diagnostics.colours import BLUE, GREY
from dcsvm_dask.diagnostics.report.draw.glyphs import bars
from dcsvm_dask.diagnostics.report.draw.style import HALF, hover, legend, plot, ticks
from dcsvm_dask.diagnostics.report.table import Table, rows_of


def beside_plan(work: Table, key: str, label: str, form: str) -> Any | None:
    """Return one figure of each stage, as it was and as it was foretold; None without numbers.

    Parameters
    ----------
    key : str
        A column that has a ``KEY_planned`` beside it.
    form : str
        How Bokeh shows its values.
    """
    rows = [row for row in rows_of(work) if row[key] or row[f"{key}_planned"]]
    if not rows:
        return None
    made = plot(label, "", width=HALF, height=90 + 34 * len(rows))
    at = [float(len(rows) - 1 - i) for i in range(len(rows))]
    source = ColumnDataSource(
        {
            "stage": [row["stage"] for row in rows],
            "actual": [row[key] or 0.0 for row in rows],
            "planned": [row[f"{key}_planned"] or 0.0 for row in rows],
            "above": [y + 0.19 for y in at],
            "below": [y - 0.19 for y in at],
        }
    )
    actual = bars(made, source, BLUE, y="above", right="actual")
    planned = bars(made, source, GREY, y="below", right="planned", alpha=0.5)
    legend(made, [("actual", BLUE), ("planned", "#8a8f9880")])
    hover(
        made,
        [("", "@stage"), ("actual", f"@actual{{{form}}}"), ("planned", f"@planned{{{form}}}")],
        [actual, planned],
    )
    ticks(made.yaxis[0], at, [row["stage"] for row in rows])
    made.y_range = Range1d(-0.6, len(rows) - 0.4)
    made.ygrid.grid_line_color = None
    made.xgrid.grid_line_color = "#e0e0e0"
    most = max([*source.data["actual"], *source.data["planned"]])
    made.x_range = Range1d(0.0, 1.05 * most)
    made.xaxis.ticker.desired_num_ticks = 5
    return made
