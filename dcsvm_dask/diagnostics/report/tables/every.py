"""All tables of a run by name."""

from __future__ import annotations

from dcsvm_dask.diagnostics.report.tables.about import data_set, parameters, summary, versions
from dcsvm_dask.diagnostics.report.tables.blocks import balance, blocks
from dcsvm_dask.diagnostics.report.tables.candidates import candidates
from dcsvm_dask.diagnostics.report.tables.history import history
from dcsvm_dask.diagnostics.report.tables.journal import faults, processes
from dcsvm_dask.diagnostics.report.tables.levels import levels
from dcsvm_dask.diagnostics.report.tables.modes import prediction_modes
from dcsvm_dask.diagnostics.report.tables.predictions import (
    class_scores,
    confusion,
    precision_recall_curves,
    predictions,
    roc_curves,
    scored,
)
from dcsvm_dask.diagnostics.report.tables.records import Records, read_records
from dcsvm_dask.diagnostics.report.tables.sets import falls, sets
from dcsvm_dask.diagnostics.report.tables.support import support
from dcsvm_dask.diagnostics.report.tables.table import Table
from dcsvm_dask.diagnostics.report.tables.targets import (
    predicted_targets,
    quantile_scores,
    target_scores,
)
from dcsvm_dask.diagnostics.report.tables.tasks import tasks, workers
from dcsvm_dask.diagnostics.report.tables.theorem import theorem
from dcsvm_dask.diagnostics.report.tables.work import floor, totals, work
from dcsvm_dask.storage.run import RunFolder


def tables(run: RunFolder | Records, *, compute: bool = False) -> dict[str, Table]:
    """Return all tables of a run by name: columns of plain values, None for missing ones.

    Parameters
    ----------
    run : RunFolder or Records
    compute : bool, default False
        Whether to compute values that cost kernel values: ``prediction_modes``, and closer
        estimates of the differences of ``theorem``.

    Returns
    -------
    dict of str to Table
        The columns are described at the function of the same name. ``pandas.DataFrame`` accepts
        each table.
    """
    records = run if isinstance(run, Records) else read_records(run)
    models, done, solved = scored(records), tasks(records), blocks(records)
    return {
        "summary": summary(records),
        "parameters": parameters(records),
        "data_set": data_set(records),
        "versions": versions(records),
        "history": history(records),
        "sets": sets(records),
        "falls": falls(records),
        "candidates": candidates(records),
        "levels": levels(records),
        "blocks": solved,
        "balance": balance(records, solved),
        "support": support(records),
        "theorem": theorem(records, compute=compute),
        "predictions": predictions(records, models),
        "target_scores": target_scores(records),
        "quantile_scores": quantile_scores(records),
        "predicted_targets": predicted_targets(records),
        "prediction_modes": prediction_modes(records, compute=compute),
        "confusion": confusion(records, models),
        "class_scores": class_scores(records, models),
        "roc_curves": roc_curves(records, models),
        "precision_recall_curves": precision_recall_curves(records, models),
        "tasks": done,
        "workers": workers(records, done),
        "work": work(records, done),
        "totals": totals(records),
        "floor": floor(records),
        "processes": processes(records),
        "faults": faults(records),
    }
