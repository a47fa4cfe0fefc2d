"""Prediction: our models beside oneDAL's SVC on UCI Covertype, and early models beside exact ones.

    python -m benchmarks.serving [--rows 50000] [--of-run 464810] [--predicted 100000] [--times 5]
                                 [--no-onedal]

oneDAL (scikit-learn-intelex) trains an SVC on so many rows, ours a DCSVC (C 32, gamma 32, both with
a bias): models of the same size. Then ``decision_function`` of both on so many other rows, in turn,
all cores. A run on `--of-run` rows, without a bias, gives the early models of its levels, whose
prediction by one core stands beside the exact model's, and the time to load each. Medians;
importing and compiling are not counted. Writes ``serving.json``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import Task, covtype
from benchmarks.runs import compiling_seconds, ingest, train, write
from dcsvm_dask import api
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.models.decision_values import decide

Figures = dict[str, Any]
LEVEL = "level-"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=50_000, help="that both train on")
    options.add_argument("--of-run", type=int, default=464_810, help="whose levels are compared")
    options.add_argument("--predicted", type=int, default=100_000)
    options.add_argument("--times", type=int, default=5)
    options.add_argument("--no-onedal", action="store_true")
    options.add_argument("--out", type=Path, default=Path("serving.json"))
    chosen = options.parse_args()
    compiling_seconds()
    task, every = covtype(chosen.rows), covtype(581_012)
    rows = np.ascontiguousarray(every.X[-chosen.predicted :])
    found: Figures = {"rows": chosen.rows, "predicted": len(rows)}
    found["beside"] = beside(task, rows, chosen.times, with_onedal=not chosen.no_onedal)
    found["levels"] = levels(covtype(chosen.of_run), rows, chosen.times)
    write(chosen.out, found)
    return 0


def beside(task: Task, rows: Any, times: int, *, with_onedal: bool) -> Figures:
    """Predict by both, in turn."""
    kinds: dict[str, Any] = {"ours": DCSVC}
    if with_onedal:
        from sklearnex.svm import SVC

        kinds["onedal"] = SVC
    made = {}
    for who, kind in kinds.items():
        begin = time.perf_counter()
        made[who] = kind(C=task.C, gamma=task.gamma, cache_size=1000).fit(task.X, task.y)
        support = len(made[who].support_)
        print(f"{who:<7} fit {time.perf_counter() - begin:.1f} s, {support:,} support vectors")
    seconds: dict[str, list[float]] = {who: [] for who in made}
    for _ in range(times):
        for who, model in made.items():
            seconds[who].append(timed(partial(model.decision_function, rows)))
    found: Figures = {"seconds": seconds}
    found["n_support"] = {who: len(model.support_) for who, model in made.items()}
    mine = statistics.median(seconds["ours"])
    text = f"decision_function on {len(rows):,} rows: ours {mine:.2f} s"
    if with_onedal:
        other = statistics.median(seconds["onedal"])
        found["ratio"] = other / mine
        text += f", oneDAL {other:.2f} s, {other / mine:.2f} x ours"
    print(text, flush=True)
    return found


def levels(task: Task, rows: Any, times: int) -> list[Figures]:
    """Train a run, then load and apply its models."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        train(task, ingest(task, place), place / "run")
        run = api.open_run(place / "run")
        stages = run.status()["stages"]
        names = [str(run.status()["model"]), *(s for s in sorted(stages) if s.startswith(LEVEL))]
        found = [of_model(run, name, rows, times) for name in names]
    for one in found:
        faster = found[0]["seconds"] / one["seconds"]
        print(
            f"{one['model']:<18} {one['n_support']:>8,} support vectors, loaded in "
            f"{one['load']:.3f} s; one core {one['seconds']:.2f} s for {len(rows):,} rows, "
            f"{faster:.1f} x as fast as exact"
        )
    return found


def of_model(run: api.Run, name: str, rows: Any, times: int) -> Figures:
    """Load a model of a run, and predict by it on one core."""
    mode = "early" if name.startswith(LEVEL) else "exact"
    load = [timed(partial(load_model, run.folder, name)) for _ in range(times)]
    model: Any = load_model(run.folder, name)
    decide(model, rows[:100], mode)
    with threadpool_limits(1):
        seconds = [timed(partial(decide, model, rows, mode)) for _ in range(times)]
    return {
        "model": name,
        "load": statistics.median(load),
        "seconds": statistics.median(seconds),
        "n_support": model.n_support,
    }


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())
