"""Ten classes: our DCSVC and oneDAL's SVC on MNIST, each in a fresh process, in turn.

    python -m benchmarks.classes [--rows 60000] [--times 3]

The 45 machines of the pairs of digits, C 10, gamma .02, pixels / 255, tolerance 1e-3, with all
cores. oneDAL is scikit-learn-intelex's SVC; both get the same float32 rows. Importing is not
counted; compiling, or loading what was compiled, stands apart. The ratios are of medians. With
fewer rows there are as many test rows at most. Writes ``classes.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import mnist_classes, prefix
from benchmarks.runs import compiling_seconds, write
from dcsvm_dask.estimators import DCSVC

Figures = dict[str, Any]
ALL = 60_000
TOL, CACHE_MB = 1e-3, 1024
WHO = ("ours", "onedal")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=ALL, help="of the train part")
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--out", type=Path, default=Path("classes.json"))
    options.add_argument("--one", choices=WHO, help="measure one, here; print a JSON object")
    chosen = options.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one, chosen.rows)))
        return 0
    runs: dict[str, list[Figures]] = {who: [] for who in WHO}
    for _ in range(chosen.times):
        for who in WHO:
            runs[who].append(alone(who, chosen.rows))
            print(line(who, runs[who][-1]), flush=True)
    measured = [who for who in WHO if "fit" in runs[who][0]]
    found: Figures = {"rows": chosen.rows, "runs": runs}
    if len(measured) == len(WHO):
        for what in ("fit", "predict"):
            mine, other = (median(runs[who], what) for who in WHO)
            found[f"{what}_ratio"] = other / mine
            print(f"{what}: ours {mine:.2f} s, oneDAL {other:.2f} s, {other / mine:.2f} x ours")
    write(chosen.out, found)
    return 0


def alone(who: str, rows: int) -> Figures:
    """Return the figures of one of them from a process of its own."""
    words = [sys.executable, "-m", "benchmarks.classes", "--one", who, "--rows", str(rows)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr else "no reason"}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(who: str, rows: int) -> Figures:
    """Train and predict by one of them."""
    task = prefix(mnist_classes(), rows)
    kind: Any = DCSVC
    compiling = 0.0
    if who == "ours":
        compiling = compiling_seconds()
    else:
        try:
            from sklearnex.svm import SVC
        except ImportError:
            return {"absent": "pip install scikit-learn-intelex"}
        kind = SVC
    machine = kind(C=task.C, gamma=task.gamma, tol=TOL, cache_size=CACHE_MB)
    begin = time.perf_counter()
    machine.fit(task.X, task.y)
    middle = time.perf_counter()
    predicted = machine.predict(task.X_test)
    end = time.perf_counter()
    return {
        "compiling": compiling,
        "fit": middle - begin,
        "predict": end - middle,
        "accuracy": float(np.mean(predicted == task.y_test)),
        "n_support": len(machine.support_),
    }


def line(who: str, figures: Figures) -> str:
    """Return one run in one line."""
    if "fit" not in figures:
        return f"{who:<7} {figures}"
    return (
        f"{who:<7} fit {figures['fit']:8.2f} s, predict {figures['predict']:7.2f} s"
        f"  accuracy {figures['accuracy']:.4f}  n_support {figures['n_support']:,}"
        f"  compiling or loading {figures['compiling']:.1f} s"
    )


def median(runs: list[Figures], key: str) -> float:
    return float(statistics.median(figures[key] for figures in runs))


if __name__ == "__main__":
    sys.exit(main())
