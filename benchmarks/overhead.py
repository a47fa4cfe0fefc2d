"""What training costs beside the solver: few rows by the Python API, in this process.

    python -m benchmarks.overhead [--quick]

Trains 5,000 rows of Covertype (quick: 2,000) once to compile, then several times, and sets the
whole call, data set and run folder included, against `solve_smo` with its kernel matrix on the
same rows. Writes ``overhead.json``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import dcsvm_dask.api as dcsvm
from benchmarks.datasets import covtype
from benchmarks.runs import ingest, write
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.solvers import solve_smo
from dcsvm_dask.tasks import svc_dual

TIMES = 5


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="2,000 rows")
    options.add_argument("--out", type=Path, default=Path("overhead.json"))
    chosen = options.parse_args()
    task = covtype(2_000 if chosen.quick else 5_000)
    y = np.where(task.y > 0, 1.0, -1.0)
    ours, solver = [], []
    with tempfile.TemporaryDirectory() as folder:
        data = ingest(task, Path(folder))
        for number in range(TIMES + 1):
            begin = time.perf_counter()
            run = dcsvm.train(
                data,
                Path(folder) / f"run-{number}",
                execution=Execution(workers=0),
                quiet=True,
                report=False,
                gamma=task.gamma,
                C=task.C,
            )
            ours.append(time.perf_counter() - begin)
            with threadpool_limits(1):
                begin = time.perf_counter()
                K = kernel_matrix(Kernel("rbf", task.gamma), task.X)
                found = solve_smo(K, svc_dual(y, task.C), tol=3e-4)
                solver.append(time.perf_counter() - begin)
        objective = run.status()["objective"]
    if abs(objective - found.objective) > 1e-5 * abs(found.objective):
        raise SystemExit(f"the objectives differ: {objective}, {found.objective}")
    mine, alone = statistics.median(ours[1:]), statistics.median(solver[1:])
    print(
        f"{len(y)} rows: train {mine:.3f} s (the first time {ours[0]:.1f} s), "
        f"solver alone {alone:.3f} s, overhead {mine - alone:.3f} s"
    )
    write(chosen.out, {"train": ours, "solver": solver, "overhead": mine - alone})
    return 0


if __name__ == "__main__":
    sys.exit(main())
