"""The section of predicted targets for held-out rows."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, Range1d

from dcsvm_dask.diagnostics.colours import GREY
from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, grid
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, n_rows
from dcsvm_dask.diagnostics.report.views.glyphs import dots, line, points
from dcsvm_dask.diagnostics.report.views.predictions import nothing_scored
from dcsvm_dask.diagnostics.report.views.style import (
    EXACT,
    hover,
    legend,
    linear_range,
    plot,
    series_colour,
)
from dcsvm_dask.tasks import RealTargets
from dcsvm_dask.tasks.scores import SCORES


def target_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of predictions of a run that learns real targets, or one class."""
    scores, pairs = tables["target_scores"], tables["predicted_targets"]
    nothing = nothing_scored(records, scores)
    if nothing is not None:
        return nothing
    lead = "Every model is scored on held-out rows as soon as it is committed."
    shown = [
        ("stage", "model", text.word),
        ("mode", "prediction", text.word),
        ("time", "after", text.seconds),
        *((key, name, text.number) for key, name in SCORES.items() if any_of(scores[key])),
        ("rows", "rows", text.whole),
    ]
    words = ("stage", "mode")
    parts: list[Part] = []
    key = next(key for key in SCORES if any_of(scores[key]))
    if n_rows(scores) > 1:
        made = over_time(scores, key, SCORES[key])
        parts.append(Picture(made, f"{SCORES[key]} over time", LEVELS, "target_scores"))
    if isinstance(records.task, RealTargets):
        made = scatter(pairs)
        parts.append(Picture(made, "Predicted and true targets", DIAGONAL, "predicted_targets"))
    parts.append(grid(scores, shown, title="Models", table="target_scores", words=words))
    each = tables["quantile_scores"]
    if n_rows(each):
        columns = [
            ("stage", "model", text.word),
            ("quantile", "quantile", text.word),
            ("pinball", SCORES["pinball"], text.number),
            ("coverage", SCORES["coverage"], text.number),
        ]
        words = ("stage", "quantile")
        parts.append(grid(each, columns, title="Quantiles", table="quantile_scores", words=words))
    return Section("prediction", "Prediction", lead, parts)


LEVELS = "From the bottom level to the last model, at the time of its commit."
DIAGONAL = "Held-out rows, predicted by the last model; on the line both are equal."


def any_of(column: list[Any]) -> bool:
    """Return whether a column has a value."""
    return any(value is not None for value in column)


def over_time(scores: Table, key: str, name: str) -> Any:
    """Return the figure of a score over the time of each model's commit."""
    made = plot("time (s)", f"{name} on held-out rows", height=380)
    levels = [f"level {level}" if level else "last model" for level in scores["level"]]
    source = ColumnDataSource({"x": scores["time"], "y": scores[key], "name": levels})
    line(made, source, EXACT)
    marks = dots(made, source, EXACT, 9)
    hover(made, [("", "@name"), (name, "@y{0.0000}"), ("after", "@x{0.0} s")], [marks])
    made.x_range = Range1d(0.0, 1.03 * max(scores["time"]) or 1.0)
    made.y_range = linear_range(min(scores[key]), max(scores[key]))
    return made


def scatter(pairs: Table) -> Any:
    """Return the figure of predicted over true targets."""
    made = plot("target", "prediction", height=380)
    both = [*pairs["target"], *pairs["prediction"]]
    low, high = min(both), max(both)
    line(made, points([low, high], [low, high]), GREY, 1, dash="dashed")
    names = list(dict.fromkeys(pairs["quantile"]))  # None where there are not several quantiles
    colours = [EXACT if name is None else series_colour(i) for i, name in enumerate(names)]
    for name, colour in zip(names, colours, strict=True):
        mine = [i for i, one in enumerate(pairs["quantile"]) if one == name]
        source = ColumnDataSource({key: [pairs[key][i] for i in mine] for key in pairs})
        marks = dots(made, source, colour, 4, x="target", y="prediction", alpha=0.5)
        several = [] if name is None else [("quantile", "@quantile")]
        hover(made, [("target", "@target"), ("prediction", "@prediction"), *several], [marks])
    if len(names) > 1:
        legend(made, [(str(name), colour) for name, colour in zip(names, colours, strict=True)])
    made.x_range, made.y_range = linear_range(low, high), linear_range(low, high)
    return made
