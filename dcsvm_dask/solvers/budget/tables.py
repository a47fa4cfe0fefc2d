"""Tables of the best merge of two support vectors, and of what it costs.

Two support vectors of one sign with coefficients a_i <= a_j become h x_i + (1 - h) x_j. With
m = a_i / (a_i + a_j) and kappa = K(x_i, x_j) of the RBF kernel, the best h maximises
s(h) = m kappa^((1 - h)^2) + (1 - m) kappa^(h^2), and the squared norm of what is lost is
(a_i + a_j)^2 wd with wd = m^2 + (1 - m)^2 + 2 m (1 - m) kappa - s^2 (Glasmachers, Qaadan, 2018,
section 3). Both depend on m and kappa alone, so that a table replaces the search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.compiled import njit
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.kinds import LN2

DEFINITION = 1
"""Number of the definition of the tables; another one makes files of older ones useless."""
SIZE, LEAST_SIZE, MOST_SIZE = 400, 2, 4096
"""Points of a table in each direction: usually, at least and at most."""
MOST_WD = 0.25
"""What a merge costs at most: with h = 0 it is m^2 (1 - kappa^2)."""
BISECTIONS = 40
"""They bring h to 1e-12."""

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}
INNER = {**OPTIONS, "no_cpython_wrapper": True}


@dataclass(frozen=True, slots=True)
class MergeTables:
    """Tables over m in [0, 1/2], row by row, and kappa in [0, 1], column by column.

    The lighter support vector is the first, so that m is at most 1/2: h jumps there where kappa is
    below e^-2, from the one of two equal maxima to the other, and no interpolation crosses that.

    Attributes
    ----------
    h : ndarray, shape (size, size), float64
        The best h, at most 1/2: the merged point is nearer to the heavier one.
    wd : ndarray, shape (size, size), float64
        What the merge costs, as a share of (a_i + a_j)^2.
    is_computed : bool, default False
        Whether `make` has computed them: a pickle then has their size alone.
    """

    h: NDArray[np.float64]
    wd: NDArray[np.float64]
    is_computed: bool = False

    @property
    def size(self) -> int:
        """Points in each direction."""
        return len(self.h)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.is_computed:
            return MergeTables.of, (self.size,)
        return MergeTables, (self.h, self.wd)

    @staticmethod
    def of(size: int = SIZE) -> MergeTables:
        """Return the tables of a size; a process computes them once, in a tenth of a second.

        `dcsvm_dask.storage.merge_tables.computed_tables` looks into the cache on disk before.
        """
        if size not in KNOWN:
            KNOWN[size] = MergeTables.make(size)
        return KNOWN[size]

    @classmethod
    def make(cls, size: int = SIZE) -> MergeTables:
        """Compute the tables, to 1e-12.

        Parameters
        ----------
        size : int, default 400
            Points in each direction, from 2.

        Raises
        ------
        InputError
        """
        if size < LEAST_SIZE:
            raise InputError(f"table_size is {size}: give at least {LEAST_SIZE} points.")
        h, wd = _tables(size)
        return cls(h, wd, is_computed=True)


KNOWN: dict[int, MergeTables] = {}
"""The computed tables of this process by their size."""


def cache_folder() -> Path | None:
    """Return the folder in which Numba keeps the compiled code of this file; None: it has none."""
    stats = getattr(_tables, "stats", None)  # absent with NUMBA_DISABLE_JIT
    return None if stats is None or not stats.cache_path else Path(stats.cache_path)


@njit(**OPTIONS)
def _tables(size: Any) -> Any:
    h, wd = np.empty((size, size)), np.empty((size, size))
    for row in range(size):
        m = 0.5 * row / (size - 1)
        for column in range(size):
            kappa = column / (size - 1)
            exponent = np.log2(kappa) if kappa > 0.0 else -np.inf
            h[row, column] = exact(m, exponent)
            wd[row, column] = lost(m, exponent, h[row, column])
    return h, wd


@njit(**INNER)
def exact(m: Any, exponent: Any) -> Any:
    """Return the best h of m <= 1/2 and log2 kappa, at which the derivative of s vanishes.

    On [0, 1/2] that rises first and falls then: there is one such h.
    """
    if exponent == -np.inf:
        return 0.0
    low, high = 0.0, 0.5
    for _ in range(BISECTIONS):
        h = 0.5 * (low + high)
        lighter = (1.0 - h) * m * power(exponent, (1.0 - h) * (1.0 - h))
        heavier = h * (1.0 - m) * power(exponent, h * h)
        if lighter > heavier:
            low = h
        else:
            high = h
    return 0.5 * (low + high)


@njit(**INNER)
def lost(m: Any, exponent: Any, h: Any) -> Any:
    """Return what a merge at h costs, as a share of (a_i + a_j)^2."""
    s = joined(m, exponent, h)
    kappa = power(exponent, 1.0)
    return max(0.0, m * m + (1.0 - m) * (1.0 - m) + 2.0 * m * (1.0 - m) * kappa - s * s)


@njit(**INNER)
def joined(m: Any, exponent: Any, h: Any) -> Any:
    """Return s(h): the coefficient of the merged point as a share of a_i + a_j."""
    rest = 1.0 - h
    return m * power(exponent, rest * rest) + (1.0 - m) * power(exponent, h * h)


@njit(**INNER)
def power(exponent: Any, factor: Any) -> Any:
    """Return kappa^factor from log2 kappa; kappa may be 0."""
    if factor == 0.0:
        return 1.0
    return math.exp(LN2 * exponent * factor)


@njit(**INNER)
def looked_up(table: Any, m: Any, kappa: Any) -> Any:
    """Return a table's value at m in [0, 1/2] and kappa in [0, 1], by bilinear interpolation."""
    last = table.shape[0] - 1
    u, v = 2.0 * m * last, kappa * last
    row, column = min(int(u), last - 1), min(int(v), last - 1)
    u, v = u - row, v - column
    upper = table[row, column] + v * (table[row, column + 1] - table[row, column])
    below = table[row + 1, column] + v * (table[row + 1, column + 1] - table[row + 1, column])
    return upper + u * (below - upper)


GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


@njit(**INNER)
def golden_section(m: Any, exponent: Any, tol: Any) -> Any:
    """Return h in [0, 1/2] by golden section search until the interval is shorter than `tol`."""
    low, high = 0.0, 0.5
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = joined(m, exponent, left), joined(m, exponent, right)
    while high - low > tol:
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = joined(m, exponent, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = joined(m, exponent, right)
    return 0.5 * (low + high)
