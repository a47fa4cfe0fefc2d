"""Our side of a benchmark: data set, training by the command line, what the run says of itself."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import dcsvm_dask.api as dcsvm
from benchmarks.datasets import Task
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.runtime.compilation import parts_of_run, warm_up
from dcsvm_dask.storage.run import RunFolder

Figures = dict[str, Any]


def ingest(task: Task, folder: Path) -> Path:
    """Make a task's data set."""
    dcsvm.ingest((task.X, task.y), folder / "data.zarr", test=(task.X_test, task.y_test))
    return folder / "data.zarr"


def command(task: Task, data: Path, run: Path, *words: str) -> list[str]:
    """Return the command that trains."""
    dcsvm_command = str(Path(sys.executable).with_name("dcsvm"))
    how = ["--gamma", repr(task.gamma), "-C", repr(task.C), "--quiet", "--no-report"]
    return [dcsvm_command, "train", str(data), "--run", str(run), *how, *words]


def train(task: Task, data: Path, run: Path, *words: str) -> Figures:
    """Train by the command line; return what the run says of itself."""
    subprocess.run(command(task, data, run, *words), check=True)
    return figures(run, data)


def figures(run: Path, data: Path) -> Figures:
    """Return what a run says of itself, and the accuracy of its model."""
    opened = dcsvm.open_run(run)
    status = opened.status()
    return {
        "seconds": status["run_seconds"],
        "start_seconds": status["start_seconds"],
        "accuracy": opened.evaluate(data / "test")["accuracy"],
        "n_support": status["n_support"],
        "variables": status["variables"],
        "objective": status["objective"],
        "violation": status["violation"],
        "floor_ratio": status["floor_ratio"],
        "check_ratio": status["check_kernel_values"] / (status["variables"] * status["n_support"]),
        "ns_per_kernel_value": status["ns_per_kernel_value"],
        "phases": status["seconds"],
        "peak_bytes": sum(status["peak_bytes"].values()),
        "computing_seconds": computing_seconds(opened.folder),
    }


def computing_seconds(run: RunFolder) -> float:
    """Return how long at least one node was at work that computes kernel values."""
    nodes = [node.record for stage in run.read_all().values() for node in stage.values()]
    spans = [
        (record["began"], record["began"] + record["seconds"])
        for record in nodes
        if "kernel_values" in record or "estimate_kernel_values" in record
    ]
    total, until = 0.0, 0.0
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def compiling_seconds() -> float:
    """Compile what the estimators run, or load it from the cache; return how long that took."""
    begin = time.perf_counter()
    warm_up([*parts_of_run(sparse=False, bias=False, kinks=False), "pairs"])
    X = np.random.default_rng(0).random((40, 3), dtype=np.float32)
    DCSVC().fit(X, np.arange(40) % 3).predict(X)
    return time.perf_counter() - begin


def machine() -> Figures:
    """Return what the figures were measured on."""
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load": os.getloadavg(),
    }


def write(out: Path, found: Figures) -> None:
    """Write figures, with the machine, as JSON."""
    out.write_text(json.dumps({"machine": machine(), **found}, indent=1))
    print(f"written to {out}")
