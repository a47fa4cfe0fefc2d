"""The work of a run by stage, beside its plan."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, rows_of, table
from dcsvm_dask.diagnostics.report.tables.tasks import tasks
from dcsvm_dask.methods.registry import kind_of
from dcsvm_dask.storage.stage_id import ABOUT

COLUMNS = (
    "stage",
    "times",
    "tasks",
    "seconds",
    "seconds_planned",
    "cpu_seconds",
    "kernel_values",
    "kernel_values_planned",
    "ns_per_kernel_value",
    "written_bytes",
    "written_bytes_planned",
    "task_bytes_planned",
    "peak_bytes",
)


def work(records: Records, done: Table | None = None) -> Table:
    """Return a row for each stage, rounds joined, with actual and planned values.

    Rounds are rows ``refine`` and ``conquer``, ``times`` the number of their stages. The planned
    memory is that of one task without the process, ``peak_bytes`` that of the largest process with
    all that it caches. ``fallbacks``, the working sets that the inner solver did not finish, is
    there where one has any. `done` is the result of `tasks`.
    """
    found: dict[str, dict[str, Any]] = {}
    for stage in (records.plan or {}).get("stages", {}):
        found.setdefault(_group(stage), defaultdict(float, stage=_group(stage)))
    for stage in {**dict.fromkeys(records.commits), **dict.fromkeys(records.nodes)}:
        mine = found.setdefault(_group(stage), defaultdict(float, stage=_group(stage)))
        mine["times"] += 1
        mine["seconds"] += records.status["stage_seconds"].get(stage, 0.0)
        mine["fallbacks"] += records.status["fallbacks"].get(stage, 0)
    computing: dict[str, float] = defaultdict(float)
    for task in rows_of(tasks(records) if done is None else done):
        mine = found[_group(task["stage"])]
        mine["tasks"] += 1
        mine["cpu_seconds"] += task["cpu_seconds"]
        mine["written_bytes"] += task["written_bytes"]
        mine["peak_bytes"] = max(mine["peak_bytes"], task["peak_bytes"])
        if task["kernel_values"]:
            mine["kernel_values"] += task["kernel_values"]
            computing[_group(task["stage"])] += task["cpu_seconds"]
    for stage, of in (records.plan or {}).get("stages", {}).items():
        mine = found[_group(stage)]
        for key in ("seconds", "kernel_values", "written_bytes"):
            mine[f"{key}_planned"] += of[key] * of["times"]
        mine["task_bytes_planned"] = max(mine["task_bytes_planned"], of["task_bytes"])
    for group, mine in found.items():
        if mine["kernel_values"]:
            mine["ns_per_kernel_value"] = 1e9 * computing[group] / mine["kernel_values"]
        for key in ("times", "tasks", "kernel_values", "written_bytes", "peak_bytes", "fallbacks"):
            mine[key] = int(mine[key])
    rows = (dict(mine) for mine in found.values())
    columns = (*COLUMNS, *(("fallbacks",) if records.status["fallbacks"] else ()))
    return table(columns, (row if row["times"] else _planned(row) for row in rows))


def totals(records: Records) -> Table:
    """Return planned and actual values of the whole run.

    ``worker_bytes`` is the memory of the largest worker, ``seconds`` the time from ready workers
    to the end, ``kernel_values`` the work.
    """
    plan = records.status["plan"] or {}
    rows = [
        {"figure": key, **plan[key]}
        for key in ("worker_bytes", "seconds", "kernel_values")
        if key in plan
    ]
    return table(("figure", "planned", "actual"), rows)


def floor(records: Records) -> Table:
    """Return the kernel values of the run beside the least number that a solver needs.

    That is variables x support vectors: each f of a solution is a sum of so many. ``calibrated_ns``
    is the time of a kernel value measured by the probe, ``ns`` the average one, in processor time.
    """
    status = records.status
    n, n_support = status["variables"], status["n_support"]
    probe = records.commits.get("probe", {})
    row = {
        "variables": n,
        "n_support": n_support,
        "floor": n * n_support if n and n_support else None,
        "kernel_values": status["kernel_values"],
        "check_kernel_values": status["check_kernel_values"],
        "floor_ratio": status["floor_ratio"],
        "ns": status["ns_per_kernel_value"],
        "calibrated_ns": 1e9 * probe["value_seconds"] if "value_seconds" in probe else None,
    }
    return table(tuple(row), [row])


def _planned(row: dict[str, Any]) -> dict[str, Any]:
    """Return the planned values of a stage that did not run."""
    return {key: row[key] for key in row if key in ("stage", "times") or "planned" in key}


def _group(stage: str) -> str:
    kind = kind_of(stage)
    return kind.name if kind.is_round or kind.name in ABOUT else stage
