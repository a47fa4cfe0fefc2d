"""The blocks of the levels: sizes, solutions and times."""

from __future__ import annotations

import statistics
from typing import Any

from dcsvm_dask.diagnostics.report.tables.records import Records, levels_of
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.methods.solved import EACH
from dcsvm_dask.storage.stage_id import StageId

COLUMNS = ("level", "block", *EACH, "worker")


def blocks(records: Records) -> Table:
    """Return a row for each solved block, by level from the bottom and by number.

    ``objective`` and ``violation`` are those of the block's own problem. A running level has the
    blocks of its committed tasks.
    """
    stages = levels_of(records.nodes)
    rows: list[dict[str, Any]] = []
    for stage in stages:
        of_level = [
            {
                "level": StageId(stage).height,
                "block": block,
                "worker": record["host"],
                **{key: values[i] for key, values in record["each"].items()},
            }
            for record in records.nodes[stage].values()
            if "each" in record
            for i, block in enumerate(record["members"])
        ]
        rows += sorted(of_level, key=lambda row: row["block"])
    return table(COLUMNS, rows)


def balance(records: Records, solved: Table | None = None) -> Table:
    """Return a row for each level with the balance of its blocks in rows and in time.

    ``effective_blocks`` is one over the sum of the squared shares of the rows: the number of equal
    blocks with the same share of pairs inside blocks. `solved` is the result of `blocks`.
    """
    found = blocks(records) if solved is None else solved
    rows = []
    for level in sorted(set(found["level"]), reverse=True):
        mine = [i for i, other in enumerate(found["level"]) if other == level]
        sizes = [found["rows"][i] for i in mine]
        seconds = [found["seconds"][i] for i in mine]
        total, mean = sum(sizes), statistics.mean(sizes)
        rows.append(
            {
                "level": level,
                "blocks": len(mine),
                "largest": max(sizes),
                "median": statistics.median(sizes),
                "smallest": min(sizes),
                "largest_over_mean": max(sizes) / mean,
                "effective_blocks": total**2 / sum(size**2 for size in sizes),
                "longest_seconds": max(seconds),
                "all_seconds": sum(seconds),
            }
        )
    columns = ("level", "blocks", "largest", "median", "smallest", "largest_over_mean")
    return table((*columns, "effective_blocks", "longest_seconds", "all_seconds"), rows)
