"""Who did what when, with how much memory, and what went wrong."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report import text
from dcsvm_dask.diagnostics.report.draw import timeline
from dcsvm_dask.diagnostics.report.parts import Part, Picture, Section, Words, grid
from dcsvm_dask.diagnostics.report.records import Records
from dcsvm_dask.diagnostics.report.table import Table, n_rows, rows_of

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
        return Section("workers", "Tasks and workers", "No task is committed yet.")
    pauses = records.clock.breaks
    names = timeline.shown_workers(workers)
    shown, left_out, took = timeline.thinned(tasks, names)
    caption = "Gaps are waiting: for other tasks, for the scheduler, or for work to share."
    if len(names) < n_rows(workers):
        caption += f" The {len(names)} busiest of {n_rows(workers)} workers are shown."
    if left_out:
        caption += (
            f" {left_out:,} short tasks, {text.seconds(took)} together, are left out; "
            "the CSV has all."
        )
    if pauses:
        caption += " Dashed: the run was taken up again; the pause is cut out."
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
        Picture(timeline.gantt(shown, names, pauses), "Timeline", caption, "tasks", wide=True),
        Picture(
            timeline.memory(tasks, workers, pauses),
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
        lead += f", at {row['ns']:.2f} ns of a processor each with all that is done with them"
        if row["calibrated_ns"]:
            lead += f" (measured before the work began: {row['calibrated_ns']:.2f} ns)"
    lead += "."
    if row["floor_ratio"] is not None:
        lead += (
            f" Summing f of every row over every support vector once takes "
            f"{text.large(row['floor'])}; the run took {row['floor_ratio']:.2f} times that, and "
            f"{text.large(row['check_kernel_values'])} for the last check from scratch."
        )
        if row["floor_ratio"] < 1:
            lead += " Values of rows far apart, about zero, are left out, so it may be below 1."
    shown = [
        ("stage", "stage", text.word),
        ("kernel_values", "kernel values", text.large),
        ("cpu_seconds", "processor time", text.seconds),
        ("ns_per_kernel_value", "ns each", text.number),
    ]
    return Section(
        "work", "Work", lead, [grid(work, shown, title="By stage", table="work", words=("stage",))]
    )


def faults_section(records: Records, tables: dict[str, Table]) -> Section:
    """Return the section of processes and of what went wrong."""
    processes, faults = tables["processes"], tables["faults"]
    lead = "No task failed and no worker was lost."
    if n_rows(faults):
        lead = f"{n_rows(faults)} fault(s); what was being done was done again."
    if not n_rows(processes):
        lead = "There is no journal of this run."
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
