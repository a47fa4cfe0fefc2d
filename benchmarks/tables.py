"""Everybody's table: our SVC and SVR beside oneDAL's and LIBSVM's, each in a fresh process.

    python -m benchmarks.tables [--sets magic,a9a|targets] [--settings 1:scale,10:8] [--rows 60000]
                                [--peers onedal,libsvm] [--limit 20] [--times 1] [--kernel rbf]
                                [--standardised]

All sets of ``shared/data`` with classes, or with ``targets`` those with real targets (both
standardised, epsilon .1), at most so many rows, each feature of those that need it scaled to [0, 1]
or standardised; with ``--standardised`` every feature is, of one-hot codes too, but for text. A
setting is C and gamma; a number as gamma is that many times "scale" (1 / (features x variance),
scikit-learn's default). Every trainer gets the same float32 rows, tolerance 1e-3, a bias and all
cores; seconds are those of `fit` alone, the best of several times, and of what takes under .3 s the
best of six in a process. Importing is not counted, nor
compiling, or loading what was compiled: a fit that compiles anything is repeated. LIBSVM is
scikit-learn's SVC, oneDAL scikit-learn-intelex's; what takes over ``--limit`` seconds, and over
twice as long as ours, is ended, and its ratio is a lower bound (>). A ratio is the faster peer's
seconds over ours, so a peer is also ended once it takes longer than another one did. Ends with 1
where accuracy on rows that were left out differs by more than what rounding explains. Writes
``tables.json``.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.datasets import SHARED, labelled, standard, unit_range
from benchmarks.runs import compiling_seconds, write
from dcsvm_dask.estimators import DCSVC, DCSVR
from dcsvm_dask.runtime.compilation import first_compiled

Figures = dict[str, Any]
STANDARD = ("cod-rna", "german_numer")
UNIT = ("covtype", "kddcup99_10pct", "census_income_kdd_test")
PIXELS = ("mnist", "skin_nonskin")
SETS = (
    *("heart_scale", "german_numer", "usps", "phishing", "reuters_money_fx", "magic"),
    *("news20_tfidf", "w8a", "a9a", "bank_marketing", "electricity", "shuttle", "ijcnn1"),
    *("cod-rna", "skin_nonskin", "kddcup99_10pct", "census_income_kdd_test", "covtype", "mnist"),
)
TARGETS = ("cadata", "cpusmall", "fried", "kin40k", "mv", "protein")
SETTINGS = "1:scale,10:scale,100:scale,1:8,10:64"
TOL, CACHE_MB, TEST_ROWS, NEAR = 1e-3, 1000, 5000, 0.004
MOST_STANDARDISED = 1000
"""Features of a set that may be stored dense."""
LONG, LEAST_LONG, LEAST = 0.3, 1.0, 0.8
"""Seconds from which a ratio is to be at least 1, and the least one below that."""
ENDED_AFTER = 1.0
"""Seconds before which no peer is ended: the first fit of few rows takes longer than others."""
AGAIN = 5
"""How often shorter fits are repeated, of which the best counts: the first loads code, too."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", default=",".join(SETS))
    options.add_argument("--settings", default=SETTINGS)
    options.add_argument("--rows", type=int, default=60_000)
    options.add_argument("--peers", default="onedal,libsvm")
    options.add_argument("--limit", type=float, default=20.0)
    options.add_argument("--times", type=int, default=1)
    options.add_argument("--kernel", default="rbf", help="as scikit-learn's SVC names it")
    options.add_argument("--out", type=Path, default=Path("tables.json"))
    options.add_argument("--standardised", action="store_true")
    options.add_argument("--one", nargs=4, help="measure one, here; print a JSON object")
    chosen = options.parse_args()
    if chosen.one:
        who, name, C, gamma = chosen.one
        how = {"kernel": chosen.kernel, "rows": chosen.rows, "limit": chosen.limit}
        how["standardised"] = chosen.standardised
        print(json.dumps(measure(who, name, C, gamma, **how)))
        return 0
    found: list[Figures] = []
    for name in TARGETS if chosen.sets == "targets" else chosen.sets.split(","):
        for setting in chosen.settings.split(","):
            runs, limit = {}, 0.0
            for who in ("ours", *chosen.peers.split(",")):
                runs[who] = [alone(who, name, setting, chosen, limit) for _ in range(chosen.times)]
                fits = [one["fit"] for one in runs[who] if "fit" in one]
                if who == "ours":
                    limit = max([chosen.limit, *(2 * seconds for seconds in fits)])
                else:
                    limit = max(ENDED_AFTER, min([limit, *fits]))
            found.append({"set": name, "setting": setting, **compared(runs, chosen.limit)})
            print(line(found[-1]), flush=True)
    write(chosen.out, {"rows": chosen.rows, "kernel": chosen.kernel, "tables": found})
    print(summary(found))
    return int(any(one["apart"] for one in found))


