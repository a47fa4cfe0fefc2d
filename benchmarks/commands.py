"""Seconds of whole commands from Enter to prompt, each in a fresh process.

    python -m benchmarks.commands [--times N] [--quick] [--compile]

Runs help, ingest, train, status, evaluate and predict on 4,000 rows of magic and (not with --quick)
on 49,990 of ijcnn1, and prints the best and the median of several runs with compiled code. Of
training the start (imports, compiled code, workers), the training itself, and the end (the report,
workers that leave) stand apart. ``--compile`` also trains once with an empty cache and prints what
compiling takes, and how many functions are compiled. Writes ``commands.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import Task, ijcnn1, magic, prefix
from benchmarks.runs import write

DCSVM = [sys.executable, "-c", "from dcsvm_dask.cli.process import run; run()"]
# Modules that Python compiles anew at each start would double the times.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
Figures = dict[str, Any]


def seconds(*words: object, environment: dict[str, str] = ENVIRONMENT) -> tuple[float, str]:
    """Return the wall time of a command, and its standard output."""
    begin = time.perf_counter()
    done = subprocess.run(
        [*DCSVM, *map(str, words)], env=environment, check=True, capture_output=True, text=True
    )
    return time.perf_counter() - begin, done.stdout


def training(*words: object, environment: dict[str, str] = ENVIRONMENT) -> Figures:
    """Return the wall time of a training and of its three parts."""
    begin = time.time()
    total, text = seconds("train", *words, "--log-json", environment=environment)
    events = {line["event"]: line["seconds"] for line in map(json.loads, text.splitlines())}
    parts = {
        "start": events["RunBegins"] - begin,
        "train": events["RunEnds"] - events["RunBegins"],
        "end": begin + total - events["RunEnds"],
    }
    return {"total": total, **parts}


def repeated(name: str, call: Callable[[], Figures], times: int) -> Figures:
    """Print and return the best and the median of several calls."""
    call()  # what follows finds everything compiled and read from disk
    found = [call() for _ in range(times)]
    best = min(found, key=lambda one: one["total"])
    median = statistics.median(one["total"] for one in found)
    apart = ", ".join(f"{part} {best[part]:.2f}" for part in best if part != "total")
    print(f"{name:<24} {best['total']:7.2f} {median:7.2f}  {apart}", flush=True)
    return {"best": best, "median": median, "load": os.getloadavg()[0]}


def commands(name: str, task: Task, folder: Path, times: int) -> Figures:
    """Measure all commands on a task's rows."""
    rows, data, run = folder / f"{name}.npz", folder / f"{name}.zarr", folder / f"{name}-run"
    np.savez(rows, X_train=task.X, y_train=task.y, X_test=task.X_test, y_test=task.y_test)
    how = ("--gamma", task.gamma, "-C", task.C)

    def timed(*words: object) -> Callable[[], Figures]:
        return lambda: {"total": seconds(*words, "--quiet")[0]}

    def train() -> Figures:
        shutil.rmtree(run, ignore_errors=True)
        return training(data, "--run", run, *how)

    out = folder / "predictions.csv"
    calls: dict[str, Callable[[], Figures]] = {
        "ingest": timed("ingest", rows, "--out", data, "--scale", "none", "--overwrite"),
        "train": train,
        "status": timed("status", run),
        "evaluate": timed("evaluate", run, data / "test"),
        "predict": timed("predict", run, data / "test", "--out", out, "--overwrite"),
    }
    return {word: repeated(f"{name} {word}", call, times) for word, call in calls.items()}


def compiling(name: str, folder: Path, usual: float) -> Figures:
    """Train with an empty cache of compiled code; print and return what compiling took."""
    cache, run = folder / "compiled", folder / f"{name}-compiling"
    environment = {**ENVIRONMENT, "NUMBA_CACHE_DIR": str(cache)}
    found = training(folder / f"{name}.zarr", "--run", run, environment=environment)
    functions, kinds = (len(list(cache.rglob(f"*.{end}"))) for end in ("nbi", "nbc"))
    shutil.rmtree(cache)
    more = found["total"] - usual
    print(
        f"{name}: the first training takes {found['total']:.1f} s, {more:.1f} s of them for "
        f"compiling {functions} functions ({kinds} with those for other types)"
    )
    return {**found, "compiling": more, "functions": functions, "kinds": kinds}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--times", type=int, default=5, help="runs of each command, by default 5")
    options.add_argument("--quick", action="store_true", help="4,000 rows only")
    options.add_argument("--compile", action="store_true", help="measure compiling, too")
    options.add_argument("--out", type=Path, default=Path("commands.json"))
    chosen = options.parse_args()
    tasks = {"4,000": prefix(magic(), 4_000)} | ({} if chosen.quick else {"49,990": ijcnn1()})
    print(f"{'rows, command':<24} {'best s':>7} {'median':>7}")
    found: Figures = {
        "help": repeated("help", lambda: {"total": seconds("--help")[0]}, chosen.times)
    }
    with tempfile.TemporaryDirectory() as place:
        for name, task in tasks.items():
            found[name] = commands(name.replace(",", ""), task, Path(place), chosen.times)
            if chosen.compile:
                usual = found[name]["train"]["median"]
                found[name]["compile"] = compiling(name.replace(",", ""), Path(place), usual)
    write(chosen.out, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
