"""Error and accuracy of linear SVMs against time: the figures of the DCD and OCAS papers.

    apt-get install liblinear-tools
    python -m benchmarks.linear_figures [--tasks a9a,rcv1] [--picture linear-figures.png]

Each solver trains on four fifths of the rows, C 1, without a bias, with growing budgets: passes,
iterations, or falling tolerances. At each the primal objective and the accuracy on the other fifth
are measured. Prints the seconds to 1 %, .1 % and .01 % above the best objective, which dual
coordinate descent finds to a gap of 1e-7. Seconds are processor seconds of training. "rcv1" is
made: 20,000 rows of 47,236 features of its shape; "rcv1-600000" has 600,000. Writes
``linear-figures.json``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from benchmarks.datasets import Task
from benchmarks.liblinear import Liblinear
from benchmarks.linear_gaps import TASKS
from benchmarks.runs import write
from dcsvm_dask.solvers import solve_cutting, solve_linear, solve_linear_primal
from dcsvm_dask.tasks import Classification

GAPS = (1e-2, 1e-3, 1e-4)
BUDGETS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 400, 1000)
TOLERANCES = tuple(10.0 ** np.arange(1.0, -5.0, -0.5))
MOST_SECONDS = 20.0
ENOUGH = 3e-5
"""A solver is followed until it takes so long, or is so near to the best objective."""
PLAIN: dict[str, Any] = {"best": False, "line_search": False, "share": 1.0}
Way = Callable[[Any], Any]
"""Trains with a budget and returns the weights."""
Curve = list[tuple[float, float, float]]
"""Seconds, relative error and accuracy."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tasks", default="a9a,w8a,reuters_money_fx,news20_tfidf,covtype,rcv1")
    options.add_argument("--picture", type=Path)
    options.add_argument("--out", type=Path, default=Path("linear-figures.json"))
    chosen = options.parse_args()
    found: dict[str, dict[str, Curve]] = {}
    with threadpool_limits(1):
        for name in chosen.tasks.split(","):
            X, y, X_test, y_test = parts(name)
            for squared in (False, True):
                about = f"{name}, {'squared hinge' if squared else 'hinge'}"
                best = least(X, y, squared)
                curves = {
                    who: list(points(way, budgets, (X, y, X_test, y_test), squared, best))
                    for who, (way, budgets) in ways(X, y, squared).items()
                }
                found[about] = curves
                print(f"{about}: best objective {best:.6g}, {X.shape[0]} rows")
                for who, curve in curves.items():
                    print(f"  {who:<22}" + told(curve), flush=True)
    write(chosen.out, {"curves": found})
    if chosen.picture:
        draw(found, chosen.picture)
    return 0


