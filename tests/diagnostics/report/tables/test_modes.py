"""Ways to predict, side by side: computed once and kept."""

from __future__ import annotations

import numpy as np

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.storage.dataset import DataSet


def test_what_costs_kernel_values_is_computed_once(trained: api.Run) -> None:
    # Another test may have asked before; what it kept is not to be taken for this one's.
    (trained.folder.place / "report").delete()
    assert not tables(trained.folder)["prediction_modes"]["mode"]
    found = tables(trained.folder, compute=True)["prediction_modes"]
    assert list(zip(found["level"], found["mode"], strict=True)) == [
        (2, "early"),
        (2, "naive"),
        (1, "early"),
        (1, "naive"),
        (0, "exact"),
    ]
    data = DataSet.open(trained.folder.header["holdout"])
    X, positive = data.rows.read(0, data.n_rows), data.read_codes(0, data.n_rows) == 1
    for row in rows_of(found):
        values = decide(load_model(trained.folder, row["stage"]), X, row["mode"])
        assert row["accuracy"] == np.mean((values > 0) == positive)
        assert row["ms_per_row"] > 0
    # The times would differ if they were measured again.
    assert tables(trained.folder)["prediction_modes"] == found
    kept = trained.folder.place / "report" / "modes-level-2.json"
    kept.write_bytes(kept.read_bytes().replace(b"early", b"later"))
    assert tables(trained.folder)["prediction_modes"]["level"] == [1, 1, 0]
