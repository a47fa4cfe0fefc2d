"""Accuracy of a committed model on held-out rows, as soon as there is one."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.models.model import decide_early, decide_whole
from dcsvm_dask.steps.problem import settings_of
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import read_model
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

# A look at where the run stands, not the evaluation: more rows would cost more than they tell.
MOST_ROWS = 20_000


def score_model(run: RunFolder, attempt: Attempt, *, source: str) -> Record:
    """Return the accuracy of a level's early prediction, or of the exact model."""
    del attempt  # the record is all there is
    data = DataSet.open(run.header["holdout"])
    model = read_model(run.node(source, "commit"), settings_of(run).kernel)
    decide = decide_whole if model.partition is None else decide_early
    rows = min(data.n_rows, MOST_ROWS)
    correct = 0
    for start in range(0, rows, data.chunk_rows):
        stop = min(start + data.chunk_rows, rows)
        positive = decide(model, data.rows.read(start, stop)) > 0
        correct += int(np.count_nonzero(positive == (data.read_codes(start, stop) == 1)))
    return {"accuracy": correct / rows, "rows": rows, "source": source}
