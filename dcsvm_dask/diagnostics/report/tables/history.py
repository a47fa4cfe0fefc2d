"""The commits of a run that measured the whole problem, in the order of time."""

from __future__ import annotations

from dcsvm_dask.diagnostics.history import history as measured
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.tasks.scores import known_keys

COLUMNS = (
    "stage",
    "level",
    "round",
    "time",
    "seconds",
    "objective",
    "objective_error",
    "gap",
    "gap_error",
    "violation",
    "n_support",
    "bounded",
)


def history(records: Records) -> Table:
    """Return a row for each commit that measured the whole problem.

    ``time`` is in seconds of the run, ``seconds`` those of the stage. At levels objective and gap
    of the whole problem are estimates (``estimated``) with standard errors, and the violation is
    that inside blocks; later stages are exact. The scores are those of the run's task.
    """
    rows = []
    for entry in measured(records.status):
        stage = entry["stage"]
        record = records.commits[stage]
        about = {
            "time": records.committed_at(stage),
            "objective_error": record.get("objective_error"),
            "gap_error": record.get("gap_error"),
            "bounded": record.get("bounded"),
            "estimated": "objective_estimate" in record,
        }
        rows.append({**entry, **about})
    usual = ("accuracy",) if records.task.has_classes else ()
    return table((*COLUMNS, *(known_keys(rows) or usual), "estimated"), rows)
