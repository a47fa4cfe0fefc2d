"""What tests read from runs of parallel decomposition."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask import api
from dcsvm_dask.runtime.execution import Execution

ROWS, SHARE_ROWS, SIZE = 1000, 330, 120
HERE = Execution(workers=0)


def model_of(run: api.Run) -> dict[str, Any]:
    """Return the record of the model that a run ended with."""
    status = run.status()
    return dict(status["stages"][status["model"]])


def sets_of(run: api.Run) -> list[dict[str, Any]]:
    """Return the records of the stages of working sets, and of f from scratch."""
    stages = run.status()["stages"]
    return [record for name, record in stages.items() if name.startswith("decomposition")]


def last_point(run: api.Run) -> dict[str, Any]:
    """Return the record of the point that the model was made of."""
    return dict(run.status()["stages"][model_of(run)["source"]])


def beta_of(run: api.Run) -> np.ndarray:
    """Return the variables of the model."""
    node = run.folder.node(run.status()["model"], "commit")
    return node.read("beta" if node.has("beta") else "alpha")


def assert_same_model(one: api.Run, other: api.Run) -> None:
    """Check that two runs ended with the same bits."""
    np.testing.assert_array_equal(beta_of(one), beta_of(other))
    mine, theirs = model_of(one), model_of(other)
    for name in ("objective", "bias", "violation", "gap"):
        assert mine.get(name) == theirs.get(name), name
