"""The support vectors of several runs compared with one exact model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.diagnostics.report.tables.comparison import names, problem_of
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.support import support, variables_of
from dcsvm_dask.diagnostics.report.tables.table import Table, rows_of, table
from dcsvm_dask.storage.stage_id import StageId

COLUMNS = ("run", "stage", "time", "n_support", "precision", "recall")


def support_compared(runs: list[Records]) -> Table:
    """Return precision and recall of support vectors of all levels and models of several runs.

    Models are compared by rows of the data set with the best exact model among the runs of the
    same problem, levels by variables with the exact model of their own run (Hsieh, Si, Dhillon
    2014, Figure 2). Runs without a model to compare with are left out, and so are models that
    are not given by alpha of all rows.
    """
    truths: dict[object, tuple[float, NDArray[np.bool_]]] = {}
    for records in runs:
        best, problem, mask = records.best, problem_of(records), support_mask(records)
        if best is None or mask is None:
            continue
        if problem not in truths or best["objective"] < truths[problem][0]:
            truths[problem] = best["objective"], mask
    rows: list[dict[str, Any]] = []
    for name, records in zip(names(runs), runs, strict=True):
        rows.extend(
            {"run": name, "stage": StageId.level(level["level"]), **level}
            for level in rows_of(support(records))
        )
        _, truth = truths.get(problem_of(records), (0.0, None))
        mask, stage = support_mask(records), records.status["model"]
        if truth is None or mask is None or len(mask) != len(truth):  # the last: of a sample
            continue
        mine, common = np.count_nonzero(mask), np.count_nonzero(mask & truth)
        rows.append(
            {
                "run": name,
                "stage": stage,
                "time": records.committed_at(stage),
                "n_support": mine,
                "precision": common / mine if mine else None,
                "recall": common / np.count_nonzero(truth) if truth.any() else None,
            }
        )
    return table(COLUMNS, rows)


def support_mask(records: Records) -> NDArray[np.bool_] | None:
    """Return which rows of the data set are support vectors of a run's model of the whole problem.

    It is None where there is no such model, or the model is not given by alpha.
    """
    stage = records.status["model"]
    if stage is None or stage in records.levels:
        return None
    node = records.run.find(stage, "commit")
    if node is None or node.released or not (node.has("beta") or node.has("alpha")):
        return None
    return np.asarray(node.read(variables_of(node))[0] != 0.0)
