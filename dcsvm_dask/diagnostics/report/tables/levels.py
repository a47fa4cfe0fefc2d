"""The levels of the tree: sizes, times, figures of their commits."""

from __future__ import annotations

import statistics
from typing import Any

from dcsvm_dask.diagnostics.report.tables.records import Records, layer_of
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.diagnostics.status import wall_seconds
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.methods.problem import ARRANGE
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import PARTITION, SCORE, StageId
from dcsvm_dask.tasks.scores import known_keys

TRAINING = ("solve", "commit")
"""Layers of a level that train, not cluster."""

MEASURED = (
    "level",
    "clusters",
    "blocks",
    "largest_block",
    "median_block",
    "smallest_block",
    "n_support",
    "bounded",
    "blocks_objective",
    "objective",
    "objective_error",
    "gap",
    "gap_error",
    "violation",
)
MADE = (
    "clustering",
    "rule",
    "clustering_seconds",
    "training_seconds",
    "kernel_values",
    "alone",
    "why",
)


def levels(records: Records) -> Table:
    """Return a row for each committed level, the bottom one first.

    ``objective`` and ``gap`` are estimates for the whole problem with standard errors;
    ``blocks_objective`` is the sum over the blocks, exact. ``clustering_seconds`` are from the
    choice of the clusters to the blocks (at the bottom with writing the rows in their order),
    ``training_seconds`` those of the blocks' solutions and of the commit. The scores on held-out
    rows are those of the run's task.
    """
    rows = [_level(records, stage) for stage in records.levels]
    usual = ("accuracy",) if records.task.has_classes else ()
    return table((*MEASURED, *(known_keys(rows) or usual), *MADE), rows)


def _level(records: Records, stage: str) -> dict[str, Any]:
    commit, nodes, number = records.commits[stage], records.nodes[stage], StageId(stage).height
    weighed = records.nodes.get(StageId.about(PARTITION, stage), {})
    table_nodes = nodes if "cluster" in nodes or weighed else records.nodes.get(ARRANGE, {})
    chosen = weighed.get(COMMIT) or table_nodes.get("cluster", {})
    choice: Record = chosen.get("choice", {})
    scores = records.commits.get(StageId.about(SCORE, stage), {})
    clusters = records.settings["clusters"]
    sizes = [size for node in nodes.values() for size in node.get("each", {}).get("rows", [])]
    training = [record for node, record in nodes.items() if layer_of(node) in TRAINING]
    clustering = [record for node, record in nodes.items() if layer_of(node) not in TRAINING]
    clustering += weighed.values()
    if table_nodes is not nodes:
        clustering = list(table_nodes.values())
    return {
        "level": number,
        "clusters": clusters[len(clusters) - number],
        "blocks": commit["blocks"],
        "largest_block": max(sizes, default=None),
        "median_block": statistics.median(sizes) if sizes else None,
        "smallest_block": min(sizes, default=None),
        "n_support": commit["support"],
        "bounded": commit.get("bounded"),
        "blocks_objective": commit["objective"],
        "objective": commit.get("objective_estimate"),
        "objective_error": commit.get("objective_error"),
        "gap": commit.get("gap_estimate"),
        "gap_error": commit.get("gap_error"),
        "violation": commit["violation"],
        **{key: scores[key] for key in known_keys([scores])},
        "clustering": choice.get("chosen"),
        "rule": choice.get("reason"),
        "clustering_seconds": wall_seconds(clustering),
        "training_seconds": wall_seconds(training),
        "kernel_values": commit["kernel_values"],
        "alone": commit.get("alone"),
        "why": commit.get("why"),
    }
