"""The paper's 25-point grid on ijcnn1: early prediction by `DCSVMSearchCV` beside 25 fits of SVC.

    python -m benchmarks.search [--block-rows 4096] [--no-onedal]

C and gamma in 2^{-10, -6, 1, 6, 10} (Hsieh, Si, Dhillon, 2014, Table 7), all of ijcnn1's training
rows, accuracy on its 91,701 test rows, with a bias. Ours scores all points by blocks in one search;
oneDAL's SVC (scikit-learn-intelex) is fitted 25 times, which gives the exact accuracies. Seconds of
training and scoring; importing and compiling are not counted. Writes ``search.json``.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import Task, ijcnn1
from benchmarks.runs import compiling_seconds, write
from dcsvm_dask.estimators import DCSVMSearchCV

Figures = dict[str, Any]
VALUES = [2.0**power for power in (-10, -6, 1, 6, 10)]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--block-rows", type=int, default=4096)
    options.add_argument("--no-onedal", action="store_true")
    options.add_argument("--out", type=Path, default=Path("search.json"))
    chosen = options.parse_args()
    compiling_seconds()
    task = ijcnn1()
    found: Figures = {"ours": ours(task, chosen.block_rows)}
    print(f"ours: {found['ours']['seconds']:.1f} s, {found['ours']['blocks']} blocks", flush=True)
    if not chosen.no_onedal:
        found["onedal"] = onedal(task)
        fit, all_of_it = found["onedal"]["fit_seconds"], found["onedal"]["seconds"]
        print(
            f"oneDAL: {all_of_it:.1f} s ({fit:.1f} s of it training),"
            f" {all_of_it / found['ours']['seconds']:.1f} x ours"
        )
    print("\n| C | " + " | ".join(f"gamma {gamma:g}" for gamma in VALUES) + " |")
    print("|---|" + "---|" * len(VALUES))
    for row, C in enumerate(VALUES):
        cells = []
        for column in range(len(VALUES)):
            early = found["ours"]["accuracy"][row][column]
            exact = found["onedal"]["accuracy"][row][column] if "onedal" in found else None
            cells.append(f"{early:.2%}" + ("" if exact is None else f" ({early - exact:+.2%})"))
        print(f"| {C:g} | " + " | ".join(cells) + " |")
    write(chosen.out, found)
    return 0


def ours(task: Task, block_rows: int) -> Figures:
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
