"""Accuracy of a committed model on held-out rows, as soon as there is one."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.models.model import decide_early, decide_whole
from dcsvm_dask.steps.problem import settings_of
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import read_model
from dcsvm_dask.storage.run import Attempt, Record, RunFolder

# A look at where the run stands, not the evaluation: about this many rows tell enough.
ABOUT_ROWS = 20_000


def score_model(run: RunFolder, attempt: Attempt, *, source: str) -> Record:
    """Return the accuracy of a level's early prediction, or of the exact model."""
    del attempt  # the record is all there is
    data = DataSet.open(run.header["holdout"])
    model = read_model(run.node(source, "commit"), settings_of(run).kernel)
    decide = decide_whole if model.partition is None else decide_early
    rows = correct = 0
    # Chunks from all over the part: its rows may be in an order.
    for start in range(0, data.n_rows, data.chunk_rows * max(1, data.n_rows // ABOUT_ROWS)):
        stop = min(start + data.chunk_rows, data.n_rows)
        positive = decide(model, data.rows.read(start, stop)) > 0
        rows += stop - start
        correct += int(np.count_nonzero(positive == (data.read_codes(start, stop) == 1)))
    return {"accuracy": correct / rows, "rows": rows, "source": source}
