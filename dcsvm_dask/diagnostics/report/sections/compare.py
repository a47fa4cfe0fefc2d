"""Several runs side by side."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.draw import compare as draw
from dcsvm_dask.diagnostics.report.parts import Grid, Part, Picture, Section
from dcsvm_dask.diagnostics.report.table import Table, n_rows, rows_of

FAR_APART = 20.0
"""Times that differ by more than this factor get a logarithmic axis."""

SET = (
    ("problem", "problem", text.word),
    ("data", "data", text.word),
    ("rows", "rows", text.whole),
    ("kernel", "kernel", text.word),
    ("gamma", "gamma", text.word),
    ("C", "C", text.word),
    ("fit_intercept", "bias", text.word),
    ("clusters", "clusters", text.word),
    ("tol", "tolerance", text.word),
    ("workers", "workers", text.whole),
)
"""What was asked for."""
FOUND = (
    ("seconds", "time", text.seconds),
    ("accuracy", "accuracy", text.percent),
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
MOST_BESIDE = 5
"""Runs that stand beside each other in columns; more stand below each other."""


def table_section(comparison: Table) -> Section:
    """Return the section of figures."""
    rows = list(rows_of(comparison))
    problems = max(row["problem"] for row in rows)
    lead = "All runs are of one problem: the same data, kernel, C and bias."
    if problems > 1:
        lead = (
            f"These runs are of {problems} problems: data, kernel, C or bias differ. Objectives "
            "are compared among the runs of one problem alone."
        )
    if len(rows) <= MOST_BESIDE:
        headers = ["", *(row["run"] for row in rows)]
        lines = [[label, *(form(row[key]) for row in rows)] for key, label, form in SET + FOUND]
    else:
        # What is the same everywhere is said once, and what came out of it stands first.
        differs = [column for column in SET if len(set(comparison[column[0]])) > 1]
        same = [column for column in SET if column not in differs and column[0] != "problem"]
        told = (f"{label} {form(rows[0][key])}" for key, label, form in same)
        lead += f" Everywhere: {', '.join(told)}."
        shown = (*FOUND, *differs)
        headers = ["run", *(label for _, label, _ in shown)]
        lines = [[row["run"], *(form(row[key]) for key, _, form in shown)] for row in rows]
    words = [True] + [False] * (len(headers) - 1)
    found = Grid("Figures", headers, lines, words, table="comparison")
    return Section("figures", "Figures", lead, [found])


def accuracy_section(found: Table, names: list[str]) -> Section:
    """Return the section of accuracy over time."""
    if not n_rows(found):
        return Section("accuracy", "Time and accuracy", "No run has scored a model.")
    made = draw.accuracy(found, names, log=_far_apart(found))
    caption = (
        "Each point is a level's early prediction or, last, the exact model; bars are standard "
        "errors. Runs with other held-out rows are other tests."
    )
    parts: list[Part] = [Picture(made, "Accuracy over time", caption, "accuracies", wide=True)]
    return Section("accuracy", "Time and accuracy", "", parts)


def error_section(found: Table, names: list[str]) -> Section:
    """Return the section of the objective's error over time."""
    name, title = "objective", "Time and objective"
    made = draw.error(found, names, log=_far_apart(found)) if n_rows(found) else None
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
    """Return the section of support vectors, if there is an exact model to compare with."""
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
    """Return the section of what was tested, if anything was."""
    if not n_rows(found):
        return []
    headers = ["run", "level", "mode", "accuracy", "balanced accuracy", "rows", "ms a row"]
    lines = [
        [
            row["run"],
            text.whole(row["level"]) if row["level"] else "",
            row["mode"],
            text.percent(row["accuracy"]),
            text.percent(row["balanced_accuracy"]),
            text.whole(row["rows"]),
            text.number(row["ms_per_row"], 3),
        ]
        for row in rows_of(found)
    ]
    words = [True, False, True] + [False] * 4
    lead = "Each way to predict, on all rows held out; the time is that of one core for a row."
    return [Section("tests", "Tests", lead, [Grid("Tests", headers, lines, words, table="tests")])]


def _far_apart(found: Table) -> bool:
    times = [time for time in found["time"] if time > 0]
    return bool(times) and max(times) > FAR_APART * min(times)
