"""Sections and figures of tasks, workers, their memory, and faults."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bokeh.models import ColumnDataSource, Range1d

from dcsvm_dask.diagnostics.colours import GREY, YELLOW, step_colour
from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, Words, grid
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, n_rows, rows_of
from dcsvm_dask.diagnostics.report.views.glyphs import bars, line
from dcsvm_dask.diagnostics.report.views.style import (
    WHOLE,
    breaks,
    from_zero,
    hover,
    legend,
    line_at,
    plot,
    series_colour,
    ticks,
)

MOST_TASKS = 10_000
MOST_WORKERS = 48
NEAR_LIMIT = 3.0
"""Largest ratio of limit to peak at which the limit is drawn; larger ones are in the caption."""
COLOURS = {"score": YELLOW, "probe": GREY, "model": "#4b9b6e"}
"""Colours of steps that are stages of their own."""


def colour_of(step: str) -> str:
    """Return the colour of a step."""
    return COLOURS.get(step) or step_colour(step)


def shown_workers(workers: Table) -> list[str]:
    """Return the workers in figures, sorted by name: those that were busy longest."""
    order = sorted(zip(workers["busy_seconds"], workers["worker"], strict=True), reverse=True)
    return sorted((worker for _, worker in order[:MOST_WORKERS]), key=_natural)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a key that sorts names by their numbers: host2 before host10."""
    parts = re.split(r"(\d+)", name)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def thinned(tasks: Table, workers: Sequence[str]) -> tuple[list[dict[str, Any]], int, float]:
    """Return the longest tasks of some workers, and number and seconds of the others."""
    shown = set(workers)
    own = sorted(
        (row for row in rows_of(tasks) if row["worker"] in shown), key=lambda row: -row["seconds"]
    )
    short = own[MOST_TASKS:]
    return own[:MOST_TASKS], len(short), sum(row["seconds"] for row in short)


