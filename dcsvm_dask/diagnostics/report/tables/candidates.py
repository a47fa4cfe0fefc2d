"""The candidates of a search."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.diagnostics.search import results
from dcsvm_dask.methods.search.graph import METHOD
from dcsvm_dask.tasks import Classification, Task, tally_of


def columns(task: Task, *, epsilon: bool = False) -> tuple[str, ...]:
    """Return the names of the columns for a task; `epsilon`: whether that is searched over."""
    tally = tally_of(task)
    main, *others = tally.names
    return (
        "rank",
        "kernel",
        "C",
        "gamma",
        "degree",
        "coef0",
        *(("epsilon",) if epsilon else ()),
        main,
        f"{main}_std",
        *others,
        f"early_{main}",
        "early_seconds",
        f"exact_{main}",
        "exact_seconds",
        "support",
        "share",
        "solved",
        "best",
    )


def candidates(records: Records) -> Table:
    """Return the candidates of a search; see `dcsvm_dask.diagnostics.search.results`.

    The table of a run that is no search is empty.
    """
    if records.status["method"] != METHOD:
        return table(columns(Classification()))
    rows = results(records.run)
    return table(columns(records.task, epsilon="epsilon" in rows[0]), rows)
