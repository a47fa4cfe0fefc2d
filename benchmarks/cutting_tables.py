"""Tables 2 and 3 and Figure 1 of the OCAS paper: objectives, iterations and areas under the ROC.

    python -m benchmarks.cutting_tables [--sets covtype,mnist] [--picture cutting.png]

Franc, Sonnenburg (ICML 2008): without a bias, C for each row, to a gap of a thousandth of the
objective at 0. Table 2 trains OCAS and the plain cutting plane algorithm (CPA) at one C; of F it
tells how far it is above the larger of both lower bounds. Table 3 trains OCAS at each C of the
paper's grid on the training part, takes the one with the largest area under the ROC curve on the
validation part, and measures that of the test part. Figure 1 draws F and the lower bound by
iteration. Of the paper's sets covtype and mnist are at hand; rows of the shapes of its splice and
text sets, and its artificial set of two Gaussians, are made. Seconds are processor seconds of one
thread. Writes ``cutting-tables.json``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from benchmarks import datasets
from benchmarks.linear_figures import rcv1
from benchmarks.linear_growth import drawn
from benchmarks.runs import write
from dcsvm_dask.solvers import solve_cutting
from dcsvm_dask.tasks import Classification

Figures = dict[str, Any]
TOL, MOST = 1e-3, 3000
PLAIN: dict[str, Any] = {"best": False, "line_search": False, "share": 1.0}
FEW, MANY = (0.1, 0.5, 1.0, 5.0, 10.0), (1.0, 5.0, 10.0, 50.0, 100.0)
SMALL = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


@dataclass(frozen=True)
class Set:
    """Rows, the parts of them, and what the paper has."""

    make: Callable[[], tuple[Any, Any]]
    parts: tuple[float, float]
    """Shares of training and validation rows; the rest are test rows."""
    C: float
    """Of Table 2."""
    grid: tuple[float, ...]
    """Of Table 3."""
    paper: str


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--picture", type=Path)
    options.add_argument("--out", type=Path, default=Path("cutting-tables.json"))
    chosen = options.parse_args()
    found: dict[str, Figures] = {}
    with threadpool_limits(1):
        for name in chosen.sets.split(","):
            one = SETS[name]
            X, y = one.make()
            order = np.random.default_rng(0).permutation(len(y))
            cuts = np.rint(np.cumsum(one.parts) * len(y)).astype(int)
            parts = [(X[rows], y[rows]) for rows in np.split(order, cuts)]
            print(f"{name}, {len(parts[0][1]):,} x {X.shape[1]} to train on; {one.paper}")
            found[name] = {**at_one_cost(one.C, *parts[0]), **over_costs(one.grid, parts)}
    write(chosen.out, found)
    if chosen.picture:
        draw(found, chosen.picture)
    return 0


def at_one_cost(C: float, X: Any, y: Any) -> Figures:
    """Train by both algorithms at one C; print and return a row of Table 2."""
    dual = Classification().dual(y, np.full(len(y), C))
    solve_cutting(X[:200], dual[:200], max_iter=2)  # compiles
    figures: Figures = {"C": C, "rows": len(y)}
    for who, changes in (("OCAS", {}), ("CPA", PLAIN)):
        began = time.process_time()
        found = solve_cutting(X, dual, tol=TOL, max_iter=MOST, **changes)
        figures[who] = {
            "objective": found.objective,
            "iterations": found.n_iter,
            "seconds": time.process_time() - began,
            "converged": found.converged,
            "values": [[step.objective, step.bound] for step in found.history],
        }
    figures["bound"] = best = max(figures[who]["values"][-1][1] for who in ("OCAS", "CPA"))
    for who in ("OCAS", "CPA"):
        one = figures[who]
        ended = "" if one["converged"] else f", not within {MOST} iterations"
        print(
            f"  C {C:g}  {who:<5} F {one['objective']:.5g} ({one['objective'] / best - 1.0:.1e} "
            f"above), {one['iterations']} iterations, {one['seconds']:.2f} s{ended}",
            flush=True,
        )
    return figures


def over_costs(grid: tuple[float, ...], parts: list[tuple[Any, Any]]) -> Figures:
    """Choose C by the validation part; print and return a row of Table 3."""
    (X, y), (X_valid, y_valid), (X_test, y_test) = parts
    tried, seconds = [], 0.0
    for C in grid:
        dual = Classification().dual(y, np.full(len(y), C))
        began = time.process_time()
        w = solve_cutting(X, dual, tol=TOL, max_iter=MOST).w
        seconds += time.process_time() - began
        tried.append((float(roc_auc_score(y_valid, X_valid @ w)), C, w))
    _, C, w = max(tried, key=lambda one: one[0])
    area = float(roc_auc_score(y_test, X_test @ w))
    print(f"  auROC {area:.4f} at C {C:g}; {len(grid)} trainings in {seconds:.2f} s", flush=True)
    return {"area": area, "C_chosen": C, "search_seconds": seconds}


def covtype() -> tuple[Any, Any]:
    """Return all rows of covtype, type 2 against the rest."""
    task = datasets.covtype(464_810)
    return np.concatenate([task.X, task.X_test]), np.concatenate([task.y, task.y_test])


def mnist() -> tuple[Any, Any]:
    """Return all rows of mnist, round digits against the others."""
    task = datasets.mnist()
    return np.concatenate([task.X, task.X_test]), np.concatenate([task.y, task.y_test])


def gaussians() -> tuple[Any, Any]:
    """Return two Gaussians of diagonal covariances over several scales, as the artificial set."""
    rng = np.random.default_rng(5)
    n, d = 150_000, 500
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    deviations = np.exp(rng.uniform(-3.0, 3.0, (2, d))).astype(np.float32)
    means = 0.1 * rng.standard_normal((2, d)).astype(np.float32) * deviations
    side = (y > 0.0).astype(int)
    X = rng.standard_normal((n, d), dtype=np.float32)
    return X * deviations[side] + means[side], y


def windows() -> tuple[Any, Any]:
    """Return a tenth as many windows of DNA as the worm set has."""
    X, y = drawn(102_604)
    narrow = (X.data, X.indices, X.indptr.astype(np.int32))
    return sparse.csr_array(narrow, X.shape), y.astype(np.float64)


SETS = {
    "covtype": Set(covtype, (0.81, 0.09), 10.0, FEW, "the paper: 80 iterations, auROC .8392"),
    "mnist": Set(mnist, (0.77, 0.09), 50.0, MANY, "the paper: 137 iterations, auROC .9586"),
    "rcv1": Set(lambda: rcv1(40_000), (0.5, 0.25), 1.0, FEW, "made; ccat: 48, .9851"),
    "windows": Set(windows, (0.8, 0.05), 0.1, SMALL, "made; worm: 125, .9945"),
    "gaussians": Set(gaussians, (1 / 3, 1 / 3), 0.005, SMALL[:4], "made; artificial: 76, .8638"),
}


def draw(found: dict[str, Figures], file: Path) -> None:
    """Draw objective and bound by iteration, a picture for each set."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(4.2 * len(found), 3.4), squeeze=False)
    for (name, figures), axis in zip(found.items(), axes[0], strict=True):
        for who, colour in (("OCAS", "tab:blue"), ("CPA", "tab:red")):
            values = np.array(figures[who]["values"]) / figures["bound"]
            steps = np.arange(1, len(values) + 1)
            axis.semilogx(steps, values[:, 0], color=colour, label=f"{who}, F")
            axis.semilogx(steps, values[:, 1], "--", color=colour, label=f"{who}, bound")
        axis.set(title=name, xlabel="iteration", ylabel="over the best bound", ylim=(0.0, 3.0))
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file, dpi=80)


if __name__ == "__main__":
    sys.exit(main())
