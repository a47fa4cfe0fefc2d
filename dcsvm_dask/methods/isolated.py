"""A model of rows of which none sees another by the kernel: it has learned nothing of new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, is_identity, spread_rows

if TYPE_CHECKING:
    from dcsvm_dask.methods.problem import Problem
    from dcsvm_dask.storage.node import Record

ROWS, MORE_ROWS = 2048, 65_536
"""Rows that are looked at first, and where they are isolated; samples, where there are more."""
FEW_TIMES = 4
"""Up to so many times `ROWS` all rows are looked at, without a first look at some."""
MANY = 0.5
"""Share of support vectors from which on a sample is believed: rows may see rows outside of it."""


def is_isolated(kernel: Kernel, n: int, support: int, take: Callable[[Any], Rows]) -> bool:
    """Return whether the kernel matrix of the rows that were trained on is the identity matrix.

    Parameters
    ----------
    kernel : Kernel
    n, support : int
        Number of the rows and of the support vectors among them.
    take : callable
        Returns some of the rows.
    """
    if not kernel.is_shift_invariant or (n > ROWS and support < MANY * n):
        return False
    looked_at = (MORE_ROWS,) if n <= FEW_TIMES * ROWS else (ROWS, MORE_ROWS)
    return all(is_identity(kernel, take(spread_rows(n, most))) for most in looked_at)


def isolation(problem: Problem, support: NDArray[np.int64] | None = None) -> Record:
    """Return ``isolated`` where a model is of that kind; else nothing.

    Parameters
    ----------
    problem : Problem
    support : ndarray, shape (n_support,), int64, optional
        Variables, of which one may come several times; by default all rows, as of a model of
        features, which has learned from each.
    """
    count = problem.n if support is None else np.count_nonzero(np.bincount(support))
    found = is_isolated(problem.settings.kernel, problem.n, int(count), problem.take)
    return {"isolated": True} if found else {}


def isolated_rows_warning(kernel: Kernel, support: int | None = None) -> str:
    """Return the text of the warning of such a model, of so many support vectors if it has any."""
    counted = "" if support is None else f" ({support:,} are support vectors)"
    return (
        f"the {kernel.name} kernel is 0 between different rows{counted}, so that the model "
        "says the same of every new row: scale the features, or lower gamma"
    )
