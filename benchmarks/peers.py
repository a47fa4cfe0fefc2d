"""Other trainers on the same problem, each in a process of its own.

    python -m benchmarks.peers NAME TASK [--seconds 300]

prints one JSON object: seconds of training, accuracy, support vectors and, for those that give
their coefficients, the objective that these have in float64. All of them solve with a bias.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.datasets import TASKS, Task

Figures = dict[str, Any]
CACHE_MB = 1024
TOL = 1e-3
ROWS = 1000


class AbsentError(Exception):
    """The peer is not installed."""


def onedal(task: Task, limit: float) -> Figures:
    """Train scikit-learn-intelex's SVC: oneDAL, in float32, with all cores."""
    del limit
    try:
        from sklearnex.svm import SVC
    except ImportError as error:
        raise AbsentError("pip install scikit-learn-intelex") from error
    return _svc(SVC, task)


def sklearn(task: Task, limit: float) -> Figures:
    """Train scikit-learn's own SVC."""
    del limit
    from sklearn.svm import SVC

    return _svc(SVC, task)


def libsvm(task: Task, limit: float) -> Figures:
    """Train by LIBSVM's svm-train, stopped after `limit` seconds; reading the file included."""
    program = shutil.which("svm-train")
    if program is None:
        raise AbsentError("apt-get install libsvm-tools")
    from sklearn.datasets import dump_svmlight_file

    with tempfile.TemporaryDirectory() as folder:
        rows, model = Path(folder) / "rows", Path(folder) / "model"
        dump_svmlight_file(task.X, task.y, str(rows), zero_based=False)
        words = ["-t", "2", "-c", task.C, "-g", task.gamma, "-e", TOL, "-m", CACHE_MB, "-q"]
        begin = time.perf_counter()
        try:
            subprocess.run(
                [program, *map(str, words), str(rows), str(model)], check=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return {"seconds": limit, "stopped": True}
        return {"seconds": time.perf_counter() - begin}


def thundersvm(task: Task, limit: float) -> Figures:
    """Train ThunderSVM's SVC on all cores, in float32."""
    del limit
    try:
        from thundersvm import SVC
    except (ImportError, OSError) as error:
        raise AbsentError("pip install thundersvm-cpu") from error
    return _svc(partial(SVC, n_jobs=os.cpu_count()), task)


PEERS: dict[str, Callable[[Task, float], Figures]] = {
    "onedal": onedal,
    "sklearn": sklearn,
    "libsvm": libsvm,
    "thundersvm": thundersvm,
}


def _svc(kind: Any, task: Task) -> Figures:
    machine = kind(kernel="rbf", C=task.C, gamma=task.gamma, tol=TOL, cache_size=CACHE_MB)
    begin = time.perf_counter()
    machine.fit(task.X, task.y)
    seconds = time.perf_counter() - begin
    coef = machine.dual_coef_
    coef = np.asarray(coef.todense() if sparse.issparse(coef) else coef).ravel()
    return {
        "seconds": seconds,
        "accuracy": float(np.mean(machine.predict(task.X_test) == task.y_test)),
        "n_support": len(coef),
        "objective": objective(machine.support_vectors_, coef, task.gamma),
    }


def objective(support: Any, coef: Any, gamma: float) -> float:
    """Return 0.5 a'Qa - e'a in float64, a block of rows at a time."""
    support, quadratic = support.astype(np.float64), 0.0
    for start in range(0, len(coef), ROWS):
        part = slice(start, start + ROWS)
        quadratic += float(coef[part] @ (rbf_kernel(support[part], support, gamma) @ coef))
    return 0.5 * quadratic - float(np.abs(coef).sum())


def run(name: str, task: str, limit: float) -> Figures:
    """Return a peer's figures from a process of its own."""
    words = [sys.executable, "-m", "benchmarks.peers", name, task, "--seconds", str(limit)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr else "no reason"}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("name", choices=list(PEERS))
    options.add_argument("task", choices=list(TASKS))
    options.add_argument("--seconds", type=float, default=300.0)
    chosen = options.parse_args()
    try:
        figures = PEERS[chosen.name](TASKS[chosen.task](), chosen.seconds)
    except AbsentError as error:
        figures = {"absent": str(error)}
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
