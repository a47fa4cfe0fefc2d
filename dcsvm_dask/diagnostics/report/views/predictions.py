"""Sections and figures of predictions for held-out rows."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, NumeralTickFormatter, Range1d, Text

from dcsvm_dask.diagnostics.colours import GREEN, GREY, ORANGE, PURPLE
from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.parts import Grid, Matrix, Part, Picture, Section, Words, grid
from dcsvm_dask.diagnostics.report.tables.predictions import class_names
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, n_rows, rows_of, table
from dcsvm_dask.diagnostics.report.views.glyphs import dots, line, points
from dcsvm_dask.diagnostics.report.views.style import (
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

MARKERS = (("early", ORANGE), ("naive", PURPLE), ("committee", GREEN), ("exact", EXACT))


def accuracy(predictions: Table, modes: Table) -> Any:
    """Return the figure of each model's accuracy over the time of its commit.

    It is Figure 3 of the paper.

    Parameters
    ----------
    predictions, modes : Table
        See `predictions` and `prediction_modes`; of the latter naive prediction is used.
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
    """Return the figure of the ROC or the precision-recall curves of all models.

    Parameters
    ----------
    table : Table
        See `roc_curves` and `precision_recall_curves`.
    x, y : str
        Columns of the coordinates.
    areas : dict of str to str
        Texts of the legend by model.
    diagonal : bool
        Whether to draw the line of a random guess.

    Returns
    -------
    bokeh.plotting.figure
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


MODES = {
    "early": "Early prediction (6)",
    "naive": "Naive prediction (5)",
    "committee": "Bayesian committee machine",
    "exact": "Exact model",
}
"""Names of the modes; numbers are those of the equations of Hsieh, Si, Dhillon (2014)."""
MOST_IN_MATRIX = 20
"""Largest number of classes of a matrix; larger ones are in the CSV file."""


def nothing_scored(records: Records, scored: Table) -> Section | None:
    """Return the section of predictions where no model was scored on held-out rows; else None."""
    if records.run.header.get("holdout") is None:
        lead = "No rows were held out: give --holdout DATA.zarr/test to `dcsvm train`."
        return Section("prediction", "Prediction", lead)
    if not n_rows(scored):
        return Section("prediction", "Prediction", "No model has been scored yet.")
    return None


def prediction_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of predictions."""
    predictions, modes = tables["predictions"], tables["prediction_modes"]
    nothing = nothing_scored(records, predictions)
    if nothing is not None:
        return nothing
    lead = (
        "Every model is scored on held-out rows as soon as it is committed: a level by early "
        "prediction (a row is predicted by the SVM of its own block)"
        + (
            ", and by the Bayesian committee machine of its blocks."
            if "committee" in predictions["mode"]
            else "."
        )
    )
    parts: list[Part] = []
    if n_rows(predictions) > 1:
        made = accuracy(predictions, modes)
        caption = (
            "Numbers are levels, E the exact model; bars are standard errors. A level within the "
            "bars of the exact model is as good where time counts."
        )
        parts.append(Picture(made, "Accuracy over time", caption, "predictions", wide=True))
    parts.append(_models(predictions))
    parts.append(_modes(modes) if n_rows(modes) else _no_modes(records))
    parts += _curves(tables)
    if len(class_names(records)) > 2:
        parts += _by_class(tables["class_scores"])
    parts += _matrices(records, tables["confusion"])
    return Section("prediction", "Prediction", lead, parts)


def _models(predictions: Table) -> Grid:
    shown = [
        ("stage", "model", text.word),
        ("mode", "prediction", text.word),
        ("time", "after", text.seconds),
        ("accuracy", "accuracy", text.percent),
        ("accuracy_error", "±", text.percent),
        ("balanced_accuracy", "balanced", text.percent),
        ("auc", "AUC", text.number),
        ("ap", "AP", text.number),
        ("rows", "rows", text.whole),
    ]
    caption = "Balanced: the mean of the classes' recalls. ±: the standard error of the accuracy."
    words = ("stage", "mode")
    return grid(
        predictions, shown, title="Models", caption=caption, table="predictions", words=words
    )


