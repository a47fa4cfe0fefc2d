"""The support vectors of each level compared with the final ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.stage_id import StageId

SLICE = 1 << 20
"""Number of variables in memory at a time."""

COLUMNS = ("level", "time", "n_support", "common", "precision", "recall")


def support(records: Records) -> Table:
    """Return precision and recall of each level's support vectors as predictions of the final ones.

    The precision is the share of a level's support vectors that are support vectors of the exact
    model, the recall the share of the exact model's that the level has (Hsieh, Si, Dhillon 2014,
    Figure 2). The table is empty before there is an exact model.
    """
    best = records.best
    final = None if best is None else records.run.find(best["source"], "commit")
    rows = []
    for stage in records.levels:
        level = records.run.find(stage, "commit")
        if level is None or final is None or level.released or final.released:
            continue
        mine, theirs, common = overlap(level, final)
        rows.append(
            {
                "level": StageId(stage).height,
                "time": records.committed_at(stage),
                "n_support": mine,
                "common": common,
                "precision": common / mine if mine else None,
                "recall": common / theirs if theirs else None,
            }
        )
    return table(COLUMNS, rows)


def overlap(level: Committed, final: Committed) -> tuple[int, int, int]:
    """Return the numbers of support vectors of two points, and of those that both have."""
    mine = theirs = common = 0
    for a, b in zip(positive(level), positive(final), strict=True):
        mine += int(np.count_nonzero(a))
        theirs += int(np.count_nonzero(b))
        common += int(np.count_nonzero(a & b))
    return mine, theirs, common


def positive(node: Committed) -> Iterator[NDArray[np.bool_]]:
    """Yield which variables are not zero, some of them at a time."""
    name = variables_of(node)
    if name in node.small:
        yield node.read(name)[0] != 0.0
        return
    stored = node.open_array(name)
    for start in range(0, stored.shape[1], SLICE):
        values = np.asarray(stored[0, start : start + SLICE])
        if np.isnan(values).any():  # the fill value of a chunk that is missing
            raise InputError(f"{node.place}/{name}: damaged: a chunk is missing")
        yield values != 0.0


def variables_of(node: Committed) -> str:
    """Return the name of the dual variables of a commit: with signs or, in a model, without."""
    return "beta" if node.has("beta") else "alpha"
