"""The real problems that trainers are compared on, as design and papers prepare them.

The archives are looked for in ``shared/data`` beside the checkout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
ROUND_DIGITS = (0, 3, 6, 8, 9)


@dataclass(frozen=True)
class Task:
    """Rows of two classes, -1 and +1, or of many, with the parameters of the machine."""

    name: str
    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    C: float
    gamma: float


def covtype(rows: int) -> Task:
    """Return forest type 2 against the rest: scaled by all rows, permuted, a prefix."""
    found = np.load(SHARED / "covtype.npz")
    X, y = found["X_train"].astype(np.float32), found["y_train"]
    low, high = X.min(axis=0), X.max(axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    X = ((X - low) / np.where(high > low, high - low, 1))[order].astype(np.float32)
    y = y[order]
    last = 484_810 if rows < 464_810 else len(X)
    test = slice(464_810, last)
    return Task(f"covtype-{rows}", X[:rows], y[:rows], X[test], y[test], C=32.0, gamma=32.0)


def ijcnn1() -> Task:
    """Return the official split, as it is."""
    return Task("ijcnn1", *_official("ijcnn1"), C=32.0, gamma=2.0)


def a9a() -> Task:
    """Return the official split, sparse."""
    return Task("a9a", *_official("a9a"), C=32.0, gamma=2.0**-7)


def magic() -> Task:
    """Return gamma rays against hadrons, each feature with mean zero and standard deviation one."""
    found = plain("magic", standard)()
    return Task("magic", found.X, found.y, found.X_test, found.y_test, C=1.0, gamma=0.1)


def generated(rows: int) -> Task:
    """Return rows about 200 centres in ten dimensions, 0.2 % of them with the other label."""
    draw = np.random.default_rng(0)
    centres = draw.random((200, 10), dtype=np.float32)
    of = draw.integers(len(centres), size=rows + 10_000)
    X = centres[of] + draw.normal(0.0, 0.06, size=(len(of), 10)).astype(np.float32)
    y = np.where((of % 2 == 0) ^ (draw.random(len(of)) < 0.002), 1, -1)
    name = f"generated-{rows}"
    return Task(name, X[:rows], y[:rows], X[rows:], y[rows:], C=1.0, gamma=20.0)


def adult_shape(rows: int) -> Task:
    """Return rows like those of a9a: of each a quarter of the attributes comes from another row.

    Labels are those of the first row: what the other attributes would say is noise. Nearly half
    of the rows are support vectors.
    """
    real = a9a()
    X = np.asarray(real.X)
    # An attribute is a run of features of which a row has one at most.
    groups, met = np.zeros(X.shape[1], np.int64), X[:, 0].copy()
    for feature in range(1, X.shape[1]):
        groups[feature] = groups[feature - 1]
        if (met * X[:, feature]).any():
            groups[feature], met = groups[feature] + 1, np.zeros(len(X), X.dtype)
        met += X[:, feature]
    draw = np.random.default_rng(0)
    first, other = draw.integers(len(X), size=(2, rows + 10_000))
    swapped = (draw.random((len(first), groups[-1] + 1)) < 1 / 4)[:, groups]
    made = sparse.csr_array(np.where(swapped, X[other], X[first]))
    y, test = real.y[first], slice(rows, None)
    return Task(f"adult-{rows}", made[:rows], y[:rows], made[test], y[test], real.C, real.gamma)


def mnist() -> Task:
    """Return round digits against the rest, pixels in [0, 1]."""
    ten = mnist_classes()
    y, y_test = (np.where(np.isin(part, ROUND_DIGITS), 1, -1) for part in (ten.y, ten.y_test))
    return Task("mnist", ten.X, y, ten.X_test, y_test, C=1.0, gamma=0.031)


def mnist_classes() -> Task:
    """Return all ten digits, pixels in [0, 1]."""
    X, y, X_test, y_test = _official("mnist")
    X, X_test = (part.astype(np.float32) / np.float32(255) for part in (X, X_test))
    return Task("mnist, 10 classes", X, y, X_test, y_test, C=10.0, gamma=0.02)


def labelled(name: str, rows: int | None = None, unit: Any = 1) -> tuple[Any, NDArray[np.int64]]:
    """Return the first train rows, divided by a unit, with the labels of all their classes."""
    found = np.load(SHARED / f"{name}.npz")
    y = found["y20_train" if "y20_train" in found else "y_train"]
    return _rows(found, "train")[:rows] / unit, y[:rows]


def plain(name: str, scale: Callable[[Any], Any] = lambda X: X) -> Callable[[], Task]:
    """Return how to make the task of a set's train part, shuffled; its last rows are the test."""

    def task() -> Task:
        found = np.load(SHARED / f"{name}.npz")
        X, y = scale(_rows(found, "train")), found["y_train"]
        if len(np.unique(y)) > 2:
            y = np.where(y % 2 == 0, 1, -1)
        order = np.random.default_rng(0).permutation(len(y))
        last = max(1, len(y) // 10)
        (train, test) = order[:-last], order[-last:]
        return Task(name, X[train], y[train], X[test], y[test], C=1.0, gamma=1.0)

    return task


def prefix(task: Task, rows: int) -> Task:
    """Return a task of at most so many of the training and of the test rows."""
    return Task(
        task.name,
        task.X[:rows],
        task.y[:rows],
        task.X_test[:rows],
        task.y_test[:rows],
        task.C,
        task.gamma,
    )


def standard(X: Any) -> Any:
    """Return rows with mean zero and standard deviation one."""
    spread = X.std(axis=0)
    return ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)).astype(np.float32)


