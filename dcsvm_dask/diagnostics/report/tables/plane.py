"""Rows and decision functions in a plane of two features or two principal components."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.diagnostics.report.tables.demand import kept, rows_for
from dcsvm_dask.diagnostics.report.tables.records import Records
from dcsvm_dask.kernels import Rows, is_sparse
from dcsvm_dask.methods.predict import load_single
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.models.model import Model
from dcsvm_dask.random_streams import PLANE_REPORT, generator
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.stage_id import StageId

MOST_ROWS = 3000
GRID = 72
MARGIN = 0.05
MOST_FEATURES = 5000
"""Largest number of features: dense rows of more would not fit into memory."""


def plane(records: Records, *, compute: bool = False) -> dict[str, Any] | None:
    """Return the data of the figure of the plane; None where it has not been computed.

    It is None, too, for one feature or many classes, where there is no plane to draw.

    Parameters
    ----------
    records : Records
    compute : bool, default False
        Whether to compute missing data: at most 10^9 kernel values a model.

    Returns
    -------
    dict or None
        ``axes`` (their names), ``share`` (of the variance in the plane), ``x``, ``y`` and
        ``positive`` of at most 3,000 rows, ``box`` (left, right, bottom, top), and ``models``: of
        each level and of the exact one ``stage``, ``level``, ``block`` (of each row; None for the
        exact model), ``n_blocks`` and ``grid``, decision values from the bottom left, row by row.
    """
    data = records.data
    if (
        data is None
        or len(data.classes) != 2
        or data.n_features < 2
        or data.n_features > MOST_FEATURES
    ):
        return None
    best = [str(records.status["model"])] if records.best is not None else []
    nodes = [(stage, records.run.find(stage, "commit")) for stage in [*records.levels, *best]]
    stages = [(stage, node.attempt) for stage, node in nodes if node and not node.released]
    if not stages:
        return None

    def make() -> dict[str, Any]:
        return _make(records, data, [stage for stage, _ in stages])

    made_from = [list(map(list, stages)), data.fingerprint, MOST_ROWS, GRID]
    return kept(records.run, "plane", made_from, make if compute else None)


def _make(records: Records, data: DataSet, stages: list[str]) -> dict[str, Any]:
    rng = generator(int(records.settings["seed"]), PLANE_REPORT)
    index = np.sort(rng.permutation(data.n_rows)[:MOST_ROWS]).astype(np.int64)
    X = data.rows.take(index)
    mean, directions, share = basis(X)
    flat = (_dense(X) - mean) @ directions.T
    at = flat + mean[:2] if data.n_features == 2 else flat
    low, high = at.min(axis=0), at.max(axis=0)
    margin = MARGIN * np.where(high > low, high - low, 1.0)
    low, high = low - margin, high + margin
    models = []
    for stage in stages:
        model = load_single(records.run, stage)
        level = StageId(stage).height
        cost = model.n_support if not level else model.n_support // max(1, model.n_blocks)
        size = int(min(GRID, rows_for(cost, GRID * GRID) ** 0.5))
        ticks = [np.linspace(a, b, size) for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)
        origin = np.zeros_like(mean) if data.n_features == 2 else mean
        grid = (points @ directions + origin).astype(np.float32)
        values = decide(model, _like(model, grid), "early" if level else "exact")
        models.append(
            {
                "stage": stage,
                "level": level,
                "size": size,
                "grid": np.round(values, 4).tolist(),
                "block": _blocks(model, X),
                "n_blocks": model.n_blocks,
            }
        )
    names = data.feature_names or ["feature 1", "feature 2"]
    axes = ["first principal component", "second principal component"]
    return {
        "axes": list(names[:2]) if data.n_features == 2 else axes,
        "share": share,
        "x": np.round(at[:, 0], 5).tolist(),
        "y": np.round(at[:, 1], 5).tolist(),
        "positive": (data.take_codes(index) == 1).tolist(),
        "box": [float(low[0]), float(high[0]), float(low[1]), float(high[1])],
        "models": models,
    }


def basis(X: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the mean, two directions of unit length, and the share of the variance in their plane.

    The directions are the axes of two features, or the first two principal components of more.
    """
    values = _dense(X)
    mean = values.mean(axis=0)
    if values.shape[1] == 2:
        return mean, np.eye(2), 1.0
    _, spread, directions = np.linalg.svd(values - mean, full_matrices=False)
    variance = spread**2
    # The sign of a component is arbitrary; a positive largest part makes it reproducible.
    chosen = directions[:2]
    largest = np.argmax(np.abs(chosen), axis=1)
    chosen = chosen * np.sign(chosen[np.arange(len(chosen)), largest])[:, None]
    total = float(variance.sum())
    return mean, chosen, float(variance[:2].sum()) / total if total else 1.0


def _blocks(model: Model, X: Rows) -> list[int] | None:
    return None if model.rule is None else model.rule.blocks_of(X).tolist()


def _dense(X: Rows) -> NDArray[np.float64]:
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def _like(model: Model, X: NDArray[np.float32]) -> Rows:
    return sparse.csr_array(X) if model.is_sparse else X
