"""What the plan foretold against what runs took: memory of a worker, time, kernel values.

    python -m benchmarks.plan [--quick] [--million] [--tasks mnist,a9a]

Two workers of 1 GB, to the exact model. 1 where the memory of a worker is off by more than a fifth.
Writes ``plan.json``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import dcsvm_dask.api as dcsvm
from benchmarks.datasets import TASKS
from benchmarks.runs import Figures, ingest, train, write

QUICK = ("a9a", "ijcnn1")
ALL = ("a9a", "magic", "ijcnn1", "covtype-50000")
MILLION = "generated-1000000"
FAR_OFF = 0.2
HOW = ("--workers", "2", "--memory-limit", "1GB")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two small tasks")
    options.add_argument("--million", action="store_true", help="a million rows besides; hours")
    options.add_argument("--tasks", help=f"of {', '.join(TASKS)}")
    options.add_argument("--out", type=Path, default=Path("plan.json"))
    chosen = options.parse_args()
    names = chosen.tasks.split(",") if chosen.tasks else QUICK if chosen.quick else ALL
    names = [*names, MILLION] if chosen.million else names
    found: dict[str, Figures] = {}
    off = False
    for name in names:
        task = TASKS[name]()
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            train(task, ingest(task, Path(folder)), run, *HOW)
            plan = dcsvm.open_run(run).status()["plan"]
        found[name] = plan
        memory, seconds, values = (
            (plan[key]["planned"], plan[key]["actual"])
            for key in ("worker_bytes", "seconds", "kernel_values")
        )
        ratio = memory[0] / memory[1]
        off = off or abs(ratio - 1) > FAR_OFF
        print(
            f"{name:<15} planned / took: memory {memory[0] / 2**20:6.0f} / "
            f"{memory[1] / 2**20:6.0f} MiB ({ratio:.2f}), time {seconds[0]:6.1f} / "
            f"{seconds[1]:6.1f} s, kernel values {values[0]:.2g} / {values[1]:.2g}",
            flush=True,
        )
    write(chosen.out, {"tasks": found})
    return int(off)


if __name__ == "__main__":
    sys.exit(main())
