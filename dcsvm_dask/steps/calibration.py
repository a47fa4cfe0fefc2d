"""Measuring a worker and a sample of the data, for the plan alone: no result rests on it."""

from __future__ import annotations

import math
import time

import numpy as np
import psutil
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, kernel_matrix, kernel_product
from dcsvm_dask.solvers import bias, solve_smo
from dcsvm_dask.solvers.online_slots import BATCH, OnlineExpansion
from dcsvm_dask.solvers.subsets import SUBSET_TOL
from dcsvm_dask.solvers.working_sets import FORESEEN
from dcsvm_dask.steps.settings import Settings

TIMED_ROWS = 1024
TIMES = 5
SOLVING = 2.0
"""A kernel value with the steps that the solver takes on it, over one of a product."""
SUBSET_ROWS = 1500
LEARNED_ROWS = 4096
FLATTER = 0.05
"""What the power by which an expansion grows is less than that between a sample and its half."""


def resident_bytes() -> int:
    """Return the memory that this process takes now."""
    return int(psutil.Process().memory_info().rss)


def time_of_value(settings: Settings, X: Rows) -> float:
    """Return the seconds of a core for one kernel value of a sample's rows, while solving."""
    rows = X[:TIMED_ROWS]
    coef = np.ones(rows.shape[0])
    took = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        kernel_product(settings.kernel, rows, rows, coef)
        took.append(time.perf_counter() - begin)
    return SOLVING * float(np.median(took)) / int(rows.shape[0]) ** 2


def kept_share(settings: Settings, X: Rows, y: NDArray[np.float64], n_variables: int) -> float:
    """Estimate which share of all rows LaSVM keeps, by how its expansion grows over a few.

    It grows as a power of the rows that were looked at, which becomes smaller slowly.
    """
    m = int(X.shape[0])
    C = np.full(m, settings.C)
    some = OnlineExpansion(
        settings.kernel,
        X,
        y,
        C,
        np.zeros(m),
        equality=settings.fit_intercept,
        tol=settings.level_tol,
        cache_bytes=8 * m**2,
    )
    kept = []
    for part in np.array_split(np.arange(m), 2):
        for at in range(0, len(part), BATCH):
            some.learn(part[at : at + BATCH], 1)
        kept.append(max(1, len(some.live)))
    power = math.log2(kept[-1] / kept[0]) - FLATTER
    more = max(n_variables, m) / m
    return float(kept[-1] / m * more ** (min(max(power, 0.4), 1.0) - 1.0))


def working_set_share(
    settings: Settings, X: Rows, y: NDArray[np.float64], n_variables: int
) -> float:
    """Estimate which share of all rows the first working set holds, by the machine of a few."""
    m = min(SUBSET_ROWS, X.shape[0] // 2)
    if m < 2:
        return 1.0
    C = np.full(m, settings.C * n_variables / m)
    K = kernel_matrix(settings.kernel, X[:m])
    found = solve_smo(K, y[:m], C, equality=settings.fit_intercept, tol=SUBSET_TOL)
    offset = 0.0
    if settings.fit_intercept:
        offset = bias(found.gradient, found.alpha, y[:m], C)
    f, _ = kernel_product(settings.kernel, X[m:], X[:m], y[:m] * found.alpha)
    return float(np.mean(1.0 - y[m:] * (f + offset) >= -FORESEEN))
