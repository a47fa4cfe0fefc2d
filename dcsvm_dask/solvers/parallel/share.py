"""A share of the variables: its rows, where it stands, and what a step does to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import ColumnCache, Kernel, Rows, is_sparse, kernel_product
from dcsvm_dask.solvers.parallel.candidates import Candidates, candidates_of
from dcsvm_dask.solvers.parallel.column_room import ROOM
from dcsvm_dask.tasks import Dual

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

KEPT_FROM = 96
"""Features from which a kernel value costs more than keeping it, in dense rows."""


def are_costly(X: Rows) -> bool:
    """Whether kernel values of rows cost more than keeping them, or than steps of SMO."""
    return is_sparse(X) or X.shape[1] >= KEPT_FROM


@dataclass(slots=True, weakref_slot=True, eq=False)
class ShareRows:
    """The rows of a share and their problem, with kernel columns that are kept between steps.

    Products do not depend on what is kept.

    Attributes
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    dual : Dual
    start : int
        The number of its first variable.
    budget : float
        What a product may lose by leaving out far pairs of rows; see `kernel_product`.
    cache_bytes : int
        Memory of kept columns of all shares of a process together; see `ColumnRoom`.
    """

    kernel: Kernel
    X: Rows
    dual: Dual
    start: int
    budget: float = 0.0
    cache_bytes: int = 0
    _cache: ColumnCache | None = field(default=None, repr=False)
    _room: int = 0

    def __post_init__(self) -> None:
        """Ask for a part of the process's memory for columns."""
        if self.keeps_columns:
            ROOM.enter(self)

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.dual)

    def __sizeof__(self) -> int:
        """Return the bytes of the rows: they stay where they are."""
        stored = (self.X.data, self.X.indices) if is_sparse(self.X) else (self.X,)
        return sum(int(one.nbytes) for one in stored) + 24 * len(self)

    def __getstate__(self) -> tuple[Any, ...]:
        """Return what another process gets: kept columns are scratch."""
        return self.kernel, self.X, self.dual, self.start, self.budget, self.cache_bytes

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        """Take over what another process had."""
        self.kernel, self.X, self.dual, self.start, self.budget, self.cache_bytes = state
        self._cache, self._room = None, 0
        self.__post_init__()

    @property
    def keeps_columns(self) -> bool:
        """Whether columns are worth keeping; it depends on the rows alone."""
        return are_costly(self.X)

    def product(self, index: Index, Z: Rows, w: Vector, threads: int = 1) -> Vector:
        """Return sum_j K(x_i, z_j) w_j for the rows of the share.

        Parameters
        ----------
        index : ndarray of int64, shape (m,)
            The numbers of the variables whose rows z_j are.
        Z : ndarray or CSR, shape (m, d), float32
        w : ndarray, shape (m,), float64
        threads : int, default 1
        """
        if not self.keeps_columns:
            sums, _ = kernel_product(self.kernel, self.X, Z, w, budget=self.budget, threads=threads)
            return np.asarray(sums)
        room = ROOM.of(self, self.cache_bytes)
        if self._cache is None or room != self._room:
            self._cache = None  # before the new one is there
            self._cache, self._room = ColumnCache(self.kernel, self.X, room), room
        return self._cache.product(index, Z, w, threads)

    @property
    def columns(self) -> tuple[int, int]:
        """Columns that were taken, and those that had to be computed, by this process."""
        return (0, 0) if self._cache is None else (self._cache.used, self._cache.made)


@dataclass(frozen=True, slots=True)
class Share:
    """Where the variables of a share stand.

    Attributes
    ----------
    beta, f : ndarray, shape (n,), float64
        Variables, and decision values without the bias.
    entering : int
        Most variables that may enter the next working set.
    spare : float or None
        See `Dual.spare`; of all shares together.
    """

    beta: Vector
    f: Vector
    entering: int
    spare: float | None = None

    def __sizeof__(self) -> int:
        """Return the bytes of its arrays."""
        return int(self.beta.nbytes + self.f.nbytes)

    def candidates(self, rows: ShareRows) -> Candidates:
        """Return the variables that violate most."""
        dual = replace(rows.dual, spare=self.spare)
        gradient = dual.gradient(self.f, self.beta)
        return candidates_of(gradient, self.beta, dual, start=rows.start, most=self.entering)

    def members(self, rows: ShareRows, index: Index) -> Members:
        """Return the rows of those variables of a working set that are of this share."""
        mine = index[
            np.searchsorted(index, rows.start) : np.searchsorted(index, rows.start + len(rows))
        ]
        at = mine - rows.start
        return Members(rows.X[at], rows.dual[at], self.beta[at], self.f[at])

    def after(self, rows: ShareRows, step: Step, threads: int = 1) -> Share:
        """Return the share after a step.

        Parameters
        ----------
        rows : ShareRows
        step : Step
        threads : int, default 1
        """
        f = self.f + rows.product(step.index, step.X, step.change, threads)
        beta = self.beta.copy()
        first, last = np.searchsorted(step.index, (rows.start, rows.start + len(rows)))
        beta[step.index[first:last] - rows.start] = step.beta[first:last]
        return replace(self, beta=beta, f=f, entering=step.entering, spare=step.spare)


@dataclass(frozen=True, slots=True)
class Members:
    """Variables of a working set: rows, problem, and where they stand."""

    X: Rows
    dual: Dual
    beta: Vector
    f: Vector

    def at(self, rows: Index) -> Members:
        """Return some of them."""
        return Members(self.X[rows], self.dual[rows], self.beta[rows], self.f[rows])


@dataclass(frozen=True, slots=True)
class Step:
    """What a working set's solution changes.

    Attributes
    ----------
    index : ndarray of int64, shape (m,)
        The variables that have moved, ascending.
    X : ndarray or CSR, shape (m, d), float32
    change, beta : ndarray, shape (m,), float64
        By how much, and where they are now.
    entering, spare
        See `Share`.
    """

    index: Index
    X: Rows
    change: Vector
    beta: Vector
    entering: int
    spare: float | None
