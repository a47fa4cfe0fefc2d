"""Which of the stages that a run has committed holds its best model."""

from __future__ import annotations

from dcsvm_dask.graphs.graph import COMMIT
from dcsvm_dask.storage.run import RunFolder


def best_model(run: RunFolder) -> str | None:
    """Return the stage of the best model that is committed, None if there is none.

    That is the exact model made last, else the lowest level.
    """
    exact, levels = [], []
    for stage in run.stages():
        kind, _, number = stage.partition("-")
        found = run.find(stage, COMMIT) if kind in ("model", "level") else None
        if found is not None and kind == "model":
            exact.append((found.record["began"], stage))
        elif found is not None:
            levels.append((int(number), stage))
    if exact:
        return max(exact)[1]
    return min(levels)[1] if levels else None
