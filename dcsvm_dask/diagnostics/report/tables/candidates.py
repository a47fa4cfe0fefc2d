"""The candidates of a search."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.diagnostics.search import results, tally_of_run
from dcsvm_dask.methods.search.graph import METHOD
from dcsvm_dask.tasks import Classification, Tally, tally_of


def columns(tally: Tally, searched: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return the names of the columns; `searched`: parameters of the task in the grid."""
    main, *others = tally.names
    return (
        "rank",
        "kernel",
        "C",
        "gamma",
        "degree",
        "coef0",
        *searched,
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
        return table(columns(tally_of(Classification())))
    rows = results(records.run)
    searched = tuple(name for name in ("epsilon", "nu") if name in rows[0])
    return table(columns(tally_of_run(records.run), searched), rows)
