"""Sections and figures that compare several runs."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, NumeralTickFormatter, Range1d

from dcsvm_dask.diagnostics.colours import BLUE
from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.parts import Grid, Part, Picture, Section
from dcsvm_dask.diagnostics.report.tables.table import Table, n_rows, rows_of
from dcsvm_dask.diagnostics.report.views.glyphs import dots, line, points
from dcsvm_dask.diagnostics.report.views.style import (
    SERIES,
    WHOLE,
    hover,
    legend,
    linear_range,
    log_axis,
    plot,
    whiskers,
)
from dcsvm_dask.tasks.scores import SCORES

COLOURS = (BLUE, *SERIES)
DARKER = 0.55
SAME = 1e-12
"""Relative error up to which two objectives are equal."""


def colour_of(position: int) -> str:
    """Return the colour of a run by its position; colours repeat darker."""
    colour, again = COLOURS[position % len(COLOURS)], position // len(COLOURS)
    parts = (int(colour[i : i + 2], 16) * DARKER**again for i in (1, 3, 5))
    return "#" + "".join(f"{round(part):02x}" for part in parts)


def accuracy(found: Table, names: list[str], *, log: bool) -> Any:
    """Return the figure of accuracy over time, a line for each run.

    Parameters
    ----------
    found : Table
        See `accuracies`.
    names : list of str
        Names of the runs.
    log : bool
        Whether time is on a log scale.

    Returns
    -------
    bokeh.plotting.figure
    """
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
    """Return the figure of the objective's relative error over time, a line for each run.

    Points that cannot be distinguished from the best one are open triangles at their upper limit:
    estimates at two standard errors, the best itself at its duality gap.

    Parameters
    ----------
    found : Table
        See `errors`.
    names : list of str
        Names of the runs.
    log : bool
        Whether time is on a log scale.

    Returns
    -------
    bokeh.plotting.figure or None
        None if there is no point to draw.
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
    """Return the position of a point; None without a positive value."""
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


FAR_APART = 20.0
"""Ratio of times from which on their axis is logarithmic."""

SET = (
    ("problem", "problem", text.word),
    ("data", "data", text.word),
    ("rows", "rows", text.whole),
    ("kernel", "kernel", text.word),
    ("gamma", "gamma", text.word),
    ("C", "C", text.word),
    ("epsilon", "epsilon", text.word),
    ("nu", "nu", text.word),
    ("quantile", "quantile", text.word),
    ("fit_intercept", "bias", text.word),
    ("clusters", "clusters", text.word),
    ("tol", "tolerance", text.word),
    ("workers", "workers", text.whole),
)
"""Columns of parameters; of those of tasks the ones that some run has."""
FOUND = (
    ("seconds", "time", text.seconds),
    *(
        (key, name, text.percent if key == "accuracy" else text.number)
        for key, name in SCORES.items()
    ),
    ("objective", "objective", text.exact),
    ("relative_error", "above the best objective", lambda value: text.number(value, 2)),
    ("gap", "duality gap", text.number),
    ("violation", "violation", lambda value: text.number(value, 2)),
    ("n_support", "support vectors", text.whole),
    ("kernel_values", "kernel values", text.large),
    ("peak_bytes", "largest worker", text.size),
    ("state", "state", text.word),
    ("model", "model", text.word),
)
"""Columns of results; of the scores those that some run has."""
NOT_SCORED = "No run has scored a model of classes; other tasks' scores are among the figures."
MOST_BESIDE = 5
"""Largest number of runs that are shown as columns; more are shown as rows."""


