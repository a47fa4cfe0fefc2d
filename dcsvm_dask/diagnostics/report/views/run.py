"""Sections of the run's outcome, parameters, data, plan and versions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bokeh.models import ColumnDataSource, Range1d

from dcsvm_dask.diagnostics.colours import BLUE, GREY
from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.parts import Grid, Part, Picture, Section, Words, grid
from dcsvm_dask.diagnostics.report.tables import journal
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, n_rows, rows_of
from dcsvm_dask.diagnostics.report.views.glyphs import bars
from dcsvm_dask.diagnostics.report.views.style import HALF, hover, legend, plot, ticks
from dcsvm_dask.diagnostics.summary import is_exact
from dcsvm_dask.numbers import counted
from dcsvm_dask.tasks.scores import SCORES, scores_in


def beside_plan(work: Table, key: str, label: str, form: str) -> Any | None:
    """Return the figure of a column of `work` with actual and planned values.

    Parameters
    ----------
    work : Table
    key : str
        A column with a column ``KEY_planned`` beside it.
    label : str
        Label of the axis.
    form : str
        Bokeh's format of the values.

    Returns
    -------
    bokeh.plotting.figure or None
        None where all values are zero or missing.
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


SHOWN = {
    "state": ("state", text.word),
    "message": ("message", text.word),
    "model": ("model", text.word),
    "objective": ("objective", text.exact),
    "gap": ("duality gap", text.number),
    "violation": ("violation", text.number),
    "n_support": ("support vectors", text.whole),
    "bounded": ("at the bound", text.whole),
    "bias": ("bias", text.number),
    "start_seconds": ("start of workers", text.seconds),
    "seconds": ("training", text.seconds),
    "work_seconds": ("all processes", text.seconds),
    "workers": ("workers", text.whole),
    "kernel_values": ("kernel values", text.large),
    "peak_bytes": ("largest worker", text.size),
}
"""Rows of the table ``summary`` that the page shows: their labels and formats."""


def headlines(records: Records, tables: dict[str, Table]) -> list[tuple[str, str, str]]:
    """Return the figures at the top of the page: label, value and explanation."""
    about = dict(zip(*tables["summary"].values(), strict=True))
    status, estimate = records.status, not is_exact(records.status)
    estimated = "estimate" if estimate else ""
    share = (
        f"{about['n_support'] / about['variables']:.1%} of the rows"
        if about["n_support"] and about["variables"]
        else ""
    )
    tol = records.run.header["goals"].get("tol")
    solved = [
        ("objective", text.exact(about["objective"]), estimated),
        ("duality gap", text.number(about["gap"]), estimated),
        ("violation", text.number(about["violation"], 2), f"to reach: {tol:g}" if tol else ""),
    ]
    return [
        (*_score(about), _held_out(tables)),
        *(solved if records.options.solves else _descended(records)),
        ("support vectors", text.whole(about["n_support"]), share),
        (
            "time",
            text.seconds(about["seconds"] or about["work_seconds"]),
            counted(about["workers"], "worker") if about["workers"] else "",
        ),
        ("kernel values", text.large(status["kernel_values"]), _per_value(status)),
        ("memory", text.size(about["peak_bytes"]), "largest worker"),
    ]


def _descended(records: Records) -> list[tuple[str, str, str]]:
    """Return the figures of stochastic gradient descent; none before its first commit."""
    record = records.commits.get(str(records.status["model"]), {})
    if not record.get("steps"):
        return []
    steps, moved = record["steps"], record["violations"]
    dropped = record["removals"]
    return [
        ("steps", text.large(steps), "a row each"),
        ("of these moved the model", text.percent(moved / steps), text.large(moved)),
        ("merges", text.large(record["merges"]), f"{text.large(dropped)} removals"),
    ]


def _score(about: dict[str, Any]) -> tuple[str, str]:
    """Return the name of the main score and its value."""
    known = scores_in(about)
    if known and known[0][0] != SCORES["accuracy"]:
        return known[0][0], text.number(known[0][1])
    return "accuracy" if "accuracy" in about else "score", text.percent(about.get("accuracy"))


def _held_out(tables: dict[str, Table]) -> str:
    rows = tables["predictions"]["rows"] or tables["target_scores"]["rows"]
    return f"{rows[-1]:,} held-out rows" if rows else "no held-out rows"


def _per_value(status: dict[str, Any]) -> str:
    ns = status["ns_per_kernel_value"]
    return f"{ns:.1f} ns each" if ns else ""