def _modes(modes: Table) -> Grid:
    rows = list(rows_of(modes))
    levels = sorted({row["level"] for row in rows if row["level"]}, reverse=True)
    columns = [*levels, *([0] if any(not row["level"] for row in rows) else [])]
    headers = ["", *(f"level {level}" if level else "exact" for level in columns)]
    lines = []
    for mode, name in MODES.items():
        own = {row["level"]: row for row in rows if row["mode"] == mode}
        if own:
            cells = (own.get(level) for level in columns)
            lines.append([name, *(_cell(cell) for cell in cells)])
    n = ", ".join(sorted({f"{row['rows']:,}" for row in rows}))
    return Grid(
        "Ways to predict",
        headers,
        lines,
        [True, *([False] * len(columns))],
        f"Accuracy and milliseconds a row, all on the same {n} held-out rows in one thread."
        + (" Early prediction should be nearly as accurate as the exact model." if levels else ""),
        "prediction_modes",
    )


def _cell(row: dict[str, float] | None) -> str:
    if row is None:
        return text.NOTHING
    return f"{text.percent(row['accuracy'])} / {row['ms_per_row']:.3g} ms"


def _no_modes(records: Records) -> Words:
    return Words(
        "Naive prediction and the time that a row takes cost kernel values, so they are computed "
        "on demand:",
        f"dcsvm report {records.run.place}",
    )


def _curves(tables: dict[str, Table]) -> list[Part]:
    names = list(dict.fromkeys(tables["confusion"]["model"]))
    scores = dict(zip(names, rows_of(tables["predictions"]), strict=True))
    parts: list[Part] = []
    for key, x, y, area, title, caption in (
        (
            "roc_curves",
            "false_positive_rate",
            "true_positive_rate",
            "auc",
            "ROC curve",
            "The nearer to the upper left corner the better; dashed: a guess.",
        ),
        (
            "precision_recall_curves",
            "recall",
            "precision",
            "ap",
            "Precision and recall",
            "The share of predicted positives that are positive, over the share that is found.",
        ),
    ):
        areas = {
            name: f"{name}, {area.upper()} {score[area]:.4f}"
            for name, score in scores.items()
            if score[area] is not None
        }
        if areas:
            made = curves(tables[key], x, y, areas, diagonal=area == "auc")
            parts.append(Picture(made, title, caption, key))
    return parts


def _matrices(records: Records, confusion: Table) -> list[Part]:
    names, data = class_names(records), records.data
    if len(names) > MOST_IN_MATRIX:
        return []
    labels = names if data is None else [str(label) for label in data.classes]
    parts: list[Part] = []
    models = list(dict.fromkeys(confusion["model"]))
    # Of many classes one is large enough: that of the last model.
    for name in models if len(names) == 2 else models[-1:]:
        own = [row for row in rows_of(confusion) if row["model"] == name]
        cells = [
            [
                (text.whole(row["rows"]), text.percent(row["share"]), row["share"] or 0.0)
                for row in own
                if row["true"] == true
            ]
            for true in names
        ]
        parts.append(Matrix(name, cells, labels))
    return parts


def _by_class(scores: Table) -> list[Part]:
    """Return recall and precision of the last model for each of many classes."""
    last = scores["model"][-1]
    rows = [row for row in rows_of(scores) if row["model"] == last]
    shown = [
        ("class", "class", text.word),
        ("rows", "rows", text.whole),
        ("recall", "accuracy (recall)", text.percent),
        ("predicted", "predicted as it", text.whole),
        ("precision", "precision", text.percent),
    ]
    own = table(tuple(scores), rows)
    caption = (
        "Accuracy: the share of the class that is predicted correctly. Precision: the share "
        "of the rows predicted as the class that are of it."
    )
    words = ("class",)
    title = f"By class: {last}"
    return [grid(own, shown, title=title, caption=caption, table="class_scores", words=words)]
