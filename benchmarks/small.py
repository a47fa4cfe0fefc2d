"""Tables of a few hundred rows: fitting and predicting in milliseconds, beside two peers.

    python -m benchmarks.small [--times 20]

Sets that ship with scikit-learn, standardised, and drawn ones of many classes and of many features,
with C 1 and 100, by the RBF and the linear kernel. Ours, scikit-learn's SVC and
scikit-learn-intelex's (oneDAL) are trained and decide their own training rows in turn, in one
process, after a first time that compiles; the least of so many times counts. A ratio is the faster
peer's time over ours. Ends with 1 where accuracies differ.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from sklearn import datasets, svm
from sklearn.preprocessing import StandardScaler
from sklearnex import svm as onedal

from dcsvm_dask import DCSVC

SETTINGS: tuple[dict[str, Any], ...] = (
    {"C": 1.0},
    {"C": 100.0},
    {"kernel": "linear", "C": 1.0},
    {"kernel": "linear", "C": 100.0},
)
TRAINERS = {"ours": DCSVC, "SVC": svm.SVC, "oneDAL": onedal.SVC}
NEAR = 0.01
"""Accuracies on the training rows may differ by so much, within the tolerance."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--times", type=int, default=20)
    times = options.parse_args().times
    warnings.simplefilter("ignore")
    ratios: dict[str, list[float]] = {"fit": [], "predict": []}
    apart = False
    for name, (X, y) in tables().items():
        for setting in SETTINGS:
            found = {who: measured(kind(**setting), X, y, times) for who, kind in TRAINERS.items()}
            text = f"{name:<14} {setting.get('kernel', 'rbf'):<6} C {setting['C']:<5g}"
            for what, each in ratios.items():
                peers = min(one[what] for who, one in found.items() if who != "ours")
                each.append(peers / found["ours"][what])
                of_all = " ".join(f"{who} {one[what]:.2f}" for who, one in found.items())
                text += f"  {what}: {of_all} ms, ratio {each[-1]:.2f}"
            accuracies = [one["accuracy"] for one in found.values()]
            apart |= max(accuracies) - min(accuracies) > NEAR
            print(text, flush=True)
    for what, each in ratios.items():
        print(f"{what}: median ratio {statistics.median(each):.2f}, least {min(each):.2f}")
    return int(apart)


def tables() -> dict[str, tuple[Any, Any]]:
    """Return the rows and labels of all sets, standardised."""
    found = {
        "iris": datasets.load_iris(return_X_y=True),
        "wine": datasets.load_wine(return_X_y=True),
        "breast cancer": datasets.load_breast_cancer(return_X_y=True),
        "digits": datasets.load_digits(return_X_y=True),
        "20 classes": drawn(520, 8, classes=20, informative=6),
        "3,000 features": drawn(554, 3000, classes=2, informative=12),
    }
    return {name: (StandardScaler().fit_transform(X), y) for name, (X, y) in found.items()}


def drawn(rows: int, features: int, *, classes: int, informative: int) -> tuple[Any, Any]:
    """Return a drawn set of one cluster a class, of whose labels one in twenty is random."""
    how = {"n_classes": classes, "n_informative": informative, "n_redundant": 0}
    how |= {"n_clusters_per_class": 1}
    return datasets.make_classification(rows, features, flip_y=0.05, random_state=0, **how)


def measured(trainer: Any, X: Any, y: Any, times: int) -> dict[str, float]:
    """Return the milliseconds of a trainer and its accuracy on the rows that it learned."""
    return {
        "fit": least(lambda: trainer.fit(X, y), times),
        "predict": least(lambda: trainer.predict(X), times),
        "accuracy": trainer.score(X, y),
    }


def least(work: Callable[[], object], times: int) -> float:
    """Return the milliseconds of the fastest of so many times, after a first one."""
    work()
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        found.append(1e3 * (time.perf_counter() - begin))
    return min(found)


if __name__ == "__main__":
    sys.exit(main())
