"""Regression, nu and novelty: our estimators and others' in fresh processes, in turn.

    python -m benchmarks.tasks [--quick] [--tasks svr,nu_svr,nu_svc,one_class] [--sets kin40k,mv]
                               [--peers onedal,sklearn] [--times 3]

Features and targets are standardised; C 10, epsilon .1, gamma 1 / d, the tolerance 1e-3, all cores.
nu is .5 for nu-SVC (scikit-learn's default), whose classes are the rows below the median target and
the others, .1 for the one-class SVM, and for nu-SVR that of the epsilon-SVR, sum|beta| / (C n): its
solution is the same.
Peers are scikit-learn-intelex (oneDAL) and scikit-learn; all get the same rows. Importing
is not counted; compiling, or loading what was compiled, stands apart. Ratios
are of medians. Ends with 1 where our objective is worse than another's by more than 1e-4 of it, the
duality gap of the tolerance, and tells whose is. Writes
``tasks.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.datasets import SHARED
from benchmarks.runs import write
from dcsvm_dask.estimators import DCSVR, DCNuSVC, DCNuSVR, DCOneClassSVM

Figures = dict[str, Any]
TASKS: dict[str, tuple[Any, str, dict[str, float]]] = {
    "svr": (DCSVR, "SVR", {"C": 10.0, "epsilon": 0.1}),
    "nu_svr": (DCNuSVR, "NuSVR", {"C": 10.0}),
    "nu_svc": (DCNuSVC, "NuSVC", {"nu": 0.5}),
    "one_class": (DCOneClassSVM, "OneClassSVM", {"nu": 0.1}),
}
"""Our estimator, the name of the peers', and their parameters."""
SETS = ("kin40k", "protein", "cadata", "mv", "fried")
QUICK = ("cadata", "mv")
PEERS = ("onedal", "sklearn")
TOL, CACHE_MB, AGREE, ROWS, FEW = 1e-3, 1024, 1e-4, 1000, 400


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="two small sets, once")
    options.add_argument("--tasks", default="svr", help=f"of {', '.join(TASKS)}")
    options.add_argument("--sets", help=f"of {', '.join(SETS)}")
    options.add_argument("--peers", default="onedal", help=f"of {', '.join(PEERS)}")
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--out", type=Path, default=Path("tasks.json"))
    options.add_argument("--one", nargs=4, help="measure one, here; print a JSON object")
    chosen = options.parse_args()
    if chosen.one:
        who, task, name, nu = chosen.one
        print(json.dumps(measure(who, task, name, float(nu))))
        return 0
    sets = chosen.sets.split(",") if chosen.sets else QUICK if chosen.quick else SETS
    found = {
        f"{task} {name}": compare(
            task, name, chosen.peers.split(","), 1 if chosen.quick else chosen.times
        )
        for task in chosen.tasks.split(",")
        for name in sets
    }
    write(chosen.out, found)
    for name, figures in found.items():
        for one, excess in figures["above_best"].items():
            if excess > AGREE:
                print(
                    f"{name}: the objective of {one} is worse than the best by {excess:.1e} of it"
                )
    return int(any(figures["above_best"].get("ours", 0.0) > AGREE for figures in found.values()))


def compare(task: str, name: str, peers: list[str], times: int) -> Figures:
    """Run us and the peers in turn, and print a line for each."""
    print(f"{task} {name}", flush=True)
    who, nu = ["ours", *peers], nu_of_svr(name) if task == "nu_svr" else 0.0
    runs: dict[str, list[Figures]] = {one: [] for one in who}
    for _ in range(times):
        for one in who:
            runs[one].append(alone(one, task, name, nu))
    mine = median(runs["ours"])
    for one in who:
        first = runs[one][0]
        if "seconds" not in first:
            print(f"  {one:<8} {first}")
            continue
        ratio = "" if one == "ours" else f"  {median(runs[one]) / mine:6.2f} x ours"
        print(
            f"  {one:<8} {median(runs[one]):8.2f} s{ratio}  score {first['score']:.5f}"
            f"  n_support {first['n_support']:,}  objective {first['objective']:.4f}"
            f"  compiling or loading {first['compiling']:.1f} s",
            flush=True,
        )
    values = {one: runs[one][0]["objective"] for one in who if "objective" in runs[one][0]}
    best = min(values.values(), default=0.0)
    above = {one: (value - best) / abs(best) for one, value in values.items()}
    return {"nu": nu, "runs": runs, "above_best": above}


