"""Workers that die within a pass: the pass is taken up at its last commit, to the same model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.runtime.execution import Execution
from tests.marks import long
from tests.methods.linear.runs import HERE, rows_of, weights_of

METHODS: dict[str, dict[str, Any]] = {
    "dcd": {"method": "dcd", "parts": 3},
    "ocas": {"method": "ocas", "parts": 3, "tol": 1e-2},
}


@pytest.mark.parametrize(
    ("method", "stage", "node", "when"),
    [
        ("dcd", "descent-002", "descend-*", "after"),
        long("dcd", "descent-001", "measure-*", "committed"),
        long("dcd", "descent-002", "commit", "commit"),
        long("ocas", "planes-002", "cut-*", "after"),
        long("ocas", "planes-003", "output-*", "commit"),
        long("ocas", "planes-002", "commit", "committed"),
    ],
)
def test_a_worker_that_is_killed_within_a_pass(
    method: str,
    stage: str,
    node: str,
    when: str,
    shared_data: Callable[[str], Any],
    faults: Any,
    tmp_path: Path,
) -> None:
    data = api.ingest(rows_of(shared_data, "a9a"), tmp_path / "data.zarr")
    words: dict[str, Any] = {"kernel": "linear", "C": 1.0, "quiet": True, **METHODS[method]}
    alone = api.train(data.place, tmp_path / "alone", execution=HERE, **words)
    faults.add(stage, node, "kill", when=when)
    run = api.train(data.place, tmp_path / "run", execution=Execution(workers=2), **words)
    assert faults.fired == 1
    assert run.status()["converged"]
    features = data.rows.n_features
    for mine, theirs in zip(weights_of(run, features), weights_of(alone, features), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    again = faults.redone()
    # What was committed is not done again, though no message came of it.
    assert again.total() == (0 if when == "committed" else 1)
    assert all(step[0] == stage for step in again)