def parts(name: str) -> tuple[Any, Any, Any, Any]:
    """Return the rows of a task and their labels, to train on and to test."""
    task, is_sparse = rows_of(name)
    order = np.random.default_rng(0).permutation(len(task.y))
    train, test = np.split(order, [len(order) * 4 // 5])
    X = sparse.csr_array(task.X) if is_sparse else task.X
    y = task.y.astype(np.float64)
    return X[train], y[train], X[test], y[test]


def rows_of(name: str) -> tuple[Task, bool]:
    """Return a task and whether its rows are sparse."""
    if not name.startswith("rcv1"):
        make, is_sparse = TASKS[name]
        return make(), is_sparse
    X, y = rcv1(int(name.partition("-")[2] or 20_242))
    return Task(name, X, y, None, None, 1.0, 1.0), True


def rcv1(n: int) -> tuple[Any, Any]:
    """Return rows of rcv1's shape: documents of 74 words out of 47,236, as Zipf has them."""
    rng, d, words = np.random.default_rng(3), 47_236, 74
    frequency = 1.0 / np.arange(5, d + 5)
    steps = np.cumsum(frequency / frequency.sum())
    topic = rng.choice([-1.0, 1.0], n)
    # Half of the vocabulary leans to one topic, half to the other.
    leaning = rng.choice([-1.0, 1.0], d)
    columns = np.minimum(np.searchsorted(steps, rng.random((n, 2 * words))), d - 1)
    kept = rng.random((n, 2 * words)) < 0.5 + 0.25 * leaning[columns] * topic[:, None]
    rows = np.repeat(np.arange(n), kept.sum(axis=1))
    idf = np.log(1.0 / (frequency / frequency.sum() * words)).clip(0.1)
    X = sparse.csr_array((idf[columns[kept]], (rows, columns[kept])), shape=(n, d))
    X.sum_duplicates()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(np.maximum(lengths, 1e-12), np.diff(X.indptr))
    y = np.where(rng.random(n) < 0.03, -topic, topic)
    narrow = (X.data.astype(np.float32), X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_array(narrow, shape=X.shape), y


def ways(X: Any, y: Any, squared: bool) -> dict[str, tuple[Way, Iterable[Any]]]:
    """Return the solvers, each with its budgets."""
    loss: Any = "squared_hinge" if squared else "hinge"
    dual, peer = (
        Classification(squared=squared).dual(y, np.ones(len(y))),
        Liblinear(X, y, bias=False),
    )

    def passes(most: int, **how: Any) -> Any:
        return solve_linear(X, y, 1.0, loss=loss, tol=1e-9, max_iter=most, **how).w

    found: dict[str, tuple[Way, Iterable[Any]]] = {
        "DCD": (lambda k: passes(k), BUDGETS),
        "DCD, no shrinking": (lambda k: passes(k, shrink=np.inf), BUDGETS),
        "DCD, rows drawn": (lambda k: passes(k, order="drawn"), BUDGETS),
        "LIBLINEAR's DCD": (lambda tol: peer.train(loss, 1.0, tol).w, TOLERANCES),
        "OCAS": (lambda k: solve_cutting(X, dual, tol=0.0, max_iter=k).w, BUDGETS),
        "CPA": (lambda k: solve_cutting(X, dual, tol=0.0, max_iter=k, **PLAIN).w, BUDGETS),
        "SGD": (lambda k: descended(X, y, loss, k), BUDGETS[:10]),
    }
    if squared:
        found["Newton, primal"] = (
            lambda tol: solve_linear_primal(X, dual, tol=tol).w,
            TOLERANCES,
        )
        found["LIBLINEAR's Newton"] = (lambda tol: peer.train("primal", 1.0, tol).w, TOLERANCES)
    return found


def descended(X: Any, y: Any, loss: str, epochs: int) -> Any:
    """Return what stochastic gradient descent finds in some passes."""
    sgd = SGDClassifier(
        loss=loss,
        alpha=1.0 / len(y),
        fit_intercept=False,
        max_iter=epochs,
        tol=None,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sgd.fit(X, y).coef_[0]


def least(X: Any, y: Any, squared: bool) -> float:
    """Return the least objective, to a gap of 1e-7."""
    loss: Any = "squared_hinge" if squared else "hinge"
    tol = 1e-2
    while True:
        found = solve_linear(X, y, 1.0, loss=loss, tol=tol, max_iter=100_000)
        if found.gap <= -1e-7 * found.objective or tol < 1e-8:
            return -found.objective
        tol /= 10.0


def points(
    way: Way, budgets: Iterable[Any], rows: tuple[Any, Any, Any, Any], squared: bool, best: float
) -> Iterator[tuple[float, float, float]]:
    """Yield seconds, relative error and accuracy at each budget."""
    X, y, X_test, y_test = rows
    budgets = list(budgets)
    for budget in budgets[:3]:  # compiles
        way(budget)
    for budget in budgets:
        begin = time.process_time()
        w = way(budget)
        seconds = time.process_time() - begin
        lost = np.maximum(0.0, 1.0 - y * (X @ w))
        value = 0.5 * float(w @ w) + float((lost**2 if squared else lost).sum())
        error = value / best - 1.0
        yield seconds, error, float(np.mean(np.where(X_test @ w >= 0.0, 1.0, -1.0) == y_test))
        if seconds > MOST_SECONDS or error < ENOUGH:
            return


def told(curve: Curve) -> str:
    """Return the seconds to each gap, and the accuracy there, as text."""
    found = []
    for gap in GAPS:
        reached = next((point for point in curve if point[1] <= gap), None)
        text = "-" if reached is None else f"{reached[0]:.3f} s {reached[2]:.4f}"
        found.append(f"{text:>16}")
    return "  ".join(found)


def draw(found: dict[str, dict[str, Curve]], file: Path) -> None:
    """Draw error and accuracy against time, a row of pictures for each task and loss."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(found), 2, figsize=(11, 3.2 * len(found)), squeeze=False)
    for (about, curves), (left, right) in zip(found.items(), axes, strict=True):
        for who, curve in curves.items():
            seconds, error, accuracy = np.array(curve).T
            left.loglog(seconds, np.maximum(error, 1e-6), ".-", label=who)
            right.semilogx(seconds, accuracy, ".-", label=who)
        left.set(title=about, xlabel="seconds", ylabel="relative error of the objective")
        left.set_ylim(top=20.0)
        right.set(title=about, xlabel="seconds", ylabel="test accuracy")
        best = max(point[2] for curve in curves.values() for point in curve)
        right.set_ylim(best - 0.05, best + 0.005)
        left.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file, dpi=70)


if __name__ == "__main__":
    sys.exit(main())
