"""Early models: seconds and accuracy of every level, beside oneDAL's exact time.

    python -m benchmarks.early [--quick] [--tasks ijcnn1]

Stops at each level in turn. The measure is relative: liquidSVM, which is not on PyPI, took 1/39 of
oneDAL's time on 50,000 rows of Covertype, 2/5 on ijcnn1, and on all of Covertype a quarter of
oneDAL's on 50,000 rows. Writes ``early.json``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.datasets import TASKS
from benchmarks.runs import ingest, train, write

QUICK = ("ijcnn1",)
# Task -> the task on which oneDAL is timed, liquidSVM's share of that time, its accuracy.
MEASURES = {
    "ijcnn1": ("ijcnn1", 2 / 5, 0.9842),
    "covtype-50000": ("covtype-50000", 1 / 39, 0.8991),
    "covtype-464810": ("covtype-50000", 1 / 4, 0.9562),
}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="ijcnn1 alone")
    options.add_argument("--tasks", help=f"of {', '.join(MEASURES)}")
    options.add_argument("--out", type=Path, default=Path("early.json"))
    chosen = options.parse_args()
    names = chosen.tasks.split(",") if chosen.tasks else QUICK if chosen.quick else tuple(MEASURES)
    onedal: dict[str, Any] = {}
    found = {}
    for name in names:
        measure, share, accuracy = MEASURES[name]
        if measure not in onedal:
            onedal[measure] = peers.run("onedal", measure, 600.0)
        goal = share * onedal[measure].get("seconds", float("nan"))
        print(f"{name}: liquidSVM would take {goal:.2f} s for an accuracy of {accuracy}")
        found[name] = {"goal_seconds": goal, "goal_accuracy": accuracy, "levels": levels_of(name)}
    write(chosen.out, {"onedal": onedal, "tasks": found})
    return 0


def levels_of(name: str) -> dict[int, Any]:
    """Train a task to each level; return the figures by level."""
    task, found = TASKS[name](), {}
    with tempfile.TemporaryDirectory() as folder:
        data = ingest(task, Path(folder))
        deepest = 3 if task.X.shape[0] > 200_000 else 2
        for level in range(deepest, 0, -1):
            words = ("--stop-at", str(level))
            found[level] = train(task, data, Path(folder) / f"run-{level}", *words)
            print(
                f"  level {level}: {found[level]['seconds']:7.2f} s  "
                f"accuracy {found[level]['accuracy']:.4f}"
            )
    return found


if __name__ == "__main__":
    sys.exit(main())
