"""The working sets of parallel decomposition, between commits and one by one."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.diagnostics.sets import SHARES, stretches

SETS = (
    "stage",
    "time",
    "seconds",
    "sets",
    "sets_per_second",
    "iterations",
    "moved",
    "entering",
    "violation",
    "n_support",
    "set_seconds",
    "share_seconds",
    "serial_share",
    "balance",
)
FALLS = ("stage", "time", "sets", "violation")


def sets(records: Records) -> Table:
    """Return a row for each commit of working sets: what they did since the one before.

    ``time`` is that of the commit in seconds of the run, ``seconds`` those since the begin of the
    stage, ``moved`` the variables that were changed. ``set_seconds`` is processor time of choosing
    and solving sets, which nothing else runs beside, ``share_seconds`` that of all shares of the
    rows, ``serial_share`` the part of the former in both, ``balance`` the time of the largest share
    over the mean.
    """
    own = {stage: record for stage, record in records.commits.items() if SHARES in record}
    rows = [
        {
            **figures,
            "stage": stage,
            "time": records.committed_at(stage),
            "violation": record["violation"],
            "n_support": record["support"],
        }
        for (stage, record), figures in zip(own.items(), stretches(list(own.values())), strict=True)
    ]
    return table(SETS, rows)


def falls(records: Records) -> Table:
    """Return the violation that working sets found, at most some sixty between two commits.

    ``time`` is in seconds of the run, ``sets`` the number of the set.
    """
    rows = []
    for stage, record in records.commits.items():
        trace = record.get("trace")
        if not trace:
            continue
        points = zip(trace["seconds"], trace["sets"], trace["violation"], strict=True)
        for seconds, number, violation in points:
            at = records.clock(record["began"] + seconds)
            rows.append({"stage": stage, "time": at, "sets": number, "violation": violation})
    return table(FALLS, rows)
