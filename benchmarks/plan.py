"""What the plan foretold against what runs took: memory of a worker, time, kernel values.

    python -m benchmarks.plan [--quick] [--tasks mnist,a9a]

1 where the memory of a worker is off by more than a fifth on a task of the defaults. Writes
``plan.json``.
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
ALL = ("a9a", "mnist", "covtype-50000", "covtype-100000", "covtype-464810", "ijcnn1")
FAR_OFF = 0.2
EXPECTED = ("a9a", "mnist", "covtype-50000", "covtype-100000", "covtype-464810")
"""Those on which the memory has to be near."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two small tasks")
    options.add_argument("--tasks", help=f"of {', '.join(TASKS)}")
    options.add_argument("--out", type=Path, default=Path("plan.json"))
    chosen = options.parse_args()
    names = chosen.tasks.split(",") if chosen.tasks else QUICK if chosen.quick else ALL
    found: dict[str, Figures] = {}
    off = False
    for name in names:
        task = TASKS[name]()
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            train(task, ingest(task, Path(folder)), run)
            plan = dcsvm.open_run(run).status()["plan"]
        found[name] = plan
        memory, seconds, values = (
            (plan[key]["planned"], plan[key]["actual"])
            for key in ("worker_bytes", "seconds", "kernel_values")
        )
        ratio = memory[0] / memory[1]
        off = off or (name in EXPECTED and abs(ratio - 1) > FAR_OFF)
        print(
            f"{name:<15} planned / took: memory {memory[0] / 2**20:6.0f} / "
            f"{memory[1] / 2**20:6.0f} MiB ({ratio:.2f}), time {seconds[0]:6.1f} / "
            f"{seconds[1]:6.1f} s, kernel values {values[0]:.2g} / {values[1]:.2g}"
        )
    write(chosen.out, {"tasks": found})
    return int(off)


if __name__ == "__main__":
    sys.exit(main())
