"""The paper's 25-point grid on ijcnn1: by blocks and exactly, beside 25 fits of SVC.

    python -m benchmarks.search [--block-rows 4096] [--no-onedal]

C and gamma in 2^{-10, -6, 1, 6, 10} (Hsieh, Si, Dhillon, 2014, Table 7), all of ijcnn1's training
rows, accuracy on its 91,701 test rows, with a bias. `DCSVMSearchCV` scores all points by blocks;
``dcsvm search --exact all`` solves every point; oneDAL's SVC (scikit-learn-intelex) is fitted and
scored 25 times. Seconds of training and scoring; importing, compiling, ingesting and the start of
the workers are not counted, the last two stand beside. Writes ``search.json``.
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

from benchmarks.datasets import Task, ijcnn1
from benchmarks.runs import compiling_seconds, ingest, write
from dcsvm_dask import api
from dcsvm_dask.estimators import DCSVMSearchCV

Figures = dict[str, Any]
POWERS = (-10, -6, 1, 6, 10)
VALUES = [2.0**power for power in POWERS]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--block-rows", type=int, default=4096)
    options.add_argument("--no-onedal", action="store_true")
    options.add_argument("--out", type=Path, default=Path("search.json"))
    chosen = options.parse_args()
    compiling_seconds()
    task = ijcnn1()
    found: Figures = {"early": early(task, chosen.block_rows)}
    print(f"by blocks: {found['early']['seconds']:.1f} s", flush=True)
    found["exact"] = exact(task)
    print(
        "exact: {seconds:.1f} s ({start_seconds:.1f} s to start workers, {ingest_seconds:.1f} s to "
        "ingest; {fit:.1f} s of a core training)".format(**found["exact"]),
        flush=True,
    )
    if not chosen.no_onedal:
        found["onedal"] = onedal(task)
        fit, whole = found["onedal"]["fit_seconds"], found["onedal"]["seconds"]
        ratios = [whole / found[how]["seconds"] for how in ("early", "exact")]
        print(f"oneDAL: {whole:.1f} s ({fit:.1f} s of it training)")
        print("its time over ours: {:.1f} by blocks, {:.1f} exact".format(*ratios))
    table(found)
    write(chosen.out, found)
    return 0


def table(found: Figures) -> None:
    """Print the accuracies: exact, by blocks less that, oneDAL's less that."""
    print("\n| C | " + " | ".join(f"gamma 2^{power}" for power in POWERS) + " |")
    print("|---|" + "---|" * len(VALUES))
    for row, power in enumerate(POWERS):
        cells = []
        for column in range(len(VALUES)):
            whole = found["exact"]["accuracy"][row][column]
            others = [
                f"{100 * (found[how]['accuracy'][row][column] - whole):+.2f}"
                for how in ("early", "onedal")
                if how in found
            ]
            cells.append(f"{100 * whole:.2f} ({', '.join(others)})")
        print(f"| 2^{power} | " + " | ".join(cells) + " |")


def early(task: Task, block_rows: int) -> Figures:
    """Score the grid by blocks."""
    X, y = np.concatenate([task.X, task.X_test]), np.concatenate([task.y, task.y_test])
    rows = np.arange(len(y))
    search = DCSVMSearchCV(
        param_grid={"C": VALUES, "gamma": VALUES},
        cv=[(rows[: len(task.y)], rows[len(task.y) :])],
        block_rows=block_rows,
        exact=0,
        refit=False,
    )
    begin = time.perf_counter()
    search.fit(X, y)
    seconds = time.perf_counter() - begin
    scores = search.cv_results_["mean_test_score"].reshape(len(VALUES), len(VALUES))
    return {"seconds": seconds, "blocks": search.n_blocks_, "accuracy": scores.tolist()}


def exact(task: Task) -> Figures:
    """Solve every point, by the command."""
    listed = ",".join(f"2^{power}" for power in POWERS)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        data = ingest(task, Path(folder))
        ingested = time.perf_counter() - begin
        words = ["--C", listed, "--gamma", listed, "--exact", "all", "--fit-intercept"]
        words += ["--validation", str(data / "test"), "--no-refit", "--quiet", "--no-report"]
        command = str(Path(sys.executable).with_name("dcsvm"))
        run = Path(folder) / "run"
        begin = time.perf_counter()
        subprocess.run([command, "search", str(data), "--run", str(run), *words], check=True)
        wall = time.perf_counter() - begin
        opened = api.open_run(run)
        rows, status = opened.results(), opened.status()
    scores = {(row["C"], row["gamma"]): row["exact_accuracy"] for row in rows}
    return {
        "seconds": status["run_seconds"],
        "start_seconds": status["start_seconds"],
        "wall_seconds": wall,
        "ingest_seconds": ingested,
        "fit": sum(row["exact_seconds"] for row in rows),
        "solved": all(row["solved"] for row in rows),
        "peak_bytes": max(status["peak_bytes"].values()),
        "accuracy": [[scores[C, gamma] for gamma in VALUES] for C in VALUES],
    }


def onedal(task: Task) -> Figures:
    """Fit and score every point."""
    from sklearnex.svm import SVC

    fitting, scores = 0.0, np.empty((len(VALUES), len(VALUES)))
    begin = time.perf_counter()
    for row, C in enumerate(VALUES):
        for column, gamma in enumerate(VALUES):
            start = time.perf_counter()
            machine = SVC(C=C, gamma=gamma, cache_size=1000).fit(task.X, task.y)
            fitting += time.perf_counter() - start
            scores[row, column] = machine.score(task.X_test, task.y_test)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "fit_seconds": fitting, "accuracy": scores.tolist()}


if __name__ == "__main__":
    sys.exit(main())
