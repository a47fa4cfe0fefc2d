"""The candidates of a search."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.diagnostics.search import results
from dcsvm_dask.methods.search.graph import METHOD

COLUMNS = (
    "rank",
    "kernel",
    "C",
    "gamma",
    "degree",
    "coef0",
    "accuracy",
    "accuracy_std",
    "early_accuracy",
    "early_seconds",
    "exact_accuracy",
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
        return table(COLUMNS)
    return table(COLUMNS, results(records.run))
