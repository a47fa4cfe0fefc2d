"""Descent on a budget: the tables of Glasmachers and Qaadan (2018), beside the exact SVM.

    python -m benchmarks.budgeted [--sets ijcnn1,a9a] [--budgets 100,500] [--seeds 5] [--epochs 20]
        [--merges gss,gss-precise,lookup-h,lookup-wd] [--peer budgetedsvm-train]
        [--picture budgeted.png]

For each set and budget every way of merging learns in turn, seed by seed, in this process and on
one thread, after compiling. Prints test accuracy (mean and standard deviation over the seeds)
beside the paper's for lookup-wd and that of the exact SVM; seconds, and those of merges among them
by the processor's cycle counter; what lookups save of golden section search; steps that merge; how
often lookup-wd takes the partner that golden section search takes; and the factors by which what
merges lose exceeds the least possible. Also the time of a step beside that of the B x d
multiply-adds of a margin (a product by BLAS). SUSY's shape is drawn: of it only times and merges
mean anything. `--peer` is the trainer of BudgetedSVM (Djuric, Lan, Vucetic, Wang, JMLR 14, 2013),
built with -O3: the processor seconds of its second epoch over the same problem, for each row, are
printed beside ours. `--picture` draws Figures 2 and 3: the tables, and the seconds of merges.
Writes ``budgeted.json``; the exit status is 1 where a lookup is slower than golden section search.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_limits

from benchmarks.datasets import SHARED
from benchmarks.runs import write
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.kernels import Kernel, kernel_product
from dcsvm_dask.runtime.compilation import warm_up
from dcsvm_dask.solvers import BudgetedLearner
from dcsvm_dask.solvers.budget.merging import MERGING
from dcsvm_dask.solvers.budget.state import AUDITED, EQUAL, MERGES, STEPS
from dcsvm_dask.storage.merge_tables import computed_tables
from dcsvm_dask.tasks import svc_dual

Figures = dict[str, Any]
Rows = tuple[NDArray[np.float32], NDArray[np.float64]]
# C, gamma, what the paper has for lookup-wd by budget, and for LIBSVM.
SETS: dict[str, tuple[float, float, dict[int, float], float]] = {
    "skin": (32.0, 2.0**-7, {100: 0.9962, 200: 0.9975}, 0.9996),
    "ijcnn1": (32.0, 2.0, {100: 0.9713, 500: 0.9807}, 0.9877),
    "a9a": (32.0, 2.0**-7, {100: 0.8420, 500: 0.8395}, 0.8482),
    "w8a": (8.0, 2.0**-5, {100: 0.9879, 500: 0.9881}, 0.9881),
    "phishing": (8.0, 8.0, {100: 0.9639, 500: 0.9753}, 0.9755),
    "susy": (32.0, 2.0**-7, {100: 0.7688, 500: 0.7557}, 0.7979),
}
WEB_ROWS, SUSY_ROWS, SUSY_FEATURES = 17_188, 4_550_000, 18
AUDITED_ROWS = 20_000
TEST_SHARE = 0.2


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--budgets", default="100,500", help="of skin: 100 and 200")
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--epochs", type=int, default=20, help="of susy 1")
    options.add_argument("--merges", default=",".join(MERGING))
    options.add_argument("--no-exact", action="store_true", help="leave the exact SVM out")
    options.add_argument("--peer", help="BudgetedSVM's trainer, to compare the step with")
    options.add_argument("--picture", type=Path)
    options.add_argument("--out", type=Path, default=Path("budgeted.json"))
    chosen = options.parse_args()
    warm_up(["dense", "box", "budget"])
    found: dict[str, Figures] = {}
    with threadpool_limits(1):
        for name in chosen.sets.split(","):
            rows, test = load(name)
            exact = None if chosen.no_exact or name == "susy" else exact_score(name, rows, test)
            for budget in map(int, chosen.budgets.split(",")):
                budget = min(budget, 200) if name == "skin" else budget
                epochs = 1 if name == "susy" else chosen.epochs
                merges = chosen.merges.split(",")
                figures = compare(name, rows, test, budget, merges, chosen.seeds, epochs)
                if chosen.peer:
                    figures["peer_step_seconds"] = peer_step(chosen.peer, name, rows, budget)
                found[f"{name}-{budget}"] = figures | {"exact": exact}
                tell(name, budget, figures, exact)
    write(chosen.out, found)
    if chosen.picture:
        draw(found, chosen.picture)
    return int(any(one["slower"] for one in found.values()))


def load(name: str) -> tuple[Rows, Rows]:
    """Return the rows of a set and its test rows, labels -1 and +1."""
    if name == "susy":
        return drawn()
    file = {"skin": "skin_nonskin"}.get(name, name)
    data = np.load(SHARED / f"{file}.npz")
    X, y = data["X_train"].astype(np.float32), data["y_train"]
    high = np.unique(y)[-1]
    y = np.where(y == high, 1.0, -1.0)
    if name == "w8a":  # whose rows are in the order of their classes
        order = np.random.default_rng(0).permutation(len(y))
        first, rest = order[:WEB_ROWS], order[WEB_ROWS:]
        return (X[first], y[first]), (X[rest], y[rest])
    if "X_test" in data.files:
        labels = np.where(data["y_test"] == high, 1.0, -1.0)
        return (X, y), (data["X_test"].astype(np.float32), labels)
    order = np.random.default_rng(0).permutation(len(y))
    last = round((1.0 - TEST_SHARE) * len(y))
    return (X[order[:last]], y[order[:last]]), (X[order[last:]], y[order[last:]])


def drawn() -> tuple[Rows, Rows]:
    """Return rows of the shape of SUSY: two overlapping clouds."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(SUSY_ROWS) < 0.46, 1.0, -1.0)
    X = rng.standard_normal((SUSY_ROWS, SUSY_FEATURES), dtype=np.float32)
    X += 0.25 * y[:, None].astype(np.float32)
    return (X[:-50_000], y[:-50_000]), (X[-50_000:], y[-50_000:])


