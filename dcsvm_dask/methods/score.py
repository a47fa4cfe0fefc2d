"""Scores of a committed model on held-out rows, as soon as there is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from dcsvm_dask.methods.committee import read_committee
from dcsvm_dask.methods.doubtful import HELD_OUT, about_classes, codes_by_sign
from dcsvm_dask.methods.predict import decide_by
from dcsvm_dask.methods.run_data import settings_of
from dcsvm_dask.models.model import Model
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import read_model
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

# A look at where the run stands, not the evaluation: about this many rows tell enough.
ABOUT_ROWS = 20_000


def score_model(
    run: RunFolder, attempt: Attempt, *, source: str, committee: str | None = None
) -> Record:
    """Return the scores of a level's early prediction, or of the exact model.

    With `committee`, the stage that calibrated it, that of the level's committee.

    Writes ``decision`` and ``positive`` (the label's class) of the rows, in their order; of many
    classes ``predicted`` and ``true``, their codes; of a task without classes ``targets``.
    """
    data = DataSet.open(run.header["holdout"])
    settings = settings_of(run)
    model = read_model(run.node(source, "commit"), settings.kernel)
    if settings.make_task().has_classes and not model.is_single:
        return _score_classes(model, data, attempt, source)
    mode, told = ("exact", settings.answers) if model.rule is None else ("early", "early")
    if committee is not None:
        mode = told = "committee"
        model = replace(model, committee=read_committee(run.node(committee, "commit")))
    task, decisions, parts = settings.make_task(), [], []
    for start, stop in _parts(data):
        decisions.append(decide_by(model, data.rows.read(start, stop), mode))
        parts.append(task.targets(data.read_y(start, stop)))
    decision, targets = np.concatenate(decisions), np.concatenate(parts).astype(np.float64)
    attempt.write("decision", decision)
    about: Record = {}
    if task.has_classes:
        positive = codes_by_sign(targets)
        attempt.write("positive", positive.astype(np.uint8))
        about = about_classes(codes_by_sign(decision), positive, data.classes, HELD_OUT)
    else:
        attempt.write("targets", targets)
    return {
        **about,
        **task.scores(decision, targets),
        "rows": len(decision),
        "source": source,
        "mode": told,
    }


def _score_classes(model: Model, data: DataSet, attempt: Attempt, source: str) -> Record:
    """Return the accuracy of a model of more than two classes."""
    mode, found, true = "exact" if model.rule is None else "early", [], []
    for start, stop in _parts(data):
        values = decide_by(model, data.rows.read(start, stop), mode)
        found.append(model.scheme.classes_of(values))
        true.append(data.read_codes(start, stop))
    predicted, codes = np.concatenate(found), np.concatenate(true)
    attempt.write("predicted", predicted.astype(np.int32))
    attempt.write("true", codes)
    accuracy = float(np.mean(predicted == codes))
    about = about_classes(predicted, codes, data.classes, HELD_OUT)
    return {"accuracy": accuracy, "rows": len(codes), "source": source, "mode": mode, **about}


def _parts(data: DataSet) -> Iterator[tuple[int, int]]:
    """Yield chunks from all over a part: its rows may be in an order."""
    for start in range(0, data.n_rows, data.chunk_rows * max(1, data.n_rows // ABOUT_ROWS)):
        yield start, min(start + data.chunk_rows, data.n_rows)
