"""What the steps of a loop cost beside their work: tasks that wait for each other on Dask workers.

    python -m benchmarks.layers [--workers 1,2,8] [--seconds 30] [--rows 131072]

Trains by `decomposition` on rows of one feature with random labels, whose small working sets take
next to no time: what remains of a step is the way from task to task. Each number of workers trains
for so many seconds, in processes of this machine. Prints the time of a step, the processor time of
its work, and what remains; with more workers than cores that is an upper bound. `scaling` charges a
working set by these figures. Writes ``layers.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import dcsvm_dask as dcsvm
from dcsvm_dask.api import Execution

SIZE = 32
"""Rows of a working set."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--workers", default="1,2,8")
    options.add_argument("--seconds", type=float, default=30.0)
    options.add_argument("--rows", type=int, default=131_072)
    options.add_argument("--out", type=Path, default=Path("layers.json"))
    chosen = options.parse_args()
    draw = np.random.default_rng(0)
    X = draw.random((chosen.rows, 1), dtype=np.float32)
    y = draw.integers(2, size=chosen.rows)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        data = dcsvm.ingest((X, y), Path(folder) / "rows.zarr").place
        print(f"{'workers':>8} {'steps':>7} {'ms a step':>10} {'work':>7} {'the rest':>9}")
        for workers in map(int, chosen.workers.split(",")):
            run = dcsvm.train(
                data,
                Path(folder) / f"run-{workers}",
                method="decomposition",
                size=SIZE,
                fit_intercept=True,
                tol=1e-6,
                quiet=True,
                report=False,
                execution=Execution(workers=workers, time_budget=chosen.seconds),
            )
            stages = [
                record for record in run.status()["stages"].values() if "share_seconds" in record
            ]
            steps = stages[-1]["sets"]
            whole = sum(record["seconds"] for record in stages)
            shares = sum(sum(record["share_seconds"]) for record in stages) / workers
            work = shares + sum(record["set_seconds"] for record in stages)
            each = {"step": whole / steps, "work": work / steps, "rest": (whole - work) / steps}
            found[workers] = {"steps": steps, **each}
            shown = " ".join(f"{1e3 * value:9.1f}" for value in each.values())
            print(f"{workers:>8} {steps:>7} {shown}", flush=True)
    chosen.out.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
