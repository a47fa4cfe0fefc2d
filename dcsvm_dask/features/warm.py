"""Compiling the room at a moment of the caller's choice."""

from __future__ import annotations

import numpy as np

from dcsvm_dask.features.fastfood import Fastfood
from dcsvm_dask.kernels import Kernel


def warm_up() -> None:
    """Compile, or load from Numba's cache, what this room adds to kernels and clustering."""
    X = np.eye(4, dtype=np.float32)
    Fastfood.draw(Kernel("rbf"), 4, 8, np.random.default_rng(0)).transform(X)
