"""The runs: every method, with and without levels, a bias, weights and many classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.compare_runs.data import digits, moons, sparse_rows, three_classes, weighted

LOCAL = {"kernel": "rbf", "gamma": 8.0, "C": 4.0}
SMOOTH = {"kernel": "rbf", "gamma": 0.01, "C": 2.0}
LEVELS = {"levels": 2, "k": 3, "n_samples_clustering": 300}
SETS = {"block_cap": 256, "set_cap": 200}
BIAS = {"fit_intercept": True}
NYSTROM = {**LOCAL, "method": "nystrom", "rank": 100}

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "demo": ("demo", {"gamma": 32.0, "C": 32.0, "k": 4}),
    "demo-smooth": ("demo", {"gamma": 0.05, "C": 1.0, "tol": 1e-2, **BIAS}),
    "whole": ("moons", LOCAL),
    "whole-bias": ("moons", {**LOCAL, **BIAS}),
    "whole-tight": ("moons", {**LOCAL, **BIAS, "tol": 1e-6}),
    "levels": ("moons", {**LOCAL, **LEVELS}),
    "levels-bias": ("moons", {**LOCAL, **LEVELS, **BIAS}),
    "levels-clusters": ("covtype", {"gamma": 32.0, "C": 32.0, "clusters": (8, 3)}),
    "levels-covtype": ("covtype", {"gamma": 32.0, "C": 32.0, **LEVELS, **SETS, **BIAS}),
    "levels-committee": ("moons", {**LOCAL, **LEVELS, "committee": True}),
    "stopped": ("moons", {**LOCAL, **LEVELS, "stop_at": 1}),
    "resumed": ("moons", {**LOCAL, **LEVELS, "stop_at": 2}),
    "rounds": ("chunks", {**LOCAL, **SETS}),
    "rounds-bias": ("chunks", {**LOCAL, **SETS, **BIAS}),
    "rounds-levels": ("chunks", {**LOCAL, **SETS, **LEVELS}),
    "smooth": ("cancer", SMOOTH),
    "smooth-levels": ("cancer", {**SMOOTH, **LEVELS, **BIAS}),
    "smooth-rounds": ("chunks", {"gamma": 0.1, "C": 1.0, "block_cap": 512, "set_cap": 256, **BIAS}),
    "repeated": ("repeated", {**LOCAL, **BIAS}),
    "repeated-levels": ("repeated", {**LOCAL, **LEVELS}),
    "weights": ("weighted", {**LOCAL, **BIAS}),
    "weights-levels": ("weighted", {**LOCAL, **LEVELS}),
    "class-weight": ("cancer", {**SMOOTH, **BIAS, "class_weight": "balanced"}),
    "class-weight-levels": ("moons", {**LOCAL, **LEVELS, "class_weight": {"0": 2.0, "1": 0.5}}),
    "sparse": ("sparse", {"gamma": 1.0, "C": 4.0}),
    "sparse-levels": ("sparse", {"gamma": 1.0, "C": 4.0, **LEVELS, **BIAS}),
    "poly": ("cancer", {"kernel": "poly", "gamma": 0.02, "coef0": 1.0, "degree": 2, **LEVELS}),
    "linear": ("cancer", {"kernel": "linear", "C": 0.1, **BIAS}),
    "sigmoid": ("cancer", {"kernel": "sigmoid", "gamma": 0.005, **BIAS}),
    "laplacian": ("moons", {"kernel": "laplacian", "gamma": 2.0, **LEVELS}),
    "pairs": ("digits", {"gamma": 0.3, "C": 4.0}),
    "pairs-bias": ("colours", {"gamma": 4.0, "C": 2.0, **BIAS}),
    "pairs-levels": ("colours", {"gamma": 4.0, "C": 2.0, **LEVELS}),
    "pairs-sets": ("colours", {"gamma": 4.0, "C": 2.0, **SETS, **BIAS}),
    "pairs-sparse": ("words", {"gamma": 0.5, **LEVELS}),
    "pairs-class-weight": ("colours", {"gamma": 4.0, "class_weight": "balanced", **LEVELS, **BIAS}),
    "rest": ("digits", {"gamma": 0.3, "C": 4.0, "multiclass": "ovr"}),
    "rest-levels": ("colours", {"gamma": 4.0, "C": 2.0, "multiclass": "ovr", **LEVELS, **BIAS}),
    "cascade": ("moons", {**LOCAL, "method": "cascade", "leaves": 4}),
    "cascade-bias": ("weighted", {**LOCAL, **BIAS, "method": "cascade", "leaves": 4}),
    "cascade-mean": ("moons", {**LOCAL, "method": "cascade", "leaves": 4, "decide": "mean"}),
    "cascade-committee": (
        "moons",
        {**LOCAL, "method": "cascade", "leaves": 4, "decide": "committee"},
    ),
    "bagging": ("moons", {**LOCAL, **BIAS, "method": "bagging", "members": 4}),
    "bagging-committee": (
        "moons",
        {**LOCAL, "method": "bagging", "members": 4, "replace": True, "vote": "committee"},
    ),
    "subsample": ("chunks", {**LOCAL, **BIAS, "method": "subsample", "fraction": 0.2}),
    "online": ("moons", {**LOCAL, **BIAS, "method": "online"}),
    "online-samples": ("weighted", {**LOCAL, "method": "online", "samples": 10, "passes": 2}),
    "bsgd": ("moons", {**LOCAL, **BIAS, "method": "bsgd", "budget": 30, "epochs": 3}),
    "bsgd-shares": ("weighted", {**LOCAL, "method": "bsgd", "budget": 30, "shares": 3}),
    "greedy": ("moons", {**LOCAL, "method": "greedy", "basis": 40}),
    "greedy-bias": ("sparse", {"gamma": 1.0, **BIAS, "method": "greedy", "basis": 30, "pool": 20}),
    "nystrom": ("moons", NYSTROM),
    "nystrom-random": ("weighted", {**NYSTROM, **BIAS, "landmarks": "random"}),
    "nystrom-squared": ("chunks", {**NYSTROM, "loss": "squared_hinge", "chunks": 3}),
    "fourier": ("moons", {**LOCAL, **BIAS, "method": "fourier", "outputs": 200}),
    "fastfood": ("cancer", {**SMOOTH, "method": "fourier", "outputs": 128, "structured": True}),
    "ltpu": ("moons", {**LOCAL, "method": "ltpu", "centres": 80}),
    "ltpu-neighbours": (
        "moons",
        {**LOCAL, **BIAS, "method": "ltpu", "centres": 80, "neighbours": 3},
    ),
    "libsvm": ("weighted", {**LOCAL, **BIAS, "method": "libsvm"}),
    "liblinear": ("cancer", {"kernel": "linear", "C": 0.1, **BIAS, "method": "liblinear"}),
    "search": ("moons", {"C": [0.5, 4.0, 32.0], "gamma": [0.5, 4.0], "cv": 3, **BIAS}),
    "search-blocks": (
        "chunks",
        {"C": [0.5, 8.0], "gamma": [0.5, 8.0], "cv": 3, "exact": 1, "block_rows": 1500},
    ),
    "search-halving": (
        "chunks",
        {"C": [0.5, 8.0], "gamma": [0.5, 8.0], "cv": 3, "exact": 1, "block_rows": 1000}
        | {"halving": True, "refit": False},
    ),
    "search-classes": ("colours", {"C": [0.5, 4.0], "gamma": [0.5, 4.0], "cv": 3}),
}
"""The data set and the parameters of each, by name."""

COMPRESSED = ("levels-bias", "linear")
"""Runs whose models are compressed, too."""


def estimators() -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Yield the names of estimators that solve in memory, they and what they are fitted to."""
    from dcsvm_dask.estimators import DCSVC, DCSVMSearchCV, LinearDCSVC

    own = weighted()
    rows, rest = (*own["source"], own["weights"]), three_classes()
    yield "svc", DCSVC(C=4.0, gamma=8.0), moons()
    yield "svc-no-bias", DCSVC(C=4.0, gamma=8.0, fit_intercept=False), moons()
    yield "svc-weights", DCSVC(C=4.0, gamma=8.0, class_weight="balanced"), rows
    yield "svc-sparse", DCSVC(C=4.0), sparse_rows()
    yield "svc-pairs", DCSVC(C=4.0), digits()
    yield "svc-rest", DCSVC(C=2.0, gamma=0.2, multiclass="ovr"), rest
    yield "svc-early", DCSVC(C=4.0, gamma=8.0, stop_at=1), moons(13_000)
    yield "linear-svc", LinearDCSVC(C=0.1), digits()
    yield "linear-svc-hinge", LinearDCSVC(C=0.1, loss="hinge"), sparse_rows()
    grid = {"C": [0.5, 4.0], "gamma": [0.5, 8.0]}
    yield "search-svc", DCSVMSearchCV(DCSVC(), grid, cv=3), moons()
    yield "search-svc-blocks", DCSVMSearchCV(DCSVC(), grid, cv=3, block_rows=400), moons()
