"""Accuracy over time, ROC, precision over recall."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, NumeralTickFormatter, Range1d, Text

from dcsvm_dask.diagnostics.colours import GREEN, GREY, ORANGE, PURPLE
from dcsvm_dask.diagnostics.report.draw.glyphs import dots, line, points
from dcsvm_dask.diagnostics.report.draw.style import (
    EXACT,
    FONT,
    WHOLE,
    hover,
    legend,
    linear_range,
    plot,
    series_colour,
    whiskers,
)
from dcsvm_dask.diagnostics.report.table import Table, rows_of

MARKERS = (("early", ORANGE), ("naive", PURPLE), ("committee", GREEN), ("exact", EXACT))


def accuracy(predictions: Table, modes: Table) -> Any:
    """Return the accuracy of every model over the time at which it was there (Figure 3).

    Parameters
    ----------
    predictions, modes : Table
        See `predictions` and `prediction_modes`; of the latter naive prediction is taken.
    """
    found = list(rows_of(predictions))
    found += [row for row in rows_of(modes) if row["mode"] == "naive" or not found]
    made = plot("time (s)", "accuracy on held-out rows", width=WHOLE, height=300)
    items, drawn, ends = [], [], []
    for mode, colour in MARKERS:
        own = sorted((row for row in found if row["mode"] == mode), key=lambda row: row["time"])
        if not own:
            continue
        source = ColumnDataSource(
            {
                "x": [row["time"] for row in own],
                "y": [row["accuracy"] for row in own],
                "low": [row["accuracy"] - row["accuracy_error"] for row in own],
                "high": [row["accuracy"] + row["accuracy_error"] for row in own],
                "mark": [str(row["level"]) if row["level"] else "E" for row in own],
                "name": [f"level {row['level']}" if row["level"] else "" for row in own],
                "mode": [mode] * len(own),
                "rows": [row["rows"] for row in own],
            }
        )
        line(made, source, colour, 1.5)
        whiskers(made, source, colour)
        marks = dots(made, source, colour, 17)
        words = Text(
            x="x",
            y="y",
            text={"field": "mark"},
            text_color="#ffffff",
            text_align="center",
            text_baseline="middle",
            text_font={"value": FONT},
            text_font_size="11px",
        )
        made.add_glyph(source, words)
        items.append((mode, colour))
        ends += [*source.data["low"], *source.data["high"]]
        drawn.append(marks)
    legend(made, items)
    hover(
        made,
        [
            ("", "@mode @name"),
            ("accuracy", "@y{0.00 %}"),
            ("rows", "@rows{0,0}"),
            ("after", "@x{0.0} s"),
        ],
        drawn,
    )
    made.x_range = Range1d(0.0, 1.03 * max(row["time"] for row in found) or 1.0)
    made.y_range = linear_range(min(ends), max(ends))
    made.yaxis[0].formatter = NumeralTickFormatter(format="0.0 %")
    return made


def curves(table: Table, x: str, y: str, areas: dict[str, str], *, diagonal: bool) -> Any:
    """Return the ROC curves, or precision over recall, of all models.

    Parameters
    ----------
    areas : dict
        What the legend says of each model.
    diagonal : bool
        Whether to draw the line of a guess.
    """
    made = plot(x.replace("_", " "), y.replace("_", " "), height=380)
    if diagonal:
        line(made, points([0, 1], [0, 1]), GREY, 1, dash="dashed")
    items, drawn = [], []
    for position, (name, area) in enumerate(areas.items()):
        own = [row for row in rows_of(table) if row["model"] == name]
        colour = EXACT if name == "exact" else series_colour(position)
        source = ColumnDataSource(
            {"x": [r[x] for r in own], "y": [r[y] for r in own], "model": [name] * len(own)}
        )
        items.append((area, colour))
        drawn.append(line(made, source, colour))
    legend(made, items)
    hover(made, [("", "@model"), (x[:9], "@x{0.0 %}"), (y[:9], "@y{0.0 %}")], drawn)
    least = min((value for value in table[y]), default=0.0)
    made.x_range = Range1d(-0.01, 1.01)
    made.y_range = Range1d(-0.01 if diagonal else max(-0.01, least - 0.05), 1.01)
    return made
