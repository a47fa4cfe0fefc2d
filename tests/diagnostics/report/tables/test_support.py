"""Support vectors that levels find, against those of the model."""

from __future__ import annotations

import numpy as np

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.table import rows_of


def test_support_vectors_found_early_are_those_of_the_sets(trained: api.Run) -> None:
    run, found = trained.folder, tables(trained.folder)["support"]
    model = trained.status()["model"]
    source = run.node(model, "commit").record["source"]
    final = set(np.flatnonzero(run.node(source, "commit").read("beta")[0]).tolist())
    for row in rows_of(found):
        beta = run.node(f"level-{row['level']}", "commit").read("beta")[0]
        mine = set(np.flatnonzero(beta).tolist())
        assert row["precision"] == len(mine & final) / len(mine)
        assert row["recall"] == len(mine & final) / len(final)
        assert row["recall"] > 0.5
    assert found["level"] == [2, 1]