def table_section(comparison: Table) -> Section:
    """Return the section of figures."""
    rows = list(rows_of(comparison))
    known, results = ([one for one in of if one[0] in comparison] for of in (SET, FOUND))
    problems = max(row["problem"] for row in rows)
    lead = "All runs are of one problem: the same data, kernel, C and bias."
    if problems > 1:
        lead = (
            f"These runs are of {problems} problems: data, kernel, C or bias differ. Objectives "
            "are compared among the runs of one problem only."
        )
    if len(rows) <= MOST_BESIDE:
        headers = ["", *(row["run"] for row in rows)]
        shown = (*known, *results)
        lines = [[label, *(form(row[key]) for row in rows)] for key, label, form in shown]
    else:
        # Equal parameters are in the lead, and results come first.
        differs = [column for column in known if len(set(comparison[column[0]])) > 1]
        same = [column for column in known if column not in differs and column[0] != "problem"]
        shared = (f"{label} {form(rows[0][key])}" for key, label, form in same)
        lead += f" Everywhere: {', '.join(shared)}."
        shown = (*results, *differs)
        headers = ["run", *(label for _, label, _ in shown)]
        lines = [[row["run"], *(form(row[key]) for key, _, form in shown)] for row in rows]
    words = [True] + [False] * (len(headers) - 1)
    found = Grid("Figures", headers, lines, words, table="comparison")
    return Section("figures", "Figures", lead, [found])


def accuracy_section(found: Table, names: list[str]) -> Section:
    """Return the section of accuracy over time."""
    if not n_rows(found):
        return Section("accuracy", "Time and accuracy", NOT_SCORED)
    made = accuracy(found, names, log=_far_apart(found))
    caption = (
        "Each point is a level's early prediction or, last, the exact model; bars are standard "
        "errors. Runs with other held-out rows are other tests."
    )
    parts: list[Part] = [Picture(made, "Accuracy over time", caption, "accuracies", wide=True)]
    return Section("accuracy", "Time and accuracy", "", parts)


def error_section(found: Table, names: list[str]) -> Section:
    """Return the section of the objective's error over time."""
    name, title = "objective", "Time and objective"
    made = error(found, names, log=_far_apart(found)) if n_rows(found) else None
    if made is None:
        return Section(name, title, "No model's objective is known to compare with.")
    left_out = [one for one in names if one not in set(found["run"])]
    lead = "(f − best f) / |best f|, the best among the models of the same problem."
    if left_out:
        lead += f" Not among them: {', '.join(left_out)}; no objective of that problem is known."
    caption = (
        "Lower and further left is better. Open triangles are upper limits: of estimates that "
        "cannot be told from the best, two standard errors; of the best itself, its duality gap."
    )
    return Section(
        name, title, lead, [Picture(made, "Error over time", caption, "errors", wide=True)]
    )


def support_sections(found: Table) -> list[Section]:
    """Return the section of support vectors; empty without an exact model to compare with."""
    if not n_rows(found):
        return []
    headers = ["run", "stage", "time", "support vectors", "precision", "recall"]
    lines = [
        [
            row["run"],
            row["stage"],
            text.seconds(row["time"]),
            text.whole(row["n_support"]),
            text.percent(row["precision"]),
            text.percent(row["recall"]),
        ]
        for row in rows_of(found)
    ]
    words = [True, True] + [False] * 4
    lead = (
        "Rows of the data set that are support vectors at a level or in a model, against those of "
        "the best exact model of the same problem."
    )
    grid = Grid("Support vectors", headers, lines, words, table="support")
    return [Section("support", "Support vectors", lead, [grid])]


def test_sections(found: Table) -> list[Section]:
    """Return the section of tests; empty if there are none."""
    if not n_rows(found):
        return []
    names = SCORES | {"balanced_accuracy": "balanced accuracy"}
    scores = [key for key in found if key in names]
    shares = ("accuracy", "balanced_accuracy")
    headers = ["run", "level", "mode", *(names[key] for key in scores), "rows", "ms a row"]
    lines = [
        [
            row["run"],
            text.whole(row["level"]) if row["level"] else "",
            row["mode"],
            *(text.percent(row[key]) if key in shares else text.number(row[key]) for key in scores),
            text.whole(row["rows"]),
            text.number(row["ms_per_row"], 3),
        ]
        for row in rows_of(found)
    ]
    words = [True, False, True] + [False] * (len(headers) - 3)
    lead = "Each way to predict, on all rows held out; the time is that of one core for a row."
    return [Section("tests", "Tests", lead, [Grid("Tests", headers, lines, words, table="tests")])]


def _far_apart(found: Table) -> bool:
    times = [time for time in found["time"] if time > 0]
    return bool(times) and max(times) > FAR_APART * min(times)
