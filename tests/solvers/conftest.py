"""Problems for the solvers' tests: kernels in float64 by NumPy, references made elsewhere."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

REFERENCES = Path(__file__).resolve().parents[1] / "references"


@pytest.fixture(scope="session")
def make_svc() -> ModuleType:
    """Return the script that made the references: its problems and its kernel."""
    spec = importlib.util.spec_from_file_location("make_svc", REFERENCES / "make_svc.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def problem(make_svc: ModuleType, shared_data: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a loader of (X, y) by the name of a data set, as the references had them."""
    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        if name not in loaded:
            loaded[name] = make_svc.problem(name, shared_data(name))
        return loaded[name]

    return load


@pytest.fixture(scope="session")
def magic(magic_rows: Callable[[int], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Return 1,200 standardised rows of magic in float32, and their signs."""
    X, y = magic_rows(1200)
    return X.astype(np.float32), np.where(y > 0, 1.0, -1.0)


@pytest.fixture
def blobs() -> Callable[..., Any]:
    """Return a maker of small two-class problems: kernel matrix and labels."""

    def make(n: int = 60, seed: int = 0, gamma: float = 0.5) -> Any:
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 3))
        y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0.0, 1.0, -1.0)
        squares = ((X[:, None] - X) ** 2).sum(axis=2)
        return np.exp(-gamma * squares), y

    return make