def gantt(tasks: list[dict[str, Any]], workers: Sequence[str], pauses: Sequence[float]) -> Any:
    """Return the figure of each worker's tasks over time, coloured by step.

    Parameters
    ----------
    tasks : list of dict
        Rows of `tasks`.
    workers : sequence of str
        The workers to show.
    pauses : sequence of float
        Seconds of the run at which it was resumed.

    Returns
    -------
    bokeh.plotting.figure
    """
    height = min(900, 110 + max(34, min(60, 360 // len(workers))) * len(workers))
    made = plot("time (s)", "", width=WHOLE, height=height, svg=len(tasks) < 500)
    lane = {worker: position for position, worker in enumerate(reversed(workers))}
    items, drawn = [], []
    for step in dict.fromkeys(row["step"] for row in sorted(tasks, key=lambda r: r["began"])):
        own = [row for row in tasks if row["step"] == step]
        source = ColumnDataSource(
            {
                "left": [row["began"] for row in own],
                "right": [row["began"] + row["seconds"] for row in own],
                "y": [lane[row["worker"]] for row in own],
                "peak": [(row["peak_bytes"] or 0) / 2**20 for row in own],
                **{key: [row[key] for row in own] for key in SHOWN},
            }
        )
        colour = colour_of(step)
        drawn.append(bars(made, source, colour, y="y", left="left", right="right", height=0.72))
        items.append((step, colour))
    legend(made, items)
    hover(
        made,
        [
            ("", "@stage, @task"),
            ("worker", "@worker"),
            ("begin", "@left{0.00} s"),
            ("took", "@seconds{0.000} s, processor @cpu_seconds{0.000} s"),
            ("kernel values", "@kernel_values{0,0}"),
            ("peak memory", "@peak{0,0} MiB"),
        ],
        drawn,
    )
    ticks(made.yaxis[0], [float(at) for at in lane.values()], list(lane))
    made.y_range = Range1d(-0.6, len(workers) - 0.4)
    made.ygrid.grid_line_color = None
    breaks(made, pauses)
    return made


SHOWN = ("stage", "task", "worker", "seconds", "cpu_seconds", "kernel_values")


def memory(tasks: Table, workers: Table, pauses: Sequence[float]) -> Any:
    """Return the figure of each worker's resident memory at the end of its tasks.

    Parameters
    ----------
    tasks, workers : Table
    pauses : sequence of float
        Seconds of the run at which it was resumed.

    Returns
    -------
    bokeh.plotting.figure
    """
    made = plot("time (s)", "memory (MiB)", width=WHOLE, height=260)
    shown = shown_workers(workers)
    items, drawn, most = [], [], 0.0
    for position, worker in enumerate(shown):
        own = [row for row in rows_of(tasks) if row["worker"] == worker and row["resident_bytes"]]
        own.sort(key=lambda row: row["began"] + row["seconds"])
        own = own[:: max(1, len(own) // 500)]
        y = [row["resident_bytes"] / 2**20 for row in own]
        source = ColumnDataSource(
            {
                "x": [row["began"] + row["seconds"] for row in own],
                "y": y,
                "peak": [row["peak_bytes"] / 2**20 for row in own],
                "worker": [worker] * len(own),
                "stage": [row["stage"] for row in own],
            }
        )
        colour = series_colour(position) if len(shown) <= 7 else GREY
        line(made, source, colour, 1, y="peak", dash="dotted")
        items.append((worker, colour))
        drawn.append(line(made, source, colour))
        most = max([most, *source.data["peak"]])
    limits = [limit / 2**20 for limit in workers["limit_bytes"] if limit]
    if limits and min(limits) <= NEAR_LIMIT * most:
        line_at(made, min(limits))
        most = max(most, min(limits))
    if len(shown) <= 7:
        legend(made, items)
    hover(
        made,
        [("", "@worker after @stage"), ("memory", "@y{0,0} MiB"), ("peak", "@peak{0,0} MiB")],
        drawn,
    )
    from_zero(made, most)
    breaks(made, pauses)
    return made


EVENTS = {
    "TaskFailed": "task failed",
    "WorkerLost": "worker lost",
    "WorkerSilent": "worker silent",
    "NoWorkers": "no workers left",
}


def workers_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of tasks, workers and their memory."""
    tasks, workers = tables["tasks"], tables["workers"]
    if not n_rows(tasks):
        return Section("workers", "Tasks and workers", "No task has been committed yet.")
    pauses = records.clock.breaks
    names = shown_workers(workers)
    shown, left_out, took = thinned(tasks, names)
    caption = "Gaps are waiting: for other tasks, for the scheduler, or for work to share."
    if len(names) < n_rows(workers):
        caption += f" The {len(names)} busiest of {n_rows(workers)} workers are shown."
    if left_out:
        caption += (
            f" {left_out:,} short tasks, {text.seconds(took)} together, are left out; "
            "the CSV has all."
        )
    if pauses:
        caption += " Dashed: the run was resumed; the pause is cut out."
    limits = [limit for limit in workers["limit_bytes"] if limit]
    limit = f" Each may use {text.size(min(limits))} (dashed, where it is near)." if limits else ""
    listed = [
        ("worker", "worker", text.word),
        ("tasks", "tasks", text.whole),
        ("busy_seconds", "at work", text.seconds),
        ("share_busy", "of its time", text.percent),
        ("cpu_seconds", "processor time", text.seconds),
        ("kernel_values", "kernel values", text.large),
        ("ns_per_kernel_value", "ns each", text.number),
        ("peak_bytes", "peak memory", text.size),
        ("limit_bytes", "limit", text.size),
    ]
    parts: list[Part] = [
        Picture(gantt(shown, names, pauses), "Timeline", caption, "tasks", wide=True),
        Picture(
            memory(tasks, workers, pauses),
            "Memory of the workers",
            f"Resident memory at the end of each task; dotted: the most until then.{limit}",
            "tasks",
            wide=True,
        ),
        grid(workers, listed, title="Workers", table="workers", words=("worker",)),
    ]
    return Section("workers", "Tasks and workers", "", parts)


def work_section(tables: dict[str, Table]) -> Section:
    """Return the section of kernel values."""
    work, floor = tables["work"], tables["floor"]
    row = next(rows_of(floor))
    if not row["kernel_values"]:
        return Section("work", "Work", "No kernel value has been computed yet.")
    lead = f"{text.large(row['kernel_values'])} kernel values were computed"
    if row["ns"]:
        lead += f", at {row['ns']:.2f} ns of processor time each, with the work on them"
        if row["calibrated_ns"]:
            lead += f" (measured before the work began: {row['calibrated_ns']:.2f} ns)"
    lead += "."
    if row["floor_ratio"] is not None:
        lead += (
            f" Summing f of every row over every support vector once takes "
            f"{text.large(row['floor'])}; the run took {row['floor_ratio']:.2f} times that"
        )
        if checked := row["check_kernel_values"]:
            lead += f", and {text.large(checked)} for the last check from scratch"
        lead += "."
        if row["floor_ratio"] < 1:
            lead += " Values of rows far apart, about zero, are left out, so it may be below 1."
    shown = [
        ("stage", "stage", text.word),
        ("kernel_values", "kernel values", text.large),
        ("cpu_seconds", "processor time", text.seconds),
        ("ns_per_kernel_value", "ns each", text.number),
    ]
    if "fallbacks" in work:
        lead += (
            f" The inner solver did not converge on {sum(work['fallbacks']):,} working sets, where "
            "SMO went on to the same tolerance; inner='auto' chooses by itself."
        )
        shown.append(("fallbacks", "left to SMO", text.whole))
    return Section(
        "work", "Work", lead, [grid(work, shown, title="By stage", table="work", words=("stage",))]
    )


def faults_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of processes and faults."""
    processes, faults = tables["processes"], tables["faults"]
    lead = "No task failed and no worker was lost."
    if n_rows(faults):
        lead = f"{n_rows(faults)} fault(s); the tasks were run again."
    if not n_rows(processes):
        lead = "This run has no journal."
    parts: list[Part] = []
    if records.notes:
        parts += [Words(note) for note in records.notes]
    if n_rows(faults):
        shown = [
            ("time", "after", text.seconds),
            ("event", "what", lambda value: EVENTS.get(value, str(value))),
            ("stage", "stage", text.word),
            ("task", "task", text.word),
            ("worker", "worker", text.word),
            ("error", "error", text.word),
        ]
        words = ("event", "stage", "task", "worker", "error")
        parts.append(grid(faults, shown, title="Faults", table="faults", words=words))
    if n_rows(processes):
        shown = [
            ("process", "", text.word),
            ("began", "began", text.moment),
            ("ended", "ended", text.moment),
            ("state", "left it", text.word),
            ("message", "why", text.word),
            ("where", "on", text.word),
            ("faults", "faults", text.whole),
        ]
        words = ("state", "message", "where", "began", "ended")
        parts.append(
            grid(
                processes,
                shown,
                title="Processes that carried the run",
                table="processes",
                words=words,
            )
        )
    return Section("faults", "Faults and retries", lead, parts)
