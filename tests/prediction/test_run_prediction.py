"""Prediction is a stream: twenty times the rows take no more memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.runtime.execution import Execution
from tests.marks import soak

FEATURES = 32
SCRIPT = """
import sys
from pathlib import Path
from dcsvm_dask.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


class MadeRows:
    """Rows made block by block."""

    is_sparse = False
    parses = False
    n_features: int | None = FEATURES
    feature_names: list[str] | None = None

    def __init__(self, n_rows: int) -> None:
        self.name = f"{n_rows} made rows"
        self._n_rows = n_rows

    def blocks(self) -> Iterator[tuple[Any, Any]]:
        for start in range(0, self._n_rows, 50_000):
            rng = np.random.default_rng(start)
            n = min(50_000, self._n_rows - start)
            X = rng.standard_normal((n, FEATURES), dtype=np.float32)
            yield X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
@pytest.mark.parametrize("ending", ["csv", soak("npy"), "zarr", soak("parquet")])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, ending: str) -> None:
    data = ingest(MadeRows(600), tmp_path / "train.zarr")
    api.train(
        data.url, tmp_path / "run", gamma=0.05, levels=0, execution=Execution(workers=0), quiet=True
    )
    peaks = []
    for n_rows in (50_000, 1_000_000):
        rows = ingest(MadeRows(n_rows), tmp_path / f"{n_rows}.zarr")
        out = tmp_path / f"out.{ending}"
        words = [
            "predict",
            tmp_path / "run",
            rows.url,
            "--out",
            out,
            "--quiet",
            "--workers",
            0,
            "--overwrite",
        ]
        command = [sys.executable, "-c", SCRIPT, *map(str, words)]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(int(found.stdout) / 1024)
    # 1,000,000 rows take 128 MB, their predictions 16 MB.
    assert peaks[1] - peaks[0] < 60
    assert peaks[1] < 500
