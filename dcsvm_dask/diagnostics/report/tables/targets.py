"""The quality of models that predict real targets, on held-out rows."""

from __future__ import annotations

from itertools import repeat

import numpy as np

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.stage_id import SCORE, StageId
from dcsvm_dask.tasks import output_names
from dcsvm_dask.tasks.scores import SCORES

MOST_POINTS = 1500
"""Largest number of held-out rows in a figure."""


def scored_targets(records: Records) -> list[tuple[int, Committed]]:
    """Return the level (0: exact) and the score of each model, the bottom level first."""
    found = []
    for stage in records.commits:
        node = records.run.find(stage, "commit") if StageId(stage).kind == SCORE else None
        if node is None or node.released or not node.has("targets"):
            continue
        source = StageId(node.record["source"])
        if source.height or str(source) == records.status["model"]:
            found.append((source.height or 0, node))
    return sorted(found, key=lambda one: -one[0])


def target_scores(records: Records) -> Table:
    """Return a row for each model that was scored on held-out rows: its scores and their rows."""
    columns = ("level", "mode", "stage", "time", "rows", *SCORES)
    return table(
        columns,
        (
            {
                "level": level,
                "mode": node.record["mode"],
                "stage": node.record["source"],
                "time": records.committed_at(node.record["source"]),
                "rows": node.record["rows"],
                **{key: node.record.get(key) for key in SCORES},
            }
            for level, node in scored_targets(records)
        ),
    )


def quantile_scores(records: Records) -> Table:
    """Return a row for each scored model and each of its quantiles, where there are several."""
    columns = ("level", "mode", "stage", "quantile", "pinball", "coverage")
    rows = []
    for level, node in scored_targets(records):
        record = node.record
        about = {"level": level, "mode": record["mode"], "stage": record["source"]}
        for name, scores in record.get("by_quantile", {}).items():
            rows.append({**about, "quantile": name, **scores})
    return table(columns, rows)


def predicted_targets(records: Records) -> Table:
    """Return targets and predictions of the last model for some of the held-out rows.

    Of several quantiles there is a row for each, with its name as ``quantile``.
    """
    columns, found = ("target", "prediction", "quantile"), scored_targets(records)
    if not found:
        return table(columns)
    true, predicted = (found[-1][1].read(name) for name in ("targets", "decision"))
    chosen = np.unique(np.linspace(0, len(true) - 1, min(len(true), MOST_POINTS)).astype(np.int64))
    predicted = predicted.reshape(len(true), -1)
    names: list[str | None] = [*output_names(records.task)] or [None]
    triples = (
        triple
        for column, name in zip(predicted.T, names, strict=True)
        for triple in zip(
            true[chosen].tolist(), column[chosen].tolist(), repeat(name), strict=False
        )
    )
    return table(columns, (dict(zip(columns, triple, strict=True)) for triple in triples))
