"""Exact training where the neighbours within a kernel's reach do not grow with the rows.

    python -m benchmarks.density [--rows 100000] [--workers 1,2] [--simulated 8]
    python -m benchmarks.density --large 5000000 [FOLDER] [--memory-limit 2GB]

Rows lie on a sheet whose area grows with their number: two features say where, 1,000 rows to each
square of side 1, and 18 are noise; squares alternate between two classes, and 2 % of the rows have
the other label. Weak scaling: as many rows for each worker, measured, and one run of all rows of
`--simulated` workers laid out on them (see `scaling`). `--large` trains once on two workers, and
prints the largest resident memory of every process, files, and kernel values beside rows x support
vectors. Writes ``density.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large import FEATURES, told, write_chunks
from benchmarks.runs import write
from benchmarks.scaling import recorded, recorded_sets, seconds_on
from dcsvm_dask import api

DENSITY, SPREAD, NOISE = 1000, 0.05, 0.02
TEST_ROWS = 10_000
HOW = ["--gamma", "10", "-C", "4", "--no-report"]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", nargs="?", type=Path)
    options.add_argument("--rows", type=int, default=100_000, help="of each worker")
    options.add_argument("--workers", default="1,2")
    options.add_argument("--simulated", type=int, default=8)
    options.add_argument("--large", type=int, help="train so many rows once instead")
    options.add_argument("--memory-limit", default="2GB")
    options.add_argument("--out", type=Path, default=Path("density.json"))
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = chosen.folder or Path(temporary)
        if chosen.large:
            found = large(home, chosen.large, chosen.memory_limit)
        else:
            workers = [int(one) for one in chosen.workers.split(",")]
            found = weak_scaling(home, chosen.rows, workers, chosen.simulated)
    write(chosen.out, found)
    return 0


def weak_scaling(home: Path, rows: int, workers: list[int], simulated: int) -> dict[str, Any]:
    """Train as many rows for each worker; print and return seconds."""
    measured = {}
    for count in workers:
        run = train(home, rows * count, "--workers", str(count))
        measured[count] = run.status()["run_seconds"]
        print(f"{count} workers, {rows * count:,} rows: {measured[count]:.1f} s")
    one = laid_out(train(home, rows, "--workers", "1"), 1)
    many = laid_out(train(home, rows * simulated, "--workers", "1"), simulated)
    print(
        f"laid out on {simulated} workers, {rows * simulated:,} rows: {many:.1f} s, "
        f"{many / one:.2f} times {rows:,} rows on one ({one:.1f} s)"
    )
    return {"rows": rows, "measured": measured, "laid_out": {1: one, simulated: many}}


def large(home: Path, rows: int, memory_limit: str) -> dict[str, Any]:
    """Train many rows on two workers; print and return what it took."""
    data, folder = made(home, rows), home / f"run-{rows}"
    plan = ["plan", str(data), *HOW[:-1], "--workers", "2", "--memory-limit", memory_limit]
    told(plan)
    words = ["--workers", "2", "--memory-limit", memory_limit]
    found = told(["train", str(data), "--run", str(folder), *HOW, *words])
    run = api.open_run(folder)
    status = run.status()
    nodes = [one for stage in run.folder.read_all().values() for one in stage.items()]
    values = sum(node.record.get("kernel_values", 0) for name, node in nodes if name != "commit")
    found |= {
        "support": status["n_support"],
        "kernel_ratio": values / (rows * status["n_support"]),
        "files": sum(path.is_file() for path in folder.rglob("*")),
        "accuracy": run.evaluate(data / "test")["accuracy"],
    }
    print(json.dumps({key: value for key, value in found.items() if key != "peaks"}))
    return found


def train(home: Path, rows: int, *words: str) -> Any:
    """Train by the command line; return the run."""
    data, folder = made(home, rows), Path(tempfile.mkdtemp(dir=home)) / "run"
    told(["train", str(data), "--run", str(folder), *HOW, "--quiet", *words])
    return api.open_run(folder)


def laid_out(run: Any, workers: int) -> float:
    """Return the seconds of a run's tasks on some workers."""
    return sum(seconds_on(recorded(run), recorded_sets(run), workers).values())


def made(home: Path, rows: int) -> Path:
    """Return the data set of so many rows, made where it is not there."""
    data, source = home / f"sheet-{rows}.zarr", home / f"made-{rows}.zarr"
    if not data.exists():
        write_sheet(source, rows)
        told(["ingest", str(source), "--out", str(data), "--scale", "none", "--quiet"])
    return data


def write_sheet(place: Path, rows: int) -> None:
    """Write the rows in Zarr."""
    side = np.sqrt(rows / DENSITY)

    def draw(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
        at = side * rng.random((size, 2))
        wrong = rng.random(size) < NOISE
        noise = SPREAD * rng.standard_normal((size, FEATURES - 2))
        X = np.hstack([at, noise]).astype(np.float32)
        return X, (np.floor(at).astype(int).sum(axis=1) + wrong) % 2

    write_chunks(place, {"train": rows, "test": TEST_ROWS}, draw)


if __name__ == "__main__":
    sys.exit(main())
