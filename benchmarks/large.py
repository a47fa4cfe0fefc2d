"""Data larger than the workers' memory: a level with early prediction, in workers of 1 GB.

    python -m benchmarks.large [FOLDER] [--rows 20000000] [--memory-limit 1GB]

Makes rows into Zarr (once; FOLDER keeps them), trains to the bottom level on two workers, and
predicts test rows by the early model. Prints times and the largest resident memory of every
process; the exit status is 1 where a worker passed its limit. Writes ``large.json``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from dask.utils import parse_bytes

from benchmarks.peaks import measure
from benchmarks.runs import write

FEATURES = 20
CENTRES = 3000
SPREAD = 0.05
NOISE = 0.02
TEST_ROWS = 100_000
CHUNK = 100_000
DCSVM = str(Path(sys.executable).with_name("dcsvm"))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", nargs="?", type=Path)
    options.add_argument("--rows", type=int, default=20_000_000)
    options.add_argument("--memory-limit", default="1GB")
    options.add_argument("--out", type=Path, default=Path("large.json"))
    chosen = options.parse_args()
    found: dict[str, Any] = {"rows": chosen.rows, "memory_limit": chosen.memory_limit}
    with tempfile.TemporaryDirectory() as temporary:
        home = chosen.folder or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        data, run = home / "data.zarr", home / "run"
        if not data.exists():
            make(home / "made.zarr", chosen.rows)
            found["ingest"] = told(["ingest", str(home / "made.zarr"), "--out", str(data)])
        how = ["--gamma", "10", "-C", "4"]
        plan = json.loads(output(["plan", str(data), *how, "--json"]))
        bottom = plan["levels"]
        how += ["--stop-at", str(bottom), "--workers", "2", "--memory-limit", chosen.memory_limit]
        found["train"] = told(["train", str(data), "--run", str(run), *how])
        found["status"] = json.loads(output(["status", str(run), "--json"]))
        found["evaluate"] = told(["evaluate", str(run), str(data / "test"), "--json"])
    write(chosen.out, found)
    workers = [peak for name, peak in found["train"]["peaks"] if name != "command"]
    return int(max(workers) > parse_bytes(chosen.memory_limit))


def make(place: Path, rows: int) -> None:
    """Write rows around many centres, whose classes are drawn by lot."""
    centres = np.random.default_rng(0).random((CENTRES, FEATURES), dtype=np.float32)
    of_centre = np.random.default_rng(1).integers(0, 2, CENTRES)

    def draw(rng: np.random.Generator, size: int) -> tuple[Any, Any]:
        centre = rng.integers(0, CENTRES, size)
        noise = rng.standard_normal((size, FEATURES), dtype=np.float32)
        wrong = rng.random(size) < NOISE
        return centres[centre] + np.float32(SPREAD) * noise, of_centre[centre] ^ wrong

    write_chunks(place, {"train": rows, "test": TEST_ROWS}, draw)


def write_chunks(
    place: Path,
    counts: dict[str, int],
    draw: Callable[[np.random.Generator, int], tuple[Any, Any]],
) -> None:
    """Write the rows of each part in Zarr, chunk by chunk, as they are drawn."""
    group = zarr.open_group(place, mode="w")
    for part, count in counts.items():
        shape, chunks = (count, FEATURES), (CHUNK, FEATURES)
        X = group.create_array(f"X_{part}", shape=shape, chunks=chunks, dtype="f4")
        y = group.create_array(f"y_{part}", shape=shape[:1], chunks=chunks[:1], dtype="i1")
        for start in range(0, count, CHUNK):
            stop = min(start + CHUNK, count)
            rng = np.random.default_rng([len(part), start])
            X[start:stop], y[start:stop] = draw(rng, stop - start)


def told(words: list[str]) -> dict[str, Any]:
    """Run a command; print and return its time and the peaks of its processes."""
    begin = time.perf_counter()
    peaks = measure([DCSVM, *words])
    seconds = time.perf_counter() - begin
    print(f"{words[0]}: {seconds:.0f} s")
    for name, peak in peaks:
        print(f"{peak / 2**20:7.0f} MiB  {name}")
    return {"seconds": seconds, "peaks": peaks}


def output(words: list[str]) -> str:
    """Return what a command prints."""
    return subprocess.run([DCSVM, *words], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
