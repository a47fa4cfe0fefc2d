"""Run folders that no training has made."""

from __future__ import annotations

from typing import Any

import numpy as np

from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder

HEADER: dict[str, Any] = {
    "settings": {"C": 1.0, "clusters": [4]},
    "goals": {"tol": 1e-3},
    "shape": {},
    "data": {"url": "data.zarr/train", "fingerprint": "abc"},
    "versions": {},
}
VALUES = np.arange(12, dtype=np.float64).reshape(3, 4)


def commit(run: RunFolder, stage: str, node: str, record: dict[str, Any] | None = None) -> str:
    """Commit a node that holds `VALUES`; return the name of its attempt."""
    attempt = run.attempt(stage, node)
    attempt.write("values", VALUES)
    attempt.commit(record or {"rows": 3})
    return attempt.place.name


def nothing(run: RunFolder, attempt: Attempt) -> Record:
    """Do nothing, as a step that leaves an empty record."""
    del run, attempt
    return {}
