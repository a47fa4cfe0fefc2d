"""The processes that carried a run, and its faults."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table

FAULTS = ("TaskFailed", "WorkerLost", "WorkerSilent", "NoWorkers")


def processes(records: Records) -> Table:
    """Return a row for each process that carried the run; times are seconds since 1970.

    A process that was killed has no end.
    """
    rows = []
    for number, entries in enumerate(records.journal):
        begin = next((entry for entry in entries if entry["event"] == "RunBegins"), {})
        end = next((entry for entry in entries if entry["event"] == "RunEnds"), {})
        rows.append(
            {
                "process": number,
                "began": begin.get("time"),
                "ended": end.get("time"),
                "state": end.get("state", "no end was written"),
                "message": end.get("message", ""),
                "where": begin.get("where"),
                "workers": begin.get("workers"),
                "memory": begin.get("memory"),
                "stages": sum(entry["event"] == "StageBegins" for entry in entries),
                "faults": sum(entry["event"] in FAULTS for entry in entries),
            }
        )
    columns = ("process", "began", "ended", "state", "message", "where", "workers", "memory")
    return table((*columns, "stages", "faults"), rows)


def other_versions(records: Records) -> str:
    """Return the versions of workers that differ from those of the beginning.

    Empty if none does.
    """
    found = {
        f"{name.replace('_', ' ')} {mine} instead of {begun}": None
        for entries in records.journal
        for entry in entries
        if entry["event"] == "OtherVersions" and not entry["refused"]
        for name, (begun, mine) in entry["differing"].items()
    }
    return ", ".join(found)


def faults(records: Records) -> Table:
    """Return a row for each task that failed and was tried again, and each worker that was lost.

    ``time`` is in seconds of the run.
    """
    rows = [
        {
            "process": number,
            "time": records.clock(entry["time"]),
            "event": entry["event"],
            "stage": entry.get("stage"),
            "task": entry.get("node"),
            "worker": entry.get("worker"),
            "error": entry.get("error") or entry.get("why") or None,
        }
        for number, entries in enumerate(records.journal)
        for entry in entries
        if entry["event"] in FAULTS
    ]
    return table(("process", "time", "event", "stage", "task", "worker", "error"), rows)
