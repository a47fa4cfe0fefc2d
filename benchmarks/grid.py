"""Small data over a grid of C and gamma: us and LIBSVM in turn, on every shared set of two classes.

    python -m benchmarks.grid [--quick] [--tasks w8a,usps] [--rows 10000]

C is 1, 32, 1024; gamma is 1/8, 1 and 8 times 1 / (2 m^2), m the median distance of two rows. Ours
is the time from workers ready to model committed; LIBSVM's that of svm-train less what it takes to
read its file, and it is stopped after 20 times ours or 300 s, so that the ratio is a bound. It
solves with a bias: the objective is held against ours with one. Writes ``grid.json``.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import dcsvm_dask.api as dcsvm
from benchmarks.datasets import SETS, Task, prefix
from benchmarks.runs import Figures, ingest, write
from dcsvm_dask.runtime.execution import Execution

PENALTIES = (1.0, 32.0, 1024.0)
SCALES = (1 / 8, 1.0, 8.0)
QUICK = ("heart_scale", "german_numer", "phishing")
PAIRS = 20_000
CACHE_MB = 1024
TOL = 1e-3
LIMIT_FACTOR, LONGEST = 20.0, 300.0
# What two answers within tolerance may differ by, relative.
AGREE = 1e-4


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="three small sets")
    options.add_argument("--tasks", help=f"of {', '.join(SETS)}")
    options.add_argument("--rows", type=int, default=10_000, help="most rows of a set")
    options.add_argument("--out", type=Path, default=Path("grid.json"))
    chosen = options.parse_args()
    program = shutil.which("svm-train")
    if program is None:
        raise SystemExit("svm-train is not there: apt-get install libsvm-tools")
    names = chosen.tasks.split(",") if chosen.tasks else QUICK if chosen.quick else tuple(SETS)
    found: dict[str, list[Figures]] = {}
    for name in names:
        found[name] = compare(prefix(SETS[name](), chosen.rows), program)
        write(chosen.out, {"sets": found})
    points = [point for all_points in found.values() for point in all_points]
    for key in ("ours", "ours, bias"):
        ratios = [point["libsvm"]["seconds"] / point[key]["seconds"] for point in points]
        print(
            f"{key}: LIBSVM takes {statistics.median(ratios):.1f} times as long (median of "
            f"{len(ratios)}), at least {min(ratios):.2f}; slower than it in "
            f"{sum(ratio < 1 for ratio in ratios)}"
        )
    return int(any(point["agrees"] is False for point in points))


def compare(task: Task, program: str) -> list[Figures]:
    """Run us and LIBSVM on every point of the grid; print a line for each."""
    middle = median_gamma(task)
    n, d = task.X.shape
    points = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data, rows = ingest(task, home), home / "rows"
        dump_svmlight_file(task.X, task.y, str(rows), zero_based=False)
        # One row's machine: nothing but reading.
        reading = svm_train(program, rows, ["-s", "2", "-n", 1 / n], LONGEST)["seconds"]
        print(f"{task.name}: {n} x {d}, LIBSVM reads it in {reading:.2f} s")
        for number, (C, scale) in enumerate((C, scale) for C in PENALTIES for scale in SCALES):
            case = replace(task, C=C, gamma=scale * middle)
            point: dict[str, Any] = {"C": C, "scale": scale, "gamma": case.gamma}
            for key, bias in (("ours", False), ("ours, bias", True)):
                point[key] = train(case, data, home / f"run-{number}-{bias}", bias)
            words = ["-t", 2, "-c", C, "-g", case.gamma, "-e", TOL, "-m", CACHE_MB]
            limit = min(LIMIT_FACTOR * point["ours"]["seconds"], LONGEST)
            theirs = svm_train(program, rows, words, limit + reading)
            theirs["seconds"] = max(theirs["seconds"] - reading, 0.0)
            point["libsvm"] = theirs
            point["agrees"] = agree(point["ours, bias"]["objective"], theirs.get("objective"))
            points.append(point)
            print("  " + line(point), flush=True)
    return points


def train(task: Task, data: Path, run: Path, bias: bool) -> Figures:
    """Train by the Python API on local workers; return what the run says of itself."""
    opened = dcsvm.train(
        data,
        run,
        execution=Execution(),
        quiet=True,
        report=False,
        gamma=task.gamma,
        C=task.C,
        fit_intercept=bias,
        tol=TOL,
    )
    status = opened.status()
    kept = ("objective", "n_support", "violation", "converged", "floor_ratio")
    return {"seconds": status["run_seconds"], **{key: status[key] for key in kept}}


def svm_train(program: str, rows: Path, words: list[Any], limit: float) -> Figures:
    """Run LIBSVM; return its seconds and the objective that it prints."""
    begin = time.perf_counter()
    command = [program, *map(str, words), str(rows), str(rows.with_name("model"))]
    try:
        done = subprocess.run(command, check=True, timeout=limit, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return {"seconds": limit, "stopped": True}
    seconds = time.perf_counter() - begin
    objective = re.findall(r"obj = (\S+),", done.stdout)
    return {"seconds": seconds, **({"objective": float(objective[0])} if objective else {})}


def agree(ours: float, theirs: float | None) -> bool | None:
    """Return whether ours is no worse than theirs; None where theirs was stopped."""
    return None if theirs is None else ours <= theirs + AGREE * abs(theirs)


def median_gamma(task: Task) -> float:
    """Return 1 / (2 m^2), m the median distance of two rows drawn at random."""
    rng = np.random.default_rng(0)
    first, second = (rng.integers(task.X.shape[0], size=PAIRS) for _ in range(2))
    difference = task.X[first] - task.X[second]
    squares = difference.multiply(difference) if sparse.issparse(difference) else difference**2
    return 1.0 / (2.0 * float(np.median(np.asarray(squares.sum(axis=1)))))


def line(point: Figures) -> str:
    """Return one point of the grid as text."""
    theirs = point["libsvm"]
    text = f"C {point['C']:<6g} gamma {point['scale']:<6g}"
    for key in ("ours", "ours, bias"):
        own = point[key]
        text += f" {key} {own['seconds']:6.2f} s"
        text += f" ({theirs['seconds'] / own['seconds']:5.2f} x)"
        text += "" if own["converged"] else " NOT converged"
    text += f"  LIBSVM {theirs['seconds']:6.2f} s" + ("+" if theirs.get("stopped") else "")
    return text + ("  the objectives do NOT agree" if point["agrees"] is False else "")


if __name__ == "__main__":
    sys.exit(main())
