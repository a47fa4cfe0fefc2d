"""The section of the run's history: objective, gap, violation and support vectors over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bokeh.models import ColumnDataSource, Range1d

from dcsvm_dask.diagnostics.colours import GREY
from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, grid
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, n_rows, rows_of, table
from dcsvm_dask.diagnostics.report.views.glyphs import dots, line, points
from dcsvm_dask.diagnostics.report.views.style import (
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
from dcsvm_dask.tasks.scores import SCORES

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
    """Return the figure of one column of the history over time.

    Parameters
    ----------
    history : Table
        See `dcsvm_dask.diagnostics.report.tables.history.history`.
    key : str
        The column; ``KEY_error``, where it exists, is drawn as error bars.
    label : str
        Label of the axis.
    pauses : sequence of float
        Seconds of the run at which it was resumed.
    log : bool, default False
        Whether the axis is logarithmic; values up to 0 are left out.
    zero : bool, default False
        Whether the axis begins at 0.
    goal : float, optional
        Value at which a line is drawn.

    Returns
    -------
    bokeh.plotting.figure or None
        None where the column has no numbers.
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


VIOLATION = (
    "The largest violation of the optimality conditions: at levels inside blocks, in rounds over "
    "all rows. The run ends below the dashed line, the tolerance."
)
VIOLATION_OF_SETS = (
    "The largest violation of the optimality conditions over all rows that each working set was "
    "chosen from. The run ends below the dashed line, the tolerance."
)
MOST_LISTED = 40
"""Largest number of rows of the table on the page; the CSV file has all."""