def exact_score(name: str, rows: Rows, test: Rows) -> float:
    """Return the accuracy of the exact SVM without a bias."""
    C, gamma, *_ = SETS[name]
    return float(DCSVC(C=C, gamma=gamma, fit_intercept=False).fit(*rows).score(*test))


def compare(
    name: str, rows: Rows, test: Rows, budget: int, merges: list[str], seeds: int, epochs: int
) -> Figures:
    """Return the figures of all ways of merging on a set."""
    C, gamma, paper, libsvm = SETS[name]
    X, y = rows
    kernel, dual = Kernel("rbf", gamma), svc_dual(y, C)
    runs: dict[str, list[Figures]] = {merge: [] for merge in merges}
    for seed in range(seeds):
        for merge in merges:
            learner = BudgetedLearner(kernel, X.shape[1], budget, merge=merge)
            rng = np.random.default_rng(seed)
            began = time.perf_counter()
            for _ in range(epochs):
                learner.learn(X, dual, rng.permutation(len(y)), total=len(y))
            seconds = time.perf_counter() - began
            point, counted = learner.point, learner.expansion.cycles
            f, _ = kernel_product(kernel, test[0], point.points, point.beta)
            runs[merge].append(
                {
                    "accuracy": float(np.mean(np.sign(f) == test[1])),
                    "seconds": seconds,
                    "merging": seconds * float(counted[1]) / max(1.0, float(counted[0])),
                    "merges": int(point.counts[MERGES]) / int(point.counts[STEPS]),
                }
            )
    means = {
        merge: {key: float(np.mean([one[key] for one in found])) for key in found[0]}
        | {"deviation": float(np.std([one["accuracy"] for one in found]))}
        for merge, found in runs.items()
    }
    slower = [
        merge
        for merge in merges
        if merge.startswith("lookup") and means[merge]["seconds"] > 1.02 * means["gss"]["seconds"]
    ]
    return {
        "rows": len(y),
        "features": X.shape[1],
        "paper": paper.get(budget),
        "libsvm_of_paper": libsvm,
        "merges": means,
        "step_seconds": means[merges[-1]]["seconds"] / (epochs * len(y)),
        "product_seconds": product_seconds(X, budget),
        "slower": slower,
        **decisions(kernel, X, dual, budget),
    }


def decisions(kernel: Kernel, X: Any, dual: Any, budget: int) -> Figures:
    """Return how lookup-wd decides beside golden section search, over the first merges."""
    learner = BudgetedLearner(kernel, X.shape[1], budget, audit=True)
    order = np.random.default_rng(0).permutation(len(X))[:AUDITED_ROWS]
    learner.learn(X, dual, order, total=len(X))
    counts, lost = learner.point.counts, learner.expansion.lost
    least = max(float(lost[0]), 1e-300)
    return {
        "audited": int(counts[AUDITED]),
        "equal": int(counts[EQUAL]) / max(1, int(counts[AUDITED])),
        "factor_gss": float(lost[1]) / least,
        "factor_lookup_wd": float(lost[2]) / least,
    }