def alone(who: str, name: str, setting: str, chosen: argparse.Namespace, limit: float) -> Figures:
    """Return the figures of a fit in a process of its own, killed after a limit that is not 0."""
    C, gamma = setting.split(":")
    words = [sys.executable, "-m", "benchmarks.tables", "--one", who, name, C, gamma]
    words += ["--rows", str(chosen.rows), "--limit", str(limit), "--kernel", chosen.kernel]
    words += ["--standardised"] if chosen.standardised else []
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGALRM:
        return {"late": True}
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1] if done.stderr else "no reason"}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(
    who: str,
    name: str,
    C: str,
    gamma: str,
    *,
    kernel: str,
    rows: int,
    limit: float,
    standardised: bool,
) -> Figures:
    """Train one of them and decide rows left out; a fit over a limit is killed by SIGALRM."""
    X, y = table(name, standardised=standardised)
    order = np.random.default_rng(0).permutation(len(y))
    rows = min(rows, int(0.9 * len(y)))
    train, test = np.sort(order[:rows]), order[rows:][:TEST_ROWS]
    compiling = compiling_seconds() if who == "ours" else 0.0
    compiled: list[str] = []
    factor = 1.0 if gamma == "scale" else float(gamma)
    how: dict[str, Any] = {"C": float(C), "gamma": factor * scale(X[train]), "tol": TOL}
    how["kernel"] = kernel
    machine = kind_of(who, real=name in TARGETS)(**how, cache_size=CACHE_MB)
    X_train, y_train = X[train], y[train]
    signal.setitimer(signal.ITIMER_REAL, limit)
    with first_compiled(lambda: compiled.append(name)):
        first = seconds = fit_seconds(machine, X_train, y_train)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    if compiled:
        first = seconds = fit_seconds(machine, X_train, y_train)
    for _ in range(AGAIN if first < LONG else 0):
        seconds = min(seconds, fit_seconds(machine, X_train, y_train))
    return {
        "fit": seconds,
        "first": first,
        "compiling": compiling,
        "accuracy": float(machine.score(X[test], y[test])),
        "n_test": len(test),
        "n_support": len(machine.support_),
        "shape": [len(train), X.shape[1], 0 if name in TARGETS else len(np.unique(y))],
    }


def fit_seconds(machine: Any, X: Any, y: Any) -> float:
    """Fit and return how long it took."""
    begin = time.perf_counter()
    machine.fit(X, y)
    return time.perf_counter() - begin


def kind_of(who: str, *, real: bool) -> Any:
    """Return the class of a trainer, of regression for real targets."""
    if who == "ours":
        return DCSVR if real else DCSVC
    if who == "onedal":
        from sklearnex import svm
    else:
        from sklearn import svm
    return svm.SVR if real else svm.SVC


def table(name: str, *, standardised: bool = False) -> tuple[Any, Any]:
    """Return a set's rows, scaled as its source says or standardised, and the labels of all."""
    if name in TARGETS:
        found = np.load(SHARED / f"{name}.npz")
        y = found["y_train"].astype(np.float64)
        return np.ascontiguousarray(standard(found["X_train"])), (y - y.mean()) / y.std()
    X, y = labelled(name, unit=255 if name in PIXELS else 1)
    if standardised and X.shape[1] <= MOST_STANDARDISED:
        X = standard(X.toarray() if sparse.issparse(X) else X)
    elif name in STANDARD:
        X = standard(X)
    elif name in UNIT:
        X = unit_range(X)
    return (sparse.csr_matrix(X) if sparse.issparse(X) else np.ascontiguousarray(X)), y


def scale(X: Any) -> float:
    """Return scikit-learn's default gamma."""
    if sparse.issparse(X):
        variance = X.multiply(X).mean() - X.mean() ** 2
    else:
        variance = X.var(dtype=np.float64)
    return float(1.0 / (X.shape[1] * variance))


def compared(runs: dict[str, list[Figures]], limit: float) -> Figures:
    """Return the figures of a table: the best times, the ratio, and whether accuracies differ."""
    best = {who: min(found, key=lambda one: one.get("fit", np.inf)) for who, found in runs.items()}
    ours = best["ours"]
    fits = {who: one["fit"] for who, one in best.items() if "fit" in one}
    peers = [seconds for who, seconds in fits.items() if who != "ours"]
    late = all("late" in one for who, one in best.items() if who != "ours")
    fastest = min(peers) if peers else max(limit, 2 * fits.get("ours", 0.0)) if late else None
    apart = [
        who
        for who, one in best.items()
        if "fit" in one
        and "fit" in ours
        and abs(one["accuracy"] - ours["accuracy"]) > max(NEAR, 3.0 / ours["n_test"])
    ]
    ratio = fastest / ours["fit"] if fastest is not None and "fit" in ours else None
    return {"best": best, "fits": fits, "ratio": ratio, "late": late, "apart": apart}


def line(found: Figures) -> str:
    """Return a comparison in one line."""
    ours, text = found["best"]["ours"], f"{found['set']:<22} {found['setting']:<10}"
    if "fit" not in ours:
        return f"{text} {ours}"
    rows, features, classes = ours["shape"]
    kind = f"{classes:>2} cl." if classes else "real  "
    text += f" {rows:>6,} x {features:<6,} {kind} {ours['n_support']:>6,} sv"
    for who, one in found["best"].items():
        text += f"  {who} {one['fit']:8.3f} s" if "fit" in one else f"  {who} {'-':>8}  "
    if found["ratio"] is not None:
        text += f"  ratio {'>' if found['late'] else ' '}{found['ratio']:.2f}"
    if found["apart"]:
        accuracies = {who: one.get("accuracy") for who, one in found["best"].items()}
        text += f"  accuracies {accuracies}"
    return text


def summary(found: list[Figures]) -> str:
    """Return the median of the ratios, and which are below the goals."""
    known = [one for one in found if one["ratio"] is not None]
    if not known:
        return "nothing to compare with"
    below = []
    for one in known:
        seconds = max(one["fits"]["ours"], one["ratio"] * one["fits"]["ours"])
        if one["ratio"] < (LEAST_LONG if seconds > LONG else LEAST):
            below.append(f"{one['set']} {one['setting']} {one['ratio']:.2f}")
    ratios = [one["ratio"] for one in known]
    text = f"{len(known)} tables, median ratio {statistics.median(ratios):.2f}"
    text += f", least {min(ratios):.2f}"
    return f"{text}; below the goal: {', '.join(below) or 'none'}"


if __name__ == "__main__":
    sys.exit(main())
