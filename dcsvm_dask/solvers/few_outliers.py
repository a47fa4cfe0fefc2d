"""The one-class SVM of few support vectors, by few rows of the kernel matrix.

Support vectors are the rows that see least of the others, which the mean of some kernel rows shows
before anything is solved: of a small nu the rows of the kernel matrix that steps ask for are little
more than theirs, and most of these are known at the start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, spread_rows
from dcsvm_dask.kernels.row_by_row import KernelRows
from dcsvm_dask.solvers.on_demand import solve_by_rows, suits
from dcsvm_dask.solvers.solution import Solution
from dcsvm_dask.solvers.sums import brought_to_sums
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

SAMPLE = 64
"""Kernel rows whose mean orders the rows at the start."""
MOST_STARTED = 0.2
"""Share of the rows that begin with a variable, at most: beyond, half of the matrix costs less."""
MOST_ASKED, MORE = 0.5, 256
"""Share of the rows that may be asked for, at most twice as many as at the start and so many."""
MOST_VALUES = 16_000_000
"""Kernel values, at most: of more rows random subsets predict the solution sooner."""


def solve_few_outliers(
    kernel: Kernel,
    X: Rows,
    dual: Dual,
    total: float,
    *,
    most_bytes: float = np.inf,
    tol: float = 1e-3,
    inner: str = "auto",
    threads: int = 1,
    callback: Callable[[int, float], object] | None = None,
) -> tuple[Solution | None, int]:
    """Solve the one-class SVM, where few of the rows are support vectors.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
        Of a `OneClass`.
    total : float
        The sum of the variables.
    most_bytes : float, optional
        For kernel rows.
    tol, inner, callback
        As for `solve_on_demand`.
    threads : int, default 1

    Returns
    -------
    solution : Solution or None
        None where rows are few, or more of them are needed than pays, and as of `solve_on_demand`.
    kernel_values : int
    """
    n = len(dual)
    largest = np.sort(dual.upper)[::-1].cumsum()
    started = SAMPLE + 1 + int(np.searchsorted(largest, total))
    if not suits(X, dual) or started - SAMPLE > MOST_STARTED * n:
        return None, 0
    most = min(2 * started + MORE, int(MOST_ASKED * n))
    if most * n > MOST_VALUES or 8.0 * (most + 1) * n > most_bytes:
        return None, 0
    rows = KernelRows(kernel, X, most + 1)
    sample = spread_rows(n, SAMPLE)
    rows.add(sample, threads)
    seen = dual.upper[sample] @ rows.K[: len(sample)]
    start = brought_to_sums(np.zeros(n), dual, [total], seen)
    own = np.flatnonzero(start)
    if len(own) + SAMPLE > most:
        return None, len(rows) * n
    rows.add(own, threads)
    how: dict[str, Any] = {"tol": tol, "inner": inner, "callback": callback}
    return solve_by_rows(rows, dual, start, [(most, 0.0)], **how), len(rows) * n