def product_seconds(X: NDArray[np.float32], budget: int) -> float:
    """Return the seconds of the B x d multiply-adds of a margin, by BLAS, one row at a time."""
    points = np.ascontiguousarray(X[:budget])
    return best_of(lambda: [points @ row for row in X[:2000]]) / min(2000, len(X))


def peer_step(trainer: str, name: str, rows: Rows, budget: int) -> float:
    """Return the seconds of a step of BudgetedSVM's BSGD with merging, over an epoch."""
    C, gamma, *_ = SETS[name]
    X, y = rows
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.svm"
        dump_svmlight_file(X, y, str(file), zero_based=False)

        def seconds(epochs: int) -> float:
            # Its decision values are halves of ours, so that its lambda is twice ours; its gamma
            # counts half of the squared distance.
            words = f"-A 4 -K 0 -m 1 -D {X.shape[1]} -B {budget} -e {epochs} -z {len(y)}"
            words += f" -L {2.0 / (len(y) * C):.12g} -g {2.0 * gamma:.12g}"
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            command = [trainer, *words.split(), str(file), str(file.with_suffix(".model"))]
            subprocess.run(command, check=True, capture_output=True)
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

        return (seconds(2) - seconds(1)) / len(y)


def best_of(work: Callable[[], Any], times: int = 5) -> float:
    """Return the least seconds of several calls."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return min(found)


def tell(name: str, budget: int, figures: Figures, exact: float | None) -> None:
    """Print the figures of a set and a budget."""
    known = "" if exact is None else f", exact {exact:.4f}"
    paper = "" if figures["paper"] is None else f", the paper's lookup-wd {figures['paper']:.4f}"
    print(f"{name}, {figures['rows']:,} x {figures['features']}, budget {budget}{known}{paper}")
    gss = figures["merges"].get("gss", next(iter(figures["merges"].values())))
    for merge, one in figures["merges"].items():
        saved = 1.0 - one["seconds"] / gss["seconds"]
        less = 1.0 - one["merging"] / max(gss["merging"], 1e-12)
        print(
            f"  {merge:<12} {one['accuracy']:.4f} +- {one['deviation']:.4f}  "
            f"{one['seconds']:7.2f} s, merging {one['merging']:6.2f} s  "
            f"saved {saved:4.0%}, of merging {less:4.0%}"
        )
    rate = figures["merges"][list(figures["merges"])[-1]]["merges"]
    print(
        f"  merges at {rate:.1%} of the steps; equal decisions {figures['equal']:.1%} of "
        f"{figures['audited']:,}; factors {figures['factor_gss']:.5f} (gss), "
        f"{figures['factor_lookup_wd']:.5f} (lookup-wd)"
    )
    step, product = 1e6 * figures["step_seconds"], 1e6 * figures["product_seconds"]
    peer = figures.get("peer_step_seconds")
    beside = (
        "" if peer is None else f"; BudgetedSVM's {1e6 * peer:.1f} us, {1e6 * peer / step:.0f} x"
    )
    print(f"  a step {step:.2f} us, {step / product:.2f} x a product by BLAS{beside}", flush=True)


def draw(found: dict[str, Figures], file: Path) -> None:
    """Draw the tables of merges, and the seconds of merging of each way, set and budget."""
    from matplotlib import pyplot as plt

    tables, figure = computed_tables(), plt.figure(figsize=(14, 4), layout="constrained")
    grid = figure.add_gridspec(1, 3, width_ratios=(1, 1, 2))
    edges = (0.0, 1.0, 0.0, 0.5)
    for place, title, values in (
        (0, "h(m, kappa)", tables.h),
        (1, "log10 of what a merge loses", np.log10(np.maximum(tables.wd, 1e-8))),
    ):
        axis = figure.add_subplot(grid[place])
        drawn_values = axis.imshow(values, origin="lower", aspect="auto", extent=edges)
        axis.set(title=title, xlabel="kappa", ylabel="m")
        figure.colorbar(drawn_values, ax=axis)
    axis, width = figure.add_subplot(grid[2]), 0.8 / len(MERGING)
    for number, merge in enumerate(MERGING):
        seconds = [one["merges"].get(merge, {"merging": 0.0})["merging"] for one in found.values()]
        axis.bar(np.arange(len(found)) + number * width, seconds, width, label=merge)
    axis.set_xticks(np.arange(len(found)) + 0.4 - width / 2, list(found), rotation=30, ha="right")
    axis.set(title="Merging", ylabel="seconds", yscale="log")
    axis.legend(fontsize=8)
    figure.savefig(file, dpi=70)


if __name__ == "__main__":
    sys.exit(main())
