"""A search by five folds on covtype, 50,000 rows: ours beside the fits of GridSearchCV.

    python -m benchmarks.folds [--peer onedal|libsvm|none] [--splits 5]

Nine candidates, C in 1, 8, 32 and gamma in 4, 16, 32, with a bias. Ours is ``dcsvm search``, which
ranks all of them by blocks and solves the best three exactly; seconds are those of the run, the
start of workers stands beside. The peer is `GridSearchCV` over scikit-learn's SVC or oneDAL's,
on the same folds; with fewer ``--splits`` it fits only the first of them, and the ratio is that to
five times its mean. Writes ``folds.json``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV

from benchmarks.datasets import Task, covtype
from benchmarks.runs import compiling_seconds, ingest, write
from dcsvm_dask import api

Figures = dict[str, Any]
ROWS, FOLDS = 50_000, 5
COSTS, GAMMAS = (1.0, 8.0, 32.0), (4.0, 16.0, 32.0)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--peer", choices=("onedal", "libsvm", "none"), default="onedal")
    options.add_argument("--splits", type=int, default=FOLDS)
    options.add_argument("--out", type=Path, default=Path("folds.json"))
    chosen = options.parse_args()
    compiling_seconds()
    task = covtype(ROWS)
    found: Figures = {}
    found["ours"], fold = ours(task)
    print(
        "ours: {seconds:.1f} s ({start_seconds:.1f} s to start workers), best C {C:g}, gamma "
        "{gamma:g}, accuracy {accuracy:.4f}".format(**found["ours"]),
        flush=True,
    )
    if chosen.peer != "none":
        found["peer"] = grid_search(task, fold, chosen.peer, chosen.splits)
        seconds = found["peer"]["seconds"] * FOLDS / chosen.splits
        print(
            f"{chosen.peer}: {found['peer']['seconds']:.1f} s for {chosen.splits} of {FOLDS} folds,"
            f" best C {found['peer']['C']:g}, gamma {found['peer']['gamma']:g};"
            f" {seconds / found['ours']['seconds']:.1f} times ours"
        )
    write(chosen.out, found)
    return 0


def ours(task: Task) -> tuple[Figures, NDArray[np.integer]]:
    """Search by the command; return the figures and the fold of each row."""
    with tempfile.TemporaryDirectory() as folder:
        data, run = ingest(task, Path(folder)), Path(folder) / "run"
        listed = (",".join(map(str, values)) for values in (COSTS, GAMMAS))
        words = ["--C", next(listed), "--gamma", next(listed), "--cv", str(FOLDS)]
        words += ["--fit-intercept", "--no-refit", "--quiet", "--no-report"]
        command = str(Path(sys.executable).with_name("dcsvm"))
        subprocess.run([command, "search", str(data), "--run", str(run), *words], check=True)
        opened = api.open_run(run)
        status = opened.status()
        best = next(row for row in opened.results() if row["best"])
        fold = opened.folder.node("split", "commit").read("fold_of_row")
    kept = ("C", "gamma", "accuracy")
    times = {key: status[key] for key in ("start_seconds", "stage_seconds")}
    return {"seconds": status["run_seconds"], **times, **{key: best[key] for key in kept}}, fold


def grid_search(task: Task, fold: NDArray[np.integer], peer: str, splits: int) -> Figures:
    """Search by scikit-learn."""
    if peer == "onedal":
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
    rows = np.arange(len(task.y))
    folds = [(rows[fold != number], rows[fold == number]) for number in range(splits)]
    grid = {"C": list(COSTS), "gamma": list(GAMMAS)}
    begin = time.perf_counter()
    search = GridSearchCV(SVC(cache_size=1000), grid, cv=folds, refit=False).fit(task.X, task.y)
    return {
        "seconds": time.perf_counter() - begin,
        "accuracy": float(search.best_score_),
        **search.best_params_,
    }


if __name__ == "__main__":
    sys.exit(main())
