"""Make svc.json: answers of scikit-learn's SVC on real data, to hold the solvers against.

    python tests/references/make_svc.py [SECONDS] [TOTAL]

SECONDS (default 120) is the processor time that one fit may take, TOTAL (1,500) that of all; what
does not fit is listed in the file under "left_out". SVC computes its kernel in float64 but caches
it in float32; objective and decision values here are computed from its coefficients in float64.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.svm import SVC

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[2] / "shared" / "data"
POWERS_OF_C = (-6, 0, 6, 10)
POWERS_OF_GAMMA = (-6, 0, 6)
SETS = ("heart_scale", "german_numer", "a9a", "ijcnn1", "covtype", "usps")
TOL = 1e-5
SAMPLE = 50
ROWS_AT_ONCE = 1000


def problem(name: str, data: Any) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return the rows and labels of one problem from the arrays of its data set."""
    X, y = data["X_train"], data["y_train"].astype(np.float64)
    if name == "german_numer":
        X = X.astype(np.float64)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    elif name == "a9a":
        X, y = X[:5000], y[:5000]
    elif name == "ijcnn1":
        X, y = X[:10000], y[:10000]
    elif name == "covtype":
        X = X.astype(np.float64)
        low, high = X.min(axis=0), X.max(axis=0)
        rows = np.random.default_rng(0).permutation(len(X))[:10000]
        X, y = (X[rows] - low) / (high - low), y[rows]
    elif name == "usps":
        y = np.where(y == 0.0, 1.0, -1.0)
    return np.ascontiguousarray(X, dtype=np.float32), y


def rbf(X: NDArray[Any], Z: NDArray[Any], gamma: float) -> NDArray[np.float64]:
    """Return the RBF kernel in float64."""
    X, Z = X.astype(np.float64), Z.astype(np.float64)
    squares = (X * X).sum(axis=1)[:, None] + (Z * Z).sum(axis=1) - 2.0 * (X @ Z.T)
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0.0)))


def fit(X: NDArray[np.float32], y: NDArray[np.float64], C: float, gamma: float) -> dict[str, Any]:
    """Fit SVC and return what is kept of it."""
    started = time.process_time()
    model = SVC(C=C, gamma=gamma, tol=TOL, cache_size=1000).fit(X.astype(np.float64), y)
    seconds = time.process_time() - started
    beta, S = model.dual_coef_[0], X[model.support_]
    product = np.concatenate(
        [rbf(S[at : at + ROWS_AT_ONCE], S, gamma) @ beta for at in range(0, len(S), ROWS_AT_ONCE)]
    )
    rows = np.sort(np.random.default_rng(0).choice(len(y), SAMPLE, replace=False))
    decision = rbf(X[rows], S, gamma) @ beta + model.intercept_[0]
    return {
        "objective": float(0.5 * beta @ product - np.abs(beta).sum()),
        "n_support": len(S),
        "rho": -float(model.intercept_[0]),
        "rows": rows.tolist(),
        "decision": [float(f"{value:.10g}") for value in decision],
        "seconds": round(seconds, 1),
    }


def _fit_within(queue: Any, seconds: int, *arguments: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    queue.put(fit(*arguments))


def main() -> None:
    """Fit every problem that fits into the time and write the file, the quick data sets first."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    total = float(sys.argv[2]) if len(sys.argv) > 2 else 1500.0
    entries: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    spent = 0.0
    for name in SETS:
        X, y = problem(name, np.load(DATA / f"{name}.npz"))
        for c in POWERS_OF_C:
            for g in POWERS_OF_GAMMA:
                key = {"data": name, "log2_C": c, "log2_gamma": g}
                found = None
                if spent < total:
                    queue: Any = multiprocessing.Queue()
                    child = multiprocessing.Process(
                        target=_fit_within, args=(queue, seconds, X, y, 2.0**c, 2.0**g)
                    )
                    child.start()
                    while child.is_alive() and queue.empty():
                        child.join(0.05)
                    found = None if queue.empty() else queue.get()
                    child.join()
                spent += seconds if found is None else found["seconds"]
                print(key, "left out" if found is None else found["seconds"], flush=True)
                (left_out if found is None else entries).append(key | (found or {}))
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    head = json.dumps({"sklearn": sklearn.__version__, "tol": TOL, "left_out": left_out})
    (HERE / "svc.json").write_text(f'{head[:-1]}, "entries": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
