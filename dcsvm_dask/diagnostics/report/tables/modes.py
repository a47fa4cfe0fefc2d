"""Accuracy and time of the prediction modes (Table 1 of Hsieh, Si, Dhillon, 2014)."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.diagnostics.report.tables.demand import kept, rows_for
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.diagnostics.report.tables.table import Table, table
from dcsvm_dask.diagnostics.summary import is_exact
from dcsvm_dask.kernels import Rows
from dcsvm_dask.methods.committee import read_committee
from dcsvm_dask.methods.predict import decide_by, load_model
from dcsvm_dask.random_streams import MODES_REPORT, generator
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.stage_id import COMMITTEE, StageId

MOST_ROWS = 2000
WARM_UP_ROWS = 16

COLUMNS = ("level", "mode", "stage", "time", "rows", "accuracy", "accuracy_error", "ms_per_row")


def prediction_modes(records: Records, *, compute: bool = False) -> Table:
    """Return accuracy and milliseconds a row of each level's prediction modes and the exact model.

    All are measured on the same held-out rows, at most 2,000, in one thread of this process; the
    time is that of the decision values. All modes but early prediction cost support vectors x rows
    kernel values, so without `compute` only stored results are returned. Committees are those of
    calibrated levels.
    """
    holdout = records.run.header.get("holdout")
    if holdout is None or not records.task.has_classes:
        return table(COLUMNS)
    best = records.status["model"] if is_exact(records.status) else None
    rows: list[dict[str, Any]] = []
    for stage in [*records.levels, *([best] if best else [])]:
        node = records.run.find(stage, "commit")
        if node is None or node.released:
            continue
        level = StageId(stage).height

        calibrated = records.run.find(StageId.about(COMMITTEE, stage), "commit")

        def measured(
            stage: str = stage, level: int = level, calibrated: Committed | None = calibrated
        ) -> dict[str, Any]:
            modes = ("early", "naive") if level else ("exact",)
            return {"modes": measure(records, stage, modes, calibrated)}

        rests_on = [node.attempt, holdout, MOST_ROWS]
        if calibrated is not None:
            rests_on.append(calibrated.attempt)
        found = kept(records.run, f"modes-{stage}", rests_on, measured if compute else None)
        for mode in [] if found is None else found["modes"]:
            about = {"level": level, "stage": stage, "time": records.committed_at(stage)}
            rows.append({**about, **mode})
    return table(COLUMNS, rows)


def measure(
    records: Records, stage: str, modes: tuple[str, ...], calibrated: Committed | None = None
) -> list[dict[str, Any]]:
    """Return accuracy and time of a stage's model in some modes.

    Parameters
    ----------
    records : Records
    stage : str
        The stage of the model.
    modes : tuple of str
        Of "early", "naive" and "exact".
    calibrated : Committed, optional
        The calibration of the level's committee, which is measured too.

    Returns
    -------
    list of dict
        ``mode``, ``rows``, ``accuracy``, ``accuracy_error`` (standard error) and ``ms_per_row``.
    """
    model = load_model(records.run, stage)
    if calibrated is not None:
        model, modes = replace(model, committee=read_committee(calibrated)), (*modes, "committee")
    X, true = held_out(records, rows_for(model.n_support, MOST_ROWS))
    n, found = X.shape[0], []
    for mode in modes:
        decide_by(model, X[:WARM_UP_ROWS], mode)  # compile before the time is taken
        begin = time.perf_counter()
        right = model.scheme.classes_of(decide_by(model, X, mode)) == true
        seconds = time.perf_counter() - begin
        accuracy = float(right.mean())
        found.append(
            {
                "mode": mode,
                "rows": n,
                "accuracy": accuracy,
                "accuracy_error": (accuracy * (1.0 - accuracy) / n) ** 0.5,
                "ms_per_row": 1e3 * seconds / n,
            }
        )
    return found


def held_out(records: Records, most: int) -> tuple[Rows, NDArray[np.int32]]:
    """Return a fixed random sample of held-out rows, and the codes of their classes."""
    data = DataSet.open(records.run.header["holdout"])
    rng = generator(int(records.settings["seed"]), MODES_REPORT)
    index = np.sort(rng.permutation(data.n_rows)[: min(most, data.n_rows)]).astype(np.int64)
    return data.rows.take(index), data.take_codes(index)