def unit_range(X: Any) -> Any:
    """Return rows scaled to [0, 1], each feature by its own range."""
    low, high = X.min(axis=0), X.max(axis=0)
    return ((X - low) / np.where(high > low, high - low, 1)).astype(np.float32)


SETS: dict[str, Callable[[], Task]] = {
    "heart_scale": plain("heart_scale"),
    "german_numer": plain("german_numer", standard),
    "phishing": plain("phishing"),
    "usps": plain("usps"),
    "cod-rna": plain("cod-rna", standard),
    "skin_nonskin": plain("skin_nonskin", lambda X: X / np.float32(255)),
    "ijcnn1": plain("ijcnn1"),
    "covtype": plain("covtype", unit_range),
    "kddcup99_10pct": plain("kddcup99_10pct", unit_range),
    "a9a": plain("a9a"),
    "w8a": plain("w8a"),
    "census_income_kdd_test": plain("census_income_kdd_test", unit_range),
    "mnist": plain("mnist", lambda X: X / np.float32(255)),
    "reuters_money_fx": plain("reuters_money_fx"),
    "news20_tfidf": plain("news20_tfidf"),
}

TASKS: dict[str, Callable[[], Task]] = {
    "ijcnn1": ijcnn1,
    "a9a": a9a,
    "magic": magic,
    "mnist": mnist,
    "covtype-10000": lambda: covtype(10_000),
    "covtype-50000": lambda: covtype(50_000),
    "covtype-100000": lambda: covtype(100_000),
    "covtype-464810": lambda: covtype(464_810),
    "generated-100000": lambda: generated(100_000),
    "generated-1000000": lambda: generated(1_000_000),
}


def _official(name: str) -> tuple[Any, NDArray[np.int64], Any, NDArray[np.int64]]:
    found = np.load(SHARED / f"{name}.npz")
    rows = [_rows(found, part) for part in ("train", "test")]
    return rows[0], found["y_train"], rows[1], found["y_test"]


def _rows(found: Any, part: str) -> Any:
    if f"X_{part}" in found:
        return found[f"X_{part}"].astype(np.float32)
    data, indices, indptr, shape = (
        found[f"X_{part}_{key}"] for key in ("data", "indices", "indptr", "shape")
    )
    return sparse.csr_matrix((data.astype(np.float32), indices, indptr), shape=tuple(shape))
