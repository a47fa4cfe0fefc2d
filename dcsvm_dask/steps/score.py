"""Accuracy of a committed model on held-out rows, as soon as there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcsvm_dask.models.model import decide
from dcsvm_dask.steps.committee import read_committee
from dcsvm_dask.steps.problem import settings_of
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import read_model
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

# A look at where the run stands, not the evaluation: about this many rows tell enough.
ABOUT_ROWS = 20_000


def score_model(
    run: RunFolder, attempt: Attempt, *, source: str, committee: str | None = None
) -> Record:
    """Return the accuracy of a level's early prediction, or of the exact model.

    With `committee`, the stage that calibrated it, that of the level's committee.

    Writes ``decision`` and ``positive`` (the label's class) of the rows, in their order.
    """
    data = DataSet.open(run.header["holdout"])
    settings = settings_of(run)
    model = read_model(run.node(source, "commit"), settings.kernel)
    how = settings.method if settings.method != "dcsvm" else "exact"
    mode, told = ("exact", how) if model.partition is None else ("early", "early")
    if committee is not None:
        mode = told = "committee"
        model = replace(model, committee=read_committee(run.node(committee, "commit")))
    decisions, positives = [], []
    # Chunks from all over the part: its rows may be in an order.
    for start in range(0, data.n_rows, data.chunk_rows * max(1, data.n_rows // ABOUT_ROWS)):
        stop = min(start + data.chunk_rows, data.n_rows)
        decisions.append(decide(model, data.rows.read(start, stop), mode))
        positives.append(data.read_codes(start, stop) == 1)
    decision, positive = np.concatenate(decisions), np.concatenate(positives)
    attempt.write("decision", decision)
    attempt.write("positive", positive.astype(np.uint8))
    correct = int(np.count_nonzero((decision > 0) == positive))
    return {
        "accuracy": correct / len(decision),
        "rows": len(decision),
        "source": source,
        "mode": told,
    }
