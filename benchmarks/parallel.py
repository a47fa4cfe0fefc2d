"""Parallel decomposition on one worker, on several, and laid out on many.

    python -m benchmarks.parallel [--set adult|skin|covtype|ijcnn1|mnist] [--rows 200000]
                                  [--workers 1,2] [--size 2048] [--tol 0.001]

Trains by `decomposition` with each number of workers of this machine, one thread each, on the same
data set, and lays the run of one worker out on more as `scaling` does. Prints seconds from the
first step to the model (start of workers and compiling apart), the speed-up, whether the models
are the same to the last bit, and what working sets cost: choosing and solving them, and the shares'
part of it.
Writes ``parallel.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dcsvm_dask as dcsvm
from benchmarks import datasets
from benchmarks.scaling import WORKERS, recorded, recorded_sets, seconds_on
from dcsvm_dask.api import Execution


def skin(rows: int) -> datasets.Task:
    """Return skin against other colours, raw values over 255, shuffled."""
    found = np.load(datasets.SHARED / "skin_nonskin.npz")
    order = np.random.default_rng(0).permutation(len(found["y_train"]))
    X = (found["X_train"] / 255).astype(np.float32)[order]
    y = np.where(found["y_train"] > 0, 1, -1)[order]
    return datasets.Task("skin", X[:rows], y[:rows], X[rows:], y[rows:], C=10.0, gamma=10.0)


SETS: dict[str, Callable[[int], datasets.Task]] = {
    "adult": datasets.adult_shape,
    "skin": skin,
    "covtype": datasets.covtype,
    "ijcnn1": lambda _: datasets.ijcnn1(),
    "mnist": lambda _: datasets.mnist(),
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--set", choices=SETS, default="adult")
    options.add_argument("--rows", type=int, default=200_000)
    options.add_argument("--workers", default="1,2")
    options.add_argument("--size", type=int, default=2048)
    options.add_argument("--tol", type=float, default=1e-3)
    options.add_argument("--out", type=Path, default=Path("parallel.json"))
    chosen = options.parse_args()
    task = SETS[chosen.set](chosen.rows)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        data = dcsvm.ingest((task.X, task.y), Path(folder) / "rows.zarr").place
        models: list[np.ndarray] = []
        for workers in map(int, chosen.workers.split(",")):
            run = dcsvm.train(
                data,
                Path(folder) / f"run-{workers}",
                method="decomposition",
                kernel="rbf",
                gamma=task.gamma,
                C=task.C,
                size=chosen.size,
                fit_intercept=True,
                tol=chosen.tol,
                quiet=True,
                report=False,
                execution=Execution(workers=workers),
            )
            about = figures(run)
            models.append(run.folder.node(run.status()["stage"], "commit").read("alpha"))
            same = all(np.array_equal(models[0], other) for other in models)
            first = found.setdefault("measured", {})
            first[workers] = about
            speedup = next(iter(first.values()))["seconds"] / about["seconds"]
            print(
                f"{task.name}, {workers} workers: {told(about)}; {speedup:.2f} times as fast; "
                f"{'the same bits' if same else 'OTHER BITS'}",
                flush=True,
            )
            if workers == 1:
                layers, sets = recorded(run), recorded_sets(run)
                laid = {one: sum(seconds_on(layers, sets, one).values()) for one in WORKERS}
                found["laid_out"] = laid
                shown = ", ".join(f"{one}: {laid[1] / laid[one]:.1f}" for one in WORKERS)
                print(f"laid out on more workers, times as fast: {shown}", flush=True)
    chosen.out.write_text(json.dumps(found, indent=1))
    return 0


def figures(run: Any) -> dict[str, Any]:
    """Return seconds and counts of a run."""
    status = run.status()
    stages = list(status["stages"].values())
    sets = [record for record in stages if "share_seconds" in record]
    each = recorded_sets(run).values()
    return {
        "seconds": status["run_seconds"],
        "objective": run.history()[-1]["objective"],
        "support": sets[-1]["support"],
        "sets": sum(one.count for one in each),
        "solving": sum(record["set_seconds"] for record in sets),
        "shares": sum(sum(record["share_seconds"]) for record in sets),
        "moved": sum(one.moved for one in each) / max(1, sets[-1]["support"]),
    }


def told(about: dict[str, Any]) -> str:
    """Return the figures as a phrase."""
    return (
        f"{about['seconds']:.1f} s, objective {about['objective']:.6g}, {about['support']} support "
        f"vectors that moved {about['moved']:.1f} times, {about['sets']} sets: solving "
        f"{about['solving']:.1f} s, shares {about['shares']:.1f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
