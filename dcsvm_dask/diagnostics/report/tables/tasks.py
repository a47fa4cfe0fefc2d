"""The tasks of a run and the workers that ran them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from dcsvm_dask.diagnostics.report.tables.records import Records, layer_of
from dcsvm_dask.diagnostics.report.tables.table import Table, rows_of, table
from dcsvm_dask.methods.registry import kind_of

COLUMNS = (
    "stage",
    "step",
    "task",
    "worker",
    "began",
    "seconds",
    "cpu_seconds",
    "kernel_values",
    "resident_bytes",
    "peak_bytes",
    "written_bytes",
)


def tasks(records: Records) -> Table:
    """Return a row for each committed task, by the time when it began.

    ``began`` is in seconds of the run, ``worker`` a process as host:number, ``resident_bytes`` its
    memory when the task ended and ``peak_bytes`` its largest memory until then.
    """
    rows: list[dict[str, Any]] = []
    for stage, nodes in records.nodes.items():
        for node, record in nodes.items():
            about = {"stage": stage, "step": step_of(stage, node), "task": node}
            began = {"worker": record["host"], "began": records.clock(record["began"])}
            # Commits of levels only sum the counts of their tasks.
            total = node == "commit" and kind_of(stage).of_blocks
            values = record.get("estimate_kernel_values" if total else "kernel_values")
            rows.append({**record, **about, **began, "kernel_values": values})
    return table(COLUMNS, sorted(rows, key=lambda row: row["began"]))


def step_of(stage: str, node: str) -> str:
    """Return the kind of step of a node."""
    kind = kind_of(stage)
    return kind.name if kind.names_tasks else layer_of(node)


def workers(records: Records, done: Table | None = None) -> Table:
    """Return a row for each worker process.

    ``share_busy`` is the time of its tasks over the time from its first task's begin to its last
    one's end, ``limit_bytes`` its memory limit at that time (None where it is not known),
    ``ns_per_kernel_value`` processor time. `done` is the result of `tasks`.
    """
    by_worker = defaultdict(list)
    for row in rows_of(tasks(records) if done is None else done):
        by_worker[row["worker"]].append(row)
    limits = [
        (records.clock(entry["time"]), entry["memory"])
        for entries in records.journal
        for entry in entries
        if entry["event"] == "RunBegins"
    ]
    rows = []
    for worker, mine in by_worker.items():
        begin, end = mine[0]["began"], max(row["began"] + row["seconds"] for row in mine)
        busy = sum(row["seconds"] for row in mine)
        computing = [row for row in mine if row["kernel_values"]]
        values = sum(row["kernel_values"] for row in computing)
        processor = sum(row["cpu_seconds"] for row in computing)
        rows.append(
            {
                "worker": worker,
                "tasks": len(mine),
                "first": begin,
                "last": end,
                "busy_seconds": busy,
                "cpu_seconds": sum(row["cpu_seconds"] for row in mine),
                "share_busy": busy / (end - begin) if end > begin else None,
                "peak_bytes": max(row["peak_bytes"] for row in mine),
                "limit_bytes": next((m for t, m in reversed(limits) if t <= begin), None),
                "kernel_values": values,
                "ns_per_kernel_value": 1e9 * processor / values if values else None,
            }
        )
    columns = ("worker", "tasks", "first", "last", "busy_seconds", "cpu_seconds", "share_busy")
    more = ("peak_bytes", "limit_bytes", "kernel_values", "ns_per_kernel_value")
    return table((*columns, *more), rows)
