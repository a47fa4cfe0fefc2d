"""Linear machines: us and LIBLINEAR in turn on one core, in one process, on the same rows.

    python -m benchmarks.linear [--quick] [--tasks a9a,news20_tfidf] [--times 7] [--tol 0.1,0.001]

LIBLINEAR is scikit-learn's ``LinearSVC(dual=True)``. Both get the same float32 rows, C = 1, an
appended constant of 1, and a tolerance that means the same to both: the largest minus the
smallest projected gradient. Ours is also measured at the end, where nothing moves. Every time
both get another seed; the ratio is that of medians. Compiling, or loading what was compiled,
stands apart. Objectives are primal ones, of the weights found. Writes ``linear.json``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.datasets import SETS, Task
from benchmarks.runs import write
from dcsvm_dask.solvers import solve_linear, warm_up_linear

Figures = dict[str, Any]
LOSSES = ("hinge", "squared_hinge")
C = 1.0
MOST = 10_000_000


def sparse_task(name: str) -> Callable[[], Task]:
    """Return how to make a set's task with its rows in CSR."""

    def task() -> Task:
        found = SETS[name]()
        X = sparse.csr_matrix(found.X)
        return Task(name, X, found.y, found.X_test, found.y_test, C, found.gamma)

    return task


TASKS: dict[str, Callable[[], Task]] = {
    "a9a": sparse_task("a9a"),
    "a9a-dense": SETS["a9a"],
    "reuters_money_fx": SETS["reuters_money_fx"],
    "news20_tfidf": SETS["news20_tfidf"],
    "ijcnn1": SETS["ijcnn1"],
    "covtype": SETS["covtype"],
}
QUICK = ("a9a", "a9a-dense", "reuters_money_fx", "news20_tfidf")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="three times, tolerance 0.1")
    options.add_argument("--tasks", default=",".join(QUICK), help=f"of {', '.join(TASKS)}")
    options.add_argument("--times", type=int, default=7)
    options.add_argument("--tol", default="0.1,0.001")
    options.add_argument("--out", type=Path, default=Path("linear.json"))
    chosen = options.parse_args()
    times = 3 if chosen.quick else chosen.times
    tolerances = [0.1] if chosen.quick else [float(tol) for tol in chosen.tol.split(",")]
    with threadpool_limits(1):
        begin = time.perf_counter()
        warm_up_linear()
        compiling = time.perf_counter() - begin
        print(f"compiling or loading: {compiling:.2f} s")
        found = [
            compare(task, loss, tol, times)
            for task in (TASKS[name]() for name in chosen.tasks.split(","))
            for loss in LOSSES
            for tol in tolerances
        ]
    write(chosen.out, {"compiling": compiling, "comparisons": found})
    return 0


def compare(task: Task, loss: str, tol: float, times: int) -> Figures:
    """Run both in turn; print a line; return all figures."""
    ours, theirs = [], []
    for seed in range(times):
        theirs.append(liblinear(task, loss, tol, seed))
        ours.append(us(task, loss, tol, seed))
    mine, other = median(ours, "seconds"), median(theirs, "seconds")
    kind = "CSR" if sparse.issparse(task.X) else "dense"
    print(
        f"{task.name:<17} {kind:<6} {loss:<14} tol {tol:<6g}"
        f" ours {mine:8.4f} s, LIBLINEAR {other:8.4f} s, ratio {mine / other:5.2f}"
        f"  passes {median(ours, 'passes'):g}, {median(theirs, 'passes'):g}"
        f"  objective {median(ours, 'objective'):.6f}, {median(theirs, 'objective'):.6f}"
    )
    what = {"task": task.name, "storage": kind, "loss": loss, "tol": tol}
    return {**what, "ratio": mine / other, "ours": ours, "liblinear": theirs}


def us(task: Task, loss: Any, tol: float, seed: int) -> Figures:
    """Train our machine."""
    begin = time.perf_counter()
    found = solve_linear(
        task.X, task.y, C, loss=loss, constant=1.0, tol=tol, max_iter=MOST, seed=seed
    )
    seconds = time.perf_counter() - begin
    if not found.converged:
        raise SystemExit(f"{task.name}, {loss}: ours has not converged")
    reached = objective(task, loss, found.w, found.b)
    return {"seconds": seconds, "passes": found.n_iter, "objective": reached}


def liblinear(task: Task, loss: str, tol: float, seed: int) -> Figures:
    """Train scikit-learn's machine."""
    machine = LinearSVC(loss=loss, C=C, dual=True, tol=tol, max_iter=MOST, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        begin = time.perf_counter()
        machine.fit(task.X, task.y)
        seconds = time.perf_counter() - begin
    reached = objective(task, loss, machine.coef_[0], float(machine.intercept_[0]))
    return {"seconds": seconds, "passes": int(machine.n_iter_), "objective": reached}


def objective(task: Task, loss: str, w: Any, b: float) -> float:
    """Return the primal objective; the constant is 1, so its weight is b."""
    lost = np.maximum(0.0, 1.0 - task.y * (task.X @ w + b))
    lost = lost**2 if loss == "squared_hinge" else lost
    return float(0.5 * (w @ w + b * b) + C * lost.sum())


def median(runs: list[Figures], key: str) -> float:
    return float(statistics.median(figures[key] for figures in runs))


if __name__ == "__main__":
    sys.exit(main())
