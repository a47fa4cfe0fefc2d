"""How the time of linear solvers grows with the rows: Figure 3 of the OCAS paper on made windows.

    apt-get install libocas-tools
    python -m benchmarks.linear_growth [--most 1000000] [--cost 1000]

Trains on 10^2 to 10^6 windows of DNA (`benchmarks.splice`) with the same cost of all rows together,
by us and by svmocas to a gap of a thousandth of the objective at w = 0, and by our dual coordinate
descent to the same gap. Prints seconds of training on one thread and the exponents: slopes of
log seconds over log rows. Iterations change with the rows, too: exponents of the seconds of one of
them are beside. Writes ``linear-growth.json``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_limits

from benchmarks import splice
from benchmarks.ocas import svmocas
from benchmarks.runs import write
from dcsvm_dask.solvers import solve_cutting, solve_linear
from dcsvm_dask.tasks import Classification

GAP = 1e-3
TOLERANCES = 10.0 ** np.arange(1.0, -4.5, -0.5)
MOST_PEER = 300_000
"""Rows that are written as text for svmocas, at most."""


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--most", type=int, default=1_000_000)
    options.add_argument("--cost", type=float, default=1000.0)
    options.add_argument("--out", type=Path, default=Path("linear-growth.json"))
    chosen = options.parse_args()
    found: list[dict[str, Any]] = []
    X, y = drawn(chosen.most)
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for n in [round(10 ** (half / 2)) for half in range(4, 13)]:
            if n <= chosen.most:
                found.append({"rows": n, **seconds(X[:n], y[:n], chosen.cost / n, Path(folder))})
                print(", ".join(f"{key} {value:.4g}" for key, value in found[-1].items()))
    exponents = {
        f"{who} from {least:g} rows": exponent(found, who, least)
        for who in ("ocas", "ocas_iteration", "dcd", "svmocas", "svmocas_iteration")
        for least in (1e2, 1e4)
    }
    for about, value in exponents.items():
        print(f"{about}: exponent {value:.2f}")
    write(chosen.out, {"growth": found, "exponents": exponents})
    return 0


def drawn(n: int) -> tuple[Any, Any]:
    """Return windows in CSR, and their labels."""
    counts = [min(splice.BLOCK, n - start) for start in range(0, n, splice.BLOCK)]
    X = sparse.vstack([splice.sparse_rows(i, count) for i, count in enumerate(counts)], "csr")
    y = np.concatenate([splice.labels(i, count) for i, count in enumerate(counts)])
    return sparse.csr_array(X), y


def seconds(X: Any, y: Any, C: float, folder: Path) -> dict[str, float]:
    """Return the seconds of each solver to the same gap."""
    dual = Classification().dual(y, np.full(len(y), C))
    solve_cutting(X[:100], dual[:100], constant=1.0, max_iter=2)  # compiles
    begin = time.perf_counter()
    ours = solve_cutting(X, dual, constant=1.0, tol=GAP)
    found = {"ocas": time.perf_counter() - begin, "iterations": ours.n_iter}
    found["ocas_iteration"] = found["ocas"] / ours.n_iter
    for tol in TOLERANCES:
        begin = time.perf_counter()
        descent = solve_linear(X, y, C, constant=1.0, tol=float(tol))
        if descent.gap <= GAP * C * len(y):
            found["dcd"] = time.perf_counter() - begin
            break
    if len(y) <= MOST_PEER:
        file = folder / "rows.svm"
        narrow = (X.data, X.indices, X.indptr.astype(np.int32))  # scikit-learn takes no others
        dump_svmlight_file(sparse.csr_matrix(narrow, X.shape), y, str(file), zero_based=False)
        # Its rule is relative to the objective reached.
        gap = GAP * C * len(y) / ours.objective
        found["svmocas"], found["its_iterations"], _ = svmocas(file, C, gap, False, 1)
        found["svmocas_iteration"] = found["svmocas"] / found["its_iterations"]
    return found


def exponent(found: list[dict[str, Any]], who: str, least: float) -> float:
    """Return the slope of log seconds over log rows."""
    points = [(one["rows"], one[who]) for one in found if who in one and one["rows"] >= least]
    if len(points) < 2:
        return np.nan
    rows, times = np.log(np.array(points).T)
    return float(np.polyfit(rows, times, 1)[0])


if __name__ == "__main__":
    sys.exit(main())
