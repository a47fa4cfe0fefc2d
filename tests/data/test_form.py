"""The form that a data set takes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dcsvm_dask.data.ingest import ingest


def test_default_chunks(tmp_path: Path) -> None:
    wide = ingest(
        (np.ones((400, 4000)) * np.arange(0, 800, 2)[:, None], np.arange(400) % 2), tmp_path / "w"
    )
    assert wide.chunk_rows == 256
    rows = np.zeros((300, 5), np.float32), np.arange(300) % 2
    assert ingest(rows, tmp_path / "x.zarr").chunk_rows == 8192
