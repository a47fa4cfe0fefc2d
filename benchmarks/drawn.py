"""Random problems of every task: shapes, storage, kernels, parameters and weights by a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.datasets import SHARED, standard
from benchmarks.duals import kernel_matrix

Figures = dict[str, Any]
MOST_ROWS, TEST_ROWS = 500, 50
CLASSES = ("svc", "squared_svc", "nu_svc")


@dataclass(frozen=True)
class Problem:
    """Rows with what a task and a kernel need.

    Attributes
    ----------
    task : str
        One of `benchmarks.proofs.TASKS`.
    X, X_test : ndarray or CSR, float32
    y : ndarray, shape (n,)
        Labels or targets; zeros of the one-class SVM.
    weight : ndarray, shape (n,), or None
        Weights of rows, some of them 0.
    kernel : dict
        ``kernel``, ``gamma``, ``degree`` and ``coef0``, as scikit-learn has them.
    words : dict
        ``C``, ``epsilon``, ``nu`` and ``quantile``, of which the task has some.
    unit : float
        What tolerances are relative to: the standard deviation of the targets; else 1.
    tol : float
        Tolerance of all solvers, in that unit.
    """

    task: str
    X: Any
    X_test: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    kernel: Figures
    words: Figures
    unit: float = 1.0
    tol: float = 1e-6

    @property
    def about(self) -> Figures:
        """What a list of problems says of it."""
        of_kernel = {k: v for k, v in self.kernel.items() if k in ("kernel", "gamma")}
        kinds = {"sparse": sparse.issparse(self.X), "weighted": self.weight is not None}
        return {"rows": self.X.shape[0], "features": self.X.shape[1], **of_kernel, **self.words} | {
            name: True for name, value in kinds.items() if value
        }


def draw(task: str, seed: int) -> Problem:
    """Return the random problem of a seed."""
    rng = np.random.default_rng([seed, *task.encode()])
    n = int(10.0 ** rng.uniform(1.3, np.log10(MOST_ROWS)))
    d = int(10.0 ** rng.uniform(0.0, 1.8))
    X = _rows(rng, n + TEST_ROWS, d)
    if rng.random() < 0.4:  # repeated rows
        X[rng.integers(n, size=n // 3)] = X[rng.integers(n, size=n // 3)]
    weight = None
    if rng.random() < 0.4:
        weight = 10.0 ** rng.uniform(-1.5, 1.0, size=n) if rng.random() < 0.5 else _counts(rng, n)
    signal = _signal(rng, X)
    words, spread = _words(rng, task), 1.0
    y: Any
    if task in CLASSES:
        few = 2 if rng.random() < 0.5 else int(rng.integers(3, 8))
        y = _labels(rng, signal[:n], few)
        if weight is not None:  # no class without weight
            weight[: 2 * few] = np.maximum(weight[: 2 * few], 0.1)
        if task == "nu_svc":
            words["nu"] *= _most_nu(y, weight)
    elif task == "one_class":
        y = np.zeros(n)
    else:
        noise = rng.choice([0.0, 0.1, 1.0])
        z = signal + noise * rng.standard_normal(len(signal))
        spread = 10.0 ** rng.uniform(-3.0, 6.0)
        centre = rng.choice([0.0, 1.0, 10.0 ** rng.uniform(-2.0, 3.0)])
        y = spread * ((z - z.mean()) / max(z.std(), 1e-9) + centre)[:n]
        words = {k: v * spread if k in ("C", "epsilon") else v for k, v in words.items()}
        if task == "squared_svr":  # the square of the errors' unit: beta's is that of C times it
            words["C"] /= spread
    kernel = _kernel(rng, X[:n])
    stored: Any = sparse.csr_array(X) if rng.random() < 0.3 else X
    return Problem(task, stored[:n], stored[n:], y, weight, kernel, words, spread)


def _rows(rng: Any, n: int, d: int) -> NDArray[np.float32]:
    kind = rng.choice(["normal", "uniform", "blobs", "grid", "few"])
    if kind == "normal":
        X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1.0, 1.0, size=d)
    elif kind == "uniform":
        X = rng.random((n, d)) + rng.choice([0.0, 1.0, 100.0])
    elif kind == "blobs":
        centres = rng.standard_normal((int(rng.integers(2, 10)), d)) * 3.0
        X = centres[rng.integers(len(centres), size=n)] + 0.3 * rng.standard_normal((n, d))
    elif kind == "grid":
        X = rng.integers(0, 4, size=(n, d)).astype(float)
    else:
        X = rng.random((n, d)) * (rng.random((n, d)) < 0.2)
    return X.astype(np.float32)


def _counts(rng: Any, n: int) -> NDArray[np.float64]:
    found = rng.integers(0, 4, size=n).astype(np.float64)
    found[rng.integers(n)] = 1.0
    return found


def _signal(rng: Any, X: NDArray[np.float32]) -> NDArray[np.float64]:
    wide = X.astype(np.float64)
    wide = (wide - wide.mean(axis=0)) / np.maximum(wide.std(axis=0), 1e-9)
    line = wide @ rng.standard_normal(wide.shape[1]) / np.sqrt(wide.shape[1])
    return np.asarray(line if rng.random() < 0.4 else np.sin(2.0 * line) + 0.3 * wide[:, 0])


def _labels(rng: Any, signal: NDArray[np.float64], few: int) -> NDArray[np.int64]:
    """Return labels of skewed classes, some of them wrong, each of two rows at least."""
    cuts: Any = np.sort(rng.random(few - 1)) if rng.random() < 0.7 else np.arange(1, few) / few
    y: Any = np.searchsorted(np.quantile(signal, cuts), signal)
    wrong = rng.random(len(y)) < rng.choice([0.0, 0.05, 0.3])
    y[wrong] = rng.integers(few, size=int(wrong.sum()))
    y[: 2 * few] = np.arange(2 * few) % few
    return np.asarray(y)


def _words(rng: Any, task: str) -> Figures:
    words: Figures = {"C": float(10.0 ** rng.uniform(-2.0, 4.0))}
    if task in ("svr", "squared_svr"):
        words["epsilon"] = float(rng.choice([0.0, 10.0 ** rng.uniform(-3.0, 0.3)]))
    if task in ("nu_svc", "nu_svr", "one_class"):
        words["nu"] = float(rng.choice([rng.uniform(0.02, 0.98), 10.0 ** rng.uniform(-2.0, 0.0)]))
    if task == "quantile":
        words["quantile"] = float(rng.choice([0.5, rng.uniform(0.02, 0.98)]))
    if task in ("nu_svc", "one_class"):
        del words["C"]
    return words


def _most_nu(y: NDArray[np.int64], weight: NDArray[np.float64] | None) -> float:
    """Return the largest nu that all pairs of classes allow."""
    sums = np.bincount(y, weight)
    return float(2.0 * sums.min() / (sums.min() + sums.max()))


def _kernel(rng: Any, X: NDArray[np.float32]) -> Figures:
    """Return a kernel whose matrix is positive semi-definite."""
    size = float(np.mean(np.sum(X.astype(np.float64) ** 2, axis=1)))
    spread = float(np.sum(X.astype(np.float64).var(axis=0)))
    name = str(rng.choice(["rbf", "poly", "linear", "sigmoid"], p=[0.65, 0.15, 0.1, 0.1]))
    far = size if name in ("poly", "sigmoid") else spread
    gamma = float(10.0 ** rng.uniform(-3.0, 3.0 if name == "rbf" else 0.5)) / max(far, 1e-6)
    shift = float(rng.choice([0.0, 1.0])) if name == "poly" else 0.0
    found = {"kernel": name, "gamma": gamma, "degree": int(rng.integers(2, 4)), "coef0": shift}
    if name == "sigmoid":
        values = np.linalg.eigvalsh(kernel_matrix(X, X, found))
        if values[0] < -1e-12 * values[-1]:
            found |= {"kernel": "rbf", "gamma": 1.0 / max(spread, 1e-6)}
    return found


SETS = {
    "mv": "regression",
    "fried": "regression",
    "cadata": "regression",
    "cpusmall": "regression",
    "kin40k": "regression",
    "protein": "regression",
    "ijcnn1": "classes",
    "covtype": "classes",
    "mnist": "classes",
}
"""The real sets, and whether they have targets or classes; of all of them rows for one class."""


def real(task: str, name: str, rows: int) -> Problem | None:
    """Return a task on rows of a real set, standardised; None where it has not its targets."""
    found = np.load(SHARED / f"{name}.npz")
    classes = SETS[name] == "classes"
    if (task in CLASSES) != classes and task != "one_class":
        return None
    order = np.random.default_rng(0).permutation(len(found["y_train"]))[: rows + TEST_ROWS]
    X = standard(found["X_train"][order].astype(np.float32))
    y = found["y_train"][order][:rows].astype(np.float64)
    words: Figures = {"C": 10.0, "epsilon": 0.1, "nu": 0.1, "quantile": 0.3}
    names = {"svr": ("C", "epsilon"), "squared_svr": ("C", "epsilon"), "nu_svr": ("C", "nu")}
    names |= {"quantile": ("C", "quantile"), "nu_svc": ("nu",), "one_class": ("nu",)}
    if classes:
        y = np.unique(y, return_inverse=True)[1]
        words["nu"] = 0.5 * _most_nu(y, None) if task == "nu_svc" else words["nu"]
    else:
        y = (y - y.mean()) / y.std()
    kernel = {"kernel": "rbf", "gamma": 1.0 / X.shape[1], "degree": 3, "coef0": 0.0}
    chosen = {one: words[one] for one in names.get(task, ("C",))}
    return Problem(task, X[:rows], X[rows:], y, None, kernel, chosen)
