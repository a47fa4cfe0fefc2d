"""Memory of a prediction: 5 million rows, the peak of every process.

    python -m benchmarks.predict_memory [--rows 5000000] [--workers 2] [--out-format csv] [FOLDER]

Makes a data set of that many rows (once; FOLDER keeps it), trains a small model, predicts with the
command line and prints the time and the largest resident memory of the command and of each worker.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dcsvm_dask.api as dcsvm
from benchmarks.peaks import report
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.runtime.execution import Execution

FEATURES = 22
BLOCK = 50_000


class Rows:
    """Two noisy spheres, made block by block."""

    is_sparse = False
    parses = False
    n_features: int | None = FEATURES
    feature_names: list[str] | None = None

    def __init__(self, n_rows: int, seed: int) -> None:
        self.name = f"{n_rows} made rows"
        self._n_rows = n_rows
        self._seed = seed

    def blocks(self) -> Iterator[tuple[Any, Any]]:
        """Return the blocks in order, the same every time."""
        for number, start in enumerate(range(0, self._n_rows, BLOCK)):
            n = min(BLOCK, self._n_rows - start)
            rng = np.random.default_rng([self._seed, number])
            y = rng.choice([-1, 1], n)
            X = rng.standard_normal((n, FEATURES), dtype=np.float32)
            X *= (np.where(y > 0, 1.0, 0.6) / np.sqrt(FEATURES))[:, None].astype(np.float32)
            yield X, y


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", nargs="?", type=Path)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--workers", help="as dcsvm predict takes it; by default threads")
    options.add_argument("--out-format", default="csv", choices=["csv", "npy", "parquet", "zarr"])
    options.add_argument("--mode", default="exact", choices=["exact", "early", "naive"])
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = chosen.folder or Path(temporary)
        data, run = prepare(home, chosen.rows)
        out = home / f"predictions.{chosen.out_format}"
        command = [Path(sys.executable).with_name("dcsvm"), "predict", run, data, "--out", out]
        command += ["--mode", chosen.mode, "--quiet"]
        command += ["--workers", chosen.workers] if chosen.workers else []
        print(f"{chosen.rows} rows, {chosen.mode}, to {chosen.out_format}")
        return report([str(part) for part in command])


def prepare(home: Path, n_rows: int) -> tuple[Path, Path]:
    """Make the data set and the run, unless they are there."""
    data, run = home / f"rows-{n_rows}.zarr", home / "run"
    if not (data / "dataset.json").exists():
        ingest(Rows(n_rows, 1), data, overwrite=True)
    if not (run / "run.json").exists():
        ingest(Rows(5000, 0), home / "train.zarr", overwrite=True)
        dcsvm.train(
            home / "train.zarr", run, gamma=1.0, C=1.0, levels=1, k=4, tol=1e-2,
            execution=Execution(workers=0), quiet=True,
        )  # fmt: skip
    return data, run


if __name__ == "__main__":
    sys.exit(main())
