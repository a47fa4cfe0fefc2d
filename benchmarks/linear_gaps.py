"""Linear SVMs to equal duality gaps: us, LIBLINEAR and scikit-learn's LinearSVC on one thread.

    python -m benchmarks.linear_gaps [--tasks a9a,w8a] [--gaps 1e-2,1e-3,1e-4] [--times 5]

Each solver gets falling tolerances until the gap between primal and dual objective, relative to the
primal one and computed from its weights in float64, is small enough; at the first tolerance that
reaches a gap it is timed again. Seconds are processor seconds of training, without reading,
compiling or bringing rows into a solver's form (but LinearSVC's, which copies rows in `fit`); the
best of several. LinearSVC has no dual objective: it is measured at the tolerances of LIBLINEAR.
C is 1 and a constant of 1 is appended. Writes ``linear-gaps.json``.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.datasets import SETS, Task, mnist_classes
from benchmarks.liblinear import Liblinear
from benchmarks.runs import write
from dcsvm_dask.solvers import solve_linear

LOSSES = ("hinge", "squared_hinge")
C = 1.0
MOST = 1_000
"""LIBLINEAR's limit of passes; ours, some of which are over few rows, has ten times as many."""
TOLERANCES = 10.0 ** (np.arange(6, -31, -1) / 6)
Run = tuple[float, float, int]
"""Seconds, relative gap, passes."""


def covtype() -> Task:
    """Return 100,000 rows in random order, forest type 2 against the rest."""
    found = SETS["covtype"]()
    order = np.random.default_rng(0).permutation(len(found.y))[:100_000]
    return Task("covtype", found.X[order], found.y[order], None, None, C, 1.0)


def mnist() -> Task:
    """Return the digit 8 against the rest, pixels in [0, 1]."""
    ten = mnist_classes()
    return Task("mnist", ten.X, np.where(ten.y == 8, 1, -1), None, None, C, 1.0)


TASKS: dict[str, tuple[Callable[[], Task], bool]] = {
    "a9a": (SETS["a9a"], True),
    "w8a": (SETS["w8a"], True),
    "reuters_money_fx": (SETS["reuters_money_fx"], True),
    "news20_tfidf": (SETS["news20_tfidf"], True),
    "covtype": (covtype, False),
    "mnist": (mnist, False),
}
"""How to make each, and whether rows are sparse."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tasks", default=",".join(TASKS))
    options.add_argument("--gaps", default="1e-2,1e-3,1e-4")
    options.add_argument("--losses", default=",".join(LOSSES))
    options.add_argument("--times", type=int, default=5)
    options.add_argument("--without-sklearn", action="store_true")
    options.add_argument("--out", type=Path, default=Path("linear-gaps.json"))
    chosen = options.parse_args()
    gaps = [float(gap) for gap in chosen.gaps.split(",")]
    found: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for name in chosen.tasks.split(","):
            make, is_sparse = TASKS[name]
            task = make()
            X = sparse.csr_array(task.X) if is_sparse else task.X
            peer = Liblinear(task.X, task.y)
            for loss in chosen.losses.split(","):
                ways = {"ours": us(X, task.y, loss), "liblinear": them(peer, X, task.y, loss)}
                if not chosen.without_sklearn:
                    ways["sklearn"] = scikit_learn(X, task.y, loss)
                found += compare(name, loss, ways, gaps, chosen.times)
    write(chosen.out, {"comparisons": found})
    ratios = [one["ratio"] for one in found if "ratio" in one]
    print(f"median {np.median(ratios):.2f}, largest {max(ratios):.2f} of LIBLINEAR's seconds")
    return 0


def compare(
    name: str, loss: str, ways: dict[str, Callable[[float], Run]], gaps: list[float], times: int
) -> list[dict[str, Any]]:
    """Find the tolerance of each solver and gap, and time all in turn; print and return figures."""
    ways["ours"](1.0)  # compiles
    most = {"ours": 10 * MOST, "liblinear": MOST}
    chosen = {who: reach(ways[who], gaps, most[who]) for who in most}
    if "sklearn" in ways:
        chosen["sklearn"] = chosen["liblinear"]
    found = []
    for gap in gaps:
        runs: dict[str, list[Run]] = {}
        for _ in range(times):
            for who, way in ways.items():
                tol = chosen[who].get(gap)
                if tol is not None:
                    runs.setdefault(who, []).append(way(tol))
        one: dict[str, Any] = {"task": name, "loss": loss, "gap": gap}
        for who, all_runs in runs.items():
            best = min(all_runs)
            one[who] = {"seconds": best[0], "gap": best[1], "passes": best[2]}
        if "ours" in one and "liblinear" in one:
            one["ratio"] = one["ours"]["seconds"] / one["liblinear"]["seconds"]
        print(
            f"{name:<17}{loss:<14} gap {gap:<6g} ratio {one.get('ratio', np.nan):5.2f}  "
            + ", ".join(
                f"{who} {one[who]['seconds']:.4f} s {one[who]['passes']} passes"
                for who in ways
                if who in one
            ),
            flush=True,
        )
        found.append(one)
    return found


def reach(way: Callable[[float], Run], gaps: list[float], most: int) -> dict[float, float]:
    """Return the first tolerance at which each gap is reached; none where passes do not suffice."""
    found: dict[float, float] = {}
    for tol in TOLERANCES:
        _, gap, passes = way(float(tol))
        found |= {one: float(tol) for one in gaps if one not in found and gap <= one}
        if len(found) == len(gaps) or passes >= most:
            break
    return found


def us(X: Any, y: Any, loss: Any) -> Callable[[float], Run]:
    """Return how we train: each time with another seed, as LIBLINEAR's random numbers go on."""
    seeds = itertools.count()

    def run(tol: float) -> Run:
        how: Any = {"loss": loss, "constant": 1.0, "max_iter": 10 * MOST, "seed": next(seeds)}
        begin = time.process_time()
        found = solve_linear(X, y, C, tol=tol, **how)
        seconds = time.process_time() - begin
        primal = objective(X, y, loss, found.w, found.b)
        return seconds, (primal + found.objective) / primal, found.n_iter

    return run


def them(peer: Liblinear, X: Any, y: Any, loss: str) -> Callable[[float], Run]:
    """Return how LIBLINEAR trains."""

    def run(tol: float) -> Run:
        found = peer.train(loss, C, tol)
        primal = objective(X, y, loss, found.w, found.b)
        return found.seconds, (primal + found.dual) / primal, found.passes

    return run


def scikit_learn(X: Any, y: Any, loss: str) -> Callable[[float], Run]:
    """Return how scikit-learn's LinearSVC trains; its gap is not known."""
    rows = X.astype(np.float64)

    def run(tol: float) -> Run:
        svc = LinearSVC(loss=loss, C=C, dual=True, tol=tol, max_iter=MOST, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = time.process_time()
            svc.fit(rows, y)
        return time.process_time() - begin, np.nan, int(svc.n_iter_)

    return run


def objective(X: Any, y: Any, loss: str, w: Any, b: float) -> float:
    """Return the primal objective; the constant is 1, so that its weight is b."""
    lost = np.maximum(0.0, 1.0 - y * (X @ w + b))
    lost = lost**2 if loss == "squared_hinge" else lost
    return float(0.5 * (w @ w + b * b) + C * lost.sum())


if __name__ == "__main__":
    sys.exit(main())
