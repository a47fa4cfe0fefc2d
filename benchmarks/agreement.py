"""Agreement with scikit-learn's SVC: the same problems solved by both, and how far they differ.

    python -m benchmarks.agreement [--quick] [--sets iris,usps] [--tol 0.0001]

Each problem is solved by SVC (one core: it has no more) and by ours (all cores) with the same
parameters, on the same rows, which float32 holds exactly. A line says the seconds of both, the
largest difference between the decision values of any pair of classes at any training row over
their standard deviation, how many rows get different labels, and the support vectors of both.
Compiling, or loading what was compiled, stands apart. Writes ``agreement.json``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.svm import SVC

from benchmarks.datasets import labelled
from benchmarks.runs import compiling_seconds, write
from dcsvm_dask.estimators import DCSVC

Figures = dict[str, Any]
Rows = tuple[Any, Any]
CACHE_MB = 1000


def shipped(name: str, *, scaled: bool) -> Callable[[], Rows]:
    """Return how to load a set that comes with scikit-learn, as it is or standardised."""

    def load() -> Rows:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        if scaled:
            spread = X.std(axis=0)
            X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
        return X.astype(np.float32), y

    return load


SETS: dict[str, Callable[[], Rows]] = {
    "iris": shipped("iris", scaled=False),
    "wine": shipped("wine", scaled=True),
    "wine, unscaled": shipped("wine", scaled=False),
    "breast_cancer": shipped("breast_cancer", scaled=True),
    "digits": shipped("digits", scaled=False),
    "usps": lambda: labelled("usps"),
    "mnist, 3,000 rows": lambda: labelled("mnist", 3000, np.float32(255)),
    "news20, 4,000 rows": lambda: labelled("news20_tfidf", 4000),
}
QUICK = ("iris", "wine", "wine, unscaled", "breast_cancer", "digits")
BALANCED = {"class_weight": "balanced"}
PROBLEMS: list[tuple[str, Figures]] = [
    ("iris", {}),
    ("iris", {"kernel": "poly", "coef0": 1.0}),
    ("iris", {"kernel": "linear", "C": 100.0}),
    ("iris", {"C": 1e5, "gamma": 0.5}),
    ("wine", {}),
    ("wine", {"kernel": "linear"}),
    ("wine", {"kernel": "sigmoid", "gamma": 0.01, "C": 1.0}),
    ("wine, unscaled", {"C": 100.0}),
    ("breast_cancer", {}),
    ("breast_cancer", {"kernel": "poly", "degree": 2, "coef0": 1.0, **BALANCED}),
    ("breast_cancer", {"kernel": "linear"}),
    ("breast_cancer", {"C": 1e5}),
    ("digits", {}),
    ("digits", {"kernel": "poly"}),
    ("digits", {"kernel": "linear"}),
    ("usps", {"C": 10.0, "gamma": 0.02}),
    ("usps", {"kernel": "poly", "gamma": 0.02, "coef0": 1.0}),
    ("mnist, 3,000 rows", {"C": 10.0, "gamma": 0.02}),
    ("mnist, 3,000 rows", {"kernel": "linear"}),
    ("news20, 4,000 rows", {"kernel": "linear"}),
    ("news20, 4,000 rows", {"gamma": 0.5, "C": 10.0}),
]
HEAD = (
    "data set",
    "parameters",
    "SVC, s",
    "ours, s",
    "largest difference / spread",
    "labels that differ",
    "support vectors, SVC",
    "ours",
)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="the sets that scikit-learn ships")
    options.add_argument("--sets", help="beginnings of: " + "; ".join(SETS))
    options.add_argument("--tol", type=float, default=1e-4)
    options.add_argument("--out", type=Path, default=Path("agreement.json"))
    chosen = options.parse_args()
    names = QUICK if chosen.quick else tuple(SETS)
    if chosen.sets:
        names = tuple(n for n in SETS if n.startswith(tuple(chosen.sets.split(","))))
    print(f"compiling or loading: {compiling_seconds():.1f} s\n")
    print("| " + " | ".join(HEAD) + " |")
    print("|---" * len(HEAD) + "|")
    found, loaded = [], {}
    for name, parameters in PROBLEMS:
        if name not in names:
            continue
        if name not in loaded:
            loaded = {name: SETS[name]()}
        found.append(compare(name, *loaded[name], parameters, chosen.tol))
    write(chosen.out, {"tol": chosen.tol, "cores": os.cpu_count(), "problems": found})
    return 0


def compare(name: str, X: Any, y: Any, parameters: Figures, tol: float) -> Figures:
    """Solve a problem by both; print a line of a table; return its figures."""
    how = {**parameters, "tol": tol, "cache_size": CACHE_MB, "decision_function_shape": "ovo"}
    begin = time.perf_counter()
    svc = SVC(**how).fit(X.astype(np.float64), y)
    middle = time.perf_counter()
    ours = DCSVC(**how).fit(X, y)
    end = time.perf_counter()
    theirs, mine = svc.decision_function(X.astype(np.float64)), ours.decision_function(X)
    figures = {
        "svc_seconds": middle - begin,
        "our_seconds": end - middle,
        "difference": float(np.abs(theirs - mine).max() / theirs.std()),
        "labels": int((svc.predict(X.astype(np.float64)) != ours.predict(X)).sum()),
        "svc_support": len(svc.support_),
        "our_support": len(ours.support_),
    }
    words = ", ".join(f"{key} {shown(value)}" for key, value in parameters.items())
    cells: list[Any] = [name, words or "defaults", f"{figures['svc_seconds']:.3f}"]
    cells += [f"{figures['our_seconds']:.3f}", f"{figures['difference']:.1e}", figures["labels"]]
    cells += [f"{figures['svc_support']:,}", f"{figures['our_support']:,}"]
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return {"set": name, "parameters": parameters, **figures}


def shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
