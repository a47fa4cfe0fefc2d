"""The data sets of the runs: the demo's, and small ones of scikit-learn or of random numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def moons(n: int = 1200, noise: float = 0.25) -> tuple[Any, Any]:
    """Return rows of which a kernel of gamma 8 sees few others."""
    from sklearn.datasets import make_moons

    return make_moons(n, noise=noise, random_state=0)


def sparse_rows() -> tuple[Any, Any]:
    """Return rows of few cells."""
    from scipy import sparse

    random = np.random.default_rng(0)
    X = sparse.random_array((900, 60), density=0.1, rng=random, format="csr")
    return X, np.where(X[:, :30].sum(axis=1) > X[:, 30:].sum(axis=1), 1, -1)


def weighted() -> dict[str, Any]:
    """Return rows of several weights, some of them repeated with the other class, too."""
    X, y = moons(800)
    X, y = np.vstack([X, X[:200], X[:50]]), np.concatenate([y, y[:200], 1 - y[:50]])
    return {"source": (X, y), "weights": np.random.default_rng(1).choice([0.5, 1, 3], len(y))}


def digits(n: int = 700) -> tuple[Any, Any]:
    """Return rows of ten classes."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:n] / 16, y[:n]


def three_classes() -> tuple[Any, Any]:
    """Return rows of three classes with names, which overlap."""
    from sklearn.datasets import make_blobs

    X, y = make_blobs(900, centers=3, n_features=4, cluster_std=3.0, random_state=0)
    return X, np.array(["red", "green", "blue"])[y]


def sparse_classes() -> tuple[Any, Any]:
    """Return rows of few cells and of three classes."""
    X, y = sparse_rows()
    return X, np.where(X[:, :20].sum(axis=1) > 1.2, 2, y)


def cancer() -> tuple[Any, Any]:
    """Return rows that all see each other."""
    from sklearn.datasets import load_breast_cancer

    return load_breast_cancer(return_X_y=True)


def demo() -> dict[str, Any]:
    """Return the demo's rows as its pipeline file has them."""
    import dcsvm_dask

    source = Path(dcsvm_dask.__file__).parent / "demo" / "covtype.csv.xz"
    words = {"label": "lodgepole_pine", "scale": "minmax", "test_fraction": 0.2, "seed": 0}
    return {"source": source, **words}


def repeated() -> tuple[Any, Any]:
    """Return rows most of which are repeats of each other."""
    X, y = moons(1500)
    return np.round(X * 4) / 4, y


DATA: dict[str, Callable[[], dict[str, Any]]] = {
    "demo": demo,
    "covtype": lambda: {**demo(), "train_rows": 1500},
    "moons": lambda: {"source": moons(), "test_fraction": 0.2, "scale": "standard"},
    "chunks": lambda: {"source": moons(6000), "chunk_rows": 1000},
    "repeated": lambda: {"source": repeated()},
    "weighted": weighted,
    "sparse": lambda: {"source": sparse_rows(), "scale": "unit"},
    "words": lambda: {"source": sparse_classes()},
    "cancer": lambda: {"source": cancer(), "scale": "standard", "test_fraction": 0.2},
    "digits": lambda: {"source": digits()},
    "colours": lambda: {"source": three_classes(), "scale": "minmax"},
}
"""What `ingest` is given, by name."""
