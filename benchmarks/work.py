"""How far training is from its floor: kernel values and the time of each.

    python -m benchmarks.work [--quick] [--tasks ijcnn1,a9a]

The floor is n x nSV kernel values at the rate of the fused tile on the same rows (every core at
work; BLAS product, exponential and sum in one pass). The final check counts apart, and so does the
time in which no kernel value was under way. Writes ``work.json``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import TASKS, Task
from benchmarks.runs import Figures, ingest, machine, train, write
from dcsvm_dask.kernels import Kernel, kernel_product

QUICK = ("ijcnn1", "a9a")
ALL = ("ijcnn1", "a9a", "mnist", "covtype-100000", "covtype-464810")
TILE_ROWS = 8192


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two small tasks")
    options.add_argument("--tasks", help=f"of {', '.join(TASKS)}")
    options.add_argument("--out", type=Path, default=Path("work.json"))
    chosen = options.parse_args()
    names = chosen.tasks.split(",") if chosen.tasks else QUICK if chosen.quick else ALL
    found: dict[str, Figures] = {}
    for name in names:
        task = TASKS[name]()
        with tempfile.TemporaryDirectory() as folder:
            figures = train(task, ingest(task, Path(folder)), Path(folder) / "run")
        rate = nanoseconds(task)
        idle = 1 - figures["computing_seconds"] / figures["seconds"]
        found[name] = {**figures, "tile_ns": rate, "without_kernel_values": idle}
        print(
            f"{name:<15} {figures['seconds']:7.2f} s  {figures['floor_ratio']:5.2f} x n x nSV "
            f"(check {figures['check_ratio']:.2f})  {figures['ns_per_kernel_value']:5.2f} ns of a "
            f"core each, tile {rate:5.2f} ns, {figures['ns_per_kernel_value'] / rate:4.2f} times; "
            f"{idle:.0%} of the time without"
        )
    write(chosen.out, {"tasks": found})
    return 0


def nanoseconds(task: Task) -> float:
    """Return the processor time of a kernel value in the fused tile, all cores at work."""
    cores = machine()["cores"]
    rows = np.random.default_rng(0).permutation(task.X.shape[0])
    X, Z = task.X[rows[:TILE_ROWS]], task.X[rows[-TILE_ROWS:]]
    v, kernel = np.ones(Z.shape[0]), Kernel("rbf", task.gamma)
    with threadpool_limits(1):
        kernel_product(kernel, X[:600], Z, v)
        begin = time.perf_counter()
        values = kernel_product(kernel, X, Z, v, threads=cores)[1]
        return 1e9 * (time.perf_counter() - begin) * cores / values


if __name__ == "__main__":
    sys.exit(main())