def nu_of_svr(name: str) -> float:
    """Return the nu at which nu-SVR has the solution of the epsilon-SVR."""
    X, z, *_ = rows_of(name)
    words = TASKS["svr"][2]
    model = DCSVR(**words, gamma=1.0 / X.shape[1], tol=TOL).fit(X, z)
    return float(np.abs(model.dual_coef_).sum() / (words["C"] * len(z)))


def alone(who: str, task: str, name: str, nu: float) -> Figures:
    """Return the figures of one of them from a process of its own."""
    words = [sys.executable, "-m", "benchmarks.tasks", "--one", who, task, name, str(nu)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr else "no reason"}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(who: str, task: str, name: str, nu: float) -> Figures:
    """Train by one of them."""
    ours, theirs, parameters = TASKS[task]
    if task == "nu_svr":
        parameters = {**parameters, "nu": nu}
    kind = ours
    if who == "onedal":
        try:
            import sklearnex.svm
        except ImportError:
            return {"absent": "pip install scikit-learn-intelex"}
        kind = getattr(sklearnex.svm, theirs, None)
        if kind is None:
            return {"absent": f"scikit-learn-intelex has no {theirs}"}
    elif who == "sklearn":
        import sklearn.svm

        kind = getattr(sklearn.svm, theirs)
    X, z, X_test, z_test = rows_of(name)
    if task == "nu_svc":
        z, z_test = (np.where(part > np.median(z), 1.0, -1.0) for part in (z, z_test))
    words: dict[str, Any] = {**parameters, "gamma": 1.0 / X.shape[1], "tol": TOL}
    words["cache_size"] = CACHE_MB
    begin = time.perf_counter()
    for some in (X[:FEW], X[: 8 * FEW]):  # every path that compiles, or loads what was compiled
        kind(**words).fit(some, z[: len(some)])
    middle = time.perf_counter()
    model = kind(**words).fit(X, z)
    seconds = time.perf_counter() - middle
    score = float(model.score(X_test, z_test)) if task != "one_class" else 0.0
    return {
        "compiling": middle - begin,
        "seconds": seconds,
        "score": score,
        "n_support": len(model.support_),
        "objective": objective(model, X, z, words.get("epsilon", 0.0), task),
    }


def rows_of(name: str) -> tuple[Any, Any, Any, Any]:
    """Return standardised rows and targets, the last tenth or the official part for scores."""
    found = np.load(SHARED / f"{name}.npz")
    X, z = found["X_train"].astype(np.float64), found["y_train"].astype(np.float64)
    if "X_test" in found:
        X_test, z_test = found["X_test"].astype(np.float64), found["y_test"].astype(np.float64)
    else:
        order = np.random.default_rng(0).permutation(len(X))
        X, z, last = X[order], z[order], len(X) // 10
        X, X_test, z, z_test = X[last:], X[:last], z[last:], z[:last]
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    X, X_test = ((part - mean) / spread for part in (X, X_test))
    z, z_test = (z - z.mean()) / z.std(), (z_test - z.mean()) / z.std()
    return X.astype(np.float32), z, X_test.astype(np.float32), z_test


def objective(model: Any, X: Any, z: Any, epsilon: float, task: str) -> float:
    """Return the dual objective in float64, a block of rows at a time."""
    support = X[model.support_].astype(np.float64)
    beta = np.asarray(model.dual_coef_).ravel()
    quadratic = 0.0
    for start in range(0, len(beta), ROWS):
        part = slice(start, start + ROWS)
        quadratic += float(beta[part] @ (rbf_kernel(support[part], support, 1 / X.shape[1]) @ beta))
    if task == "nu_svc":  # of the variables before they are divided by rho, whose sum is known
        nu_rows = TASKS[task][2]["nu"] * len(z)
        return 0.5 * quadratic * (nu_rows / float(np.abs(beta).sum())) ** 2
    linear = 0.0 if task == "one_class" else float(z[model.support_] @ beta)
    return 0.5 * quadratic - linear + epsilon * float(np.abs(beta).sum())


def median(runs: list[Figures]) -> float:
    """Return the median of the seconds."""
    return float(statistics.median(figures["seconds"] for figures in runs))


if __name__ == "__main__":
    sys.exit(main())
