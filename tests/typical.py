"""A typical run on the size of Covertype, for tests that only need sizes."""

from __future__ import annotations

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape

SETTINGS = Settings(
    kernel=Kernel("rbf", 32.0),
    C=32.0,
    fit_intercept=False,
    clusters=(256, 64, 16, 4),
    levels_forced=False,
    n_samples_clustering=1000,
    block_cap=8192,
    set_cap=8192,
    level_tol=1e-2,
    alone_tol=3e-4,
    seed=0,
    chunk_rows=65536,
)
GOALS = Goals(tol=1e-3, stop_at=0, max_rounds=1000)
COVTYPE = Shape(n_rows=464_810, n_variables=464_810, n_bytes=464_810 * 54 * 4)