def summary_section(tables: dict[str, Table]) -> Section:
    """Return the section of the outcome."""
    rows = [
        [SHOWN[row["name"]][0], SHOWN[row["name"]][1](row["value"])]
        for row in rows_of(tables["summary"])
        if row["name"] in SHOWN and row["value"] not in (None, "")
    ]
    outcome = Grid("Outcome", [], rows, [True, True], table="summary", wide=False)
    pairs = [("name", "", text.word), ("value", "", text.word)]

    def listed(name: str, title: str) -> Grid:
        words = ("name", "value")
        found = grid(tables[name], pairs, title=title, table=name, words=words, wide=False)
        return replace(found, headers=[])

    data = listed("data_set", "Data set")
    data = replace(data, rows=[_counted(row) for row in data.rows])
    parts: list[Part] = [outcome, listed("parameters", "Parameters"), data]
    return Section("summary", "Summary", "", parts)


def _counted(row: list[str]) -> list[str]:
    name, value = row
    return [name, f"{int(value):,}" if value.isdigit() and len(value) < 16 else value]


def plan_section(tables: dict[str, Table]) -> Section:
    """Return the section of planned and actual values."""
    work, totals = tables["work"], tables["totals"]
    lead = "The plan was estimated before the work began, or after the probe of the kernel."
    if not n_rows(totals):
        lead = "This run has no stored plan."
    forms = {
        "worker_bytes": ("memory of the largest worker", text.size),
        "seconds": ("time from ready workers to the end", text.seconds),
        "kernel_values": ("kernel values", text.large),
    }
    rows = []
    for row in rows_of(totals):
        label, form = forms[row["figure"]]
        planned, actual = row["planned"], row["actual"]
        ratio = f"{actual / planned:.2f}" if actual and planned else text.NOTHING
        rows.append([label, form(planned), form(actual), ratio])
    parts: list[Part] = []
    if rows:
        headers = ["", "planned", "actual", "actual / planned"]
        parts.append(
            Grid("The whole run", headers, rows, [True, False, False, False], table="totals")
        )
    for key, label, shape in (
        ("seconds", "seconds", "0,0.00"),
        ("kernel_values", "kernel values", "0.00 a"),
    ):
        made = beside_plan(work, key, label, shape)
        if made is not None:
            caption = (
                "Time of each stage on the wall clock."
                if key == "seconds"
                else "Work of each stage. Rounds are joined; only the run shows their number."
            )
            parts.append(Picture(made, f"Planned and actual {label}", caption, "work"))
    if n_rows(work):
        shown = [
            ("stage", "stage", text.word),
            ("times", "stages", text.whole),
            ("tasks", "tasks", text.whole),
            ("seconds", "time", text.seconds),
            ("seconds_planned", "planned", text.seconds),
            ("kernel_values", "kernel values", text.large),
            ("kernel_values_planned", "planned", text.large),
            ("written_bytes", "written", text.size),
            ("written_bytes_planned", "planned", text.size),
            ("task_bytes_planned", "task memory planned", text.size),
            ("peak_bytes", "process peak", text.size),
        ]
        caption = (
            "Planned memory is that of the stage's largest task beside the process; the peak is "
            "that of the whole process until then. Bytes are planned unpacked, written packed."
        )
        parts.append(
            grid(work, shown, title="By stage", caption=caption, table="work", words=("stage",))
        )
    return Section("plan", "Plan and reality", lead, parts)


def repeat_section(records: Records, tables: dict[str, Table], command: str) -> Section:
    """Return the section with the command that repeats the run.

    Parameters
    ----------
    records : Records
    tables : dict of str to Table
    command : str
        The command; see `dcsvm_dask.diagnostics.report.tables.about.command`.

    Returns
    -------
    Section
    """
    shown = [("name", "package", text.word), ("value", "version", text.word)]
    settings = records.settings
    fingerprint = records.run.header["data"]["fingerprint"]
    words = (
        f"The same data (fingerprint {fingerprint}), parameters and seed ({settings['seed']}) give "
        "the same model, whatever the number of workers, bit for bit on one kind of processor with "
        "one set of versions."
    )
    others = journal.other_versions(records)
    parts: list[Part] = [
        Words(words, command),
        *([Words(f"Some workers had other versions: {others}.")] if others else []),
        grid(
            tables["versions"],
            shown,
            title="Versions",
            table="versions",
            words=("name", "value"),
            wide=False,
        ),
    ]
    return Section("repeat", "To repeat it", "", parts)