def progress_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of the history."""
    history = tables["history"]
    if not n_rows(history):
        lead = "No committed stage has measured the whole problem yet."
        return Section("progress", "Progress", lead)
    has_levels = any(level is not None for level in history["level"])
    parts = _pictures(records, tables, has_levels=has_levels)
    parts.append(_listed(records, history, has_levels=has_levels))
    if n_rows(tables["sets"]):
        parts.append(_sets(records, tables["sets"]))
    return Section("progress", "Progress", _lead(records, tables, has_levels=has_levels), parts)


def _lead(records: Records, tables: dict[str, Table], *, has_levels: bool) -> str:
    """Return what the points are."""
    if n_rows(tables["sets"]):
        return (
            "The points are commits: one working set after the other is solved between them, and "
            "the last one has f computed from scratch."
        )
    lead = "The points are rounds over the whole problem; their figures are exact."
    if not records.options.solves:
        lead = "The points are commits of the run: its model as it was then."
    if has_levels:
        lead = (
            "Orange are the levels, blue the rounds over the whole problem. Objective and gap of "
            "levels are estimated on a sample of the rows, with standard errors as bars; those of "
            "rounds are exact."
        )
    if records.clock.breaks:
        lead += (
            f" Dashed lines: the run was resumed after a pause; pauses, {_pauses(records)} "
            "in all, are cut out."
        )
    return lead


def _pictures(records: Records, tables: dict[str, Table], *, has_levels: bool) -> list[Part]:
    """Return the pictures of the figures that the run has."""
    history, pauses = tables["history"], records.clock.breaks
    tol = records.run.header["goals"].get("tol")
    of_sets = fall_of_sets(tables, tol, pauses)
    violation = over_time(history, "violation", "violation", pauses=pauses, log=True, goal=tol)
    found = (
        Picture(
            over_time(history, "objective", "objective", pauses=pauses),
            "Objective",
            "The dual objective of the whole problem, minimised. It should settle.",
            "history",
        ),
        Picture(
            over_time(history, "gap", "duality gap", pauses=pauses, log=True),
            "Duality gap",
            "An upper bound on the distance of the objective to the best one. It should fall.",
            "history",
        ),
        Picture(violation, "Violation", VIOLATION, "history")
        if of_sets is None
        else Picture(of_sets, "Violation", VIOLATION_OF_SETS, "falls"),
        Picture(
            over_time(history, "n_support", "support vectors", pauses=pauses, zero=True),
            "Support vectors",
            ("Levels often have more than the answer needs. " if has_levels else "")
            + "The number should near the final one.",
            "history",
        ),
    )
    return [one for one in found if one.figure is not None]


def _listed(records: Records, history: Table, *, has_levels: bool) -> Part:
    """Return the table of the history."""
    shown = [
        ("stage", "stage", text.word),
        ("time", "after", text.seconds),
        ("seconds", "took", text.seconds),
        ("objective", "objective", text.exact),
        ("objective_error", "±", lambda value: text.number(value, 2)),
        ("gap", "gap", text.number),
        ("gap_error", "±", lambda value: text.number(value, 2)),
        ("violation", "violation", lambda value: text.number(value, 3)),
        ("n_support", "support vectors", text.whole),
        *_score_column(history),
    ]
    if not has_levels:
        shown = [column for column in shown if not column[0].endswith("_error")]
    if not records.options.solves:
        shown = [column for column in shown if column[0] not in ("objective", "gap", "violation")]
    listed, caption = history, ""
    if n_rows(history) > MOST_LISTED:
        rows = list(rows_of(history))
        half = MOST_LISTED // 2
        listed = table(tuple(history), [*rows[:half], *rows[-half:]])
        caption = f"The first and the last {half} of {len(rows)}; the CSV has all."
    return grid(listed, shown, title="History", caption=caption, table="history", words=("stage",))


def fall_of_sets(tables: dict[str, Table], goal: float | None, pauses: Sequence[float]) -> Any:
    """Return the figure of the violation that working sets found; None where there are none."""
    rows = [row for row in rows_of(tables["falls"]) if row["violation"]]
    if not rows:
        return None
    made = plot(TIME, "violation", log="y")
    source = ColumnDataSource(
        {
            "x": [row["time"] for row in rows],
            "y": [row["violation"] for row in rows],
            "sets": [row["sets"] for row in rows],
            "stage": [row["stage"] for row in rows],
        }
    )
    line(made, source, GREY, 1, alpha=0.6)
    drawn = dots(made, source, ROUNDS, 4)
    tips = [("", "@stage"), ("working set", "@sets{0,0}"), ("time", "@x{0.0} s"), ("", "@y")]
    hover(made, tips, [drawn])
    if goal:
        line_at(made, goal)
    log_axis(made, "y", [*source.data["y"], *([goal] if goal else [])])
    made.x_range = Range1d(0.0, 1.03 * max(source.data["x"]) or 1.0)
    breaks(made, pauses)
    return made


def _sets(records: Records, sets: Table) -> Part:
    """Return the table of working sets between commits."""
    shown = [
        ("stage", "stage", text.word),
        ("time", "after", text.seconds),
        ("sets", "working sets", text.whole),
        ("sets_per_second", "a second", lambda value: text.number(value, 3)),
        ("iterations", "iterations", text.whole),
        ("moved", "changed variables", text.whole),
        ("violation", "violation", lambda value: text.number(value, 3)),
        ("set_seconds", "choosing and solving", text.seconds),
        ("share_seconds", "all shares", text.seconds),
        ("serial_share", "serial", text.percent),
        ("balance", "largest share / mean", lambda value: text.number(value, 3)),
    ]
    listed, caption = sets, "Since the commit before. "
    if n_rows(sets) > MOST_LISTED:
        rows = list(rows_of(sets))
        half = MOST_LISTED // 2
        listed = table(tuple(sets), [*rows[:half], *rows[-half:]])
        caption += f"The first and the last {half} of {len(rows)}; the CSV has all. "
    caption += (
        "Times are processor times. Choosing and solving a set runs by itself (serial); shares of "
        "the rows run side by side, and each set waits for the largest."
    )
    whole = records.status["sets"]
    if whole is not None and whole["serial_share"]:
        caption += (
            f" In all {whole['serial_share']:.1%} is serial, so that any number of workers is at "
            f"most {1.0 / whole['serial_share']:.3g} times as fast as one."
        )
    return grid(
        listed, shown, title="Working sets", caption=caption, table="sets", words=("stage",)
    )


def _score_column(history: Table) -> list[tuple[str, str, text.Format]]:
    """Return the column of the main score of the run's task, if the history has one."""
    for key, name in SCORES.items():
        if key != "accuracy" and any(value is not None for value in history.get(key, ())):
            return [(key, name, text.number)]
    return [("accuracy", "accuracy", text.percent)] if "accuracy" in history else []


def _pauses(records: Records) -> str:
    return text.seconds(records.clock.pauses)
