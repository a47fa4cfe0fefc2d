"""The candidates of greedy basis selection, and what each would gain."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, kernel_matrix, stacked
from dcsvm_dask.kernels.kernel import kernel_diagonal
from dcsvm_dask.solvers.greedy.weights import Machine

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

STOCK = 128
"""Rows whose columns are made at a time: of few it takes half as much longer."""


@dataclass(slots=True)
class Pool:
    """Rows that may join the basis, at random, with their kernel columns at hand."""

    machine: Machine
    n: int
    size: int
    random: np.random.Generator
    nothing: float
    """Gains below this, relative to the objective, are rounding."""
    rows: Index = field(init=False)
    Z: Rows = field(init=False)
    columns: int = 0
    """Columns made so far, those of a basis to begin with among them."""
    free: NDArray[np.bool_] = field(init=False)
    """Places whose row may be chosen."""
    gains: Vector = field(init=False)
    stock: Index = field(init=False)
    """Rows whose columns are made, but that are not candidates yet from place `used` on."""
    stock_rows: Rows = field(init=False)
    used: int = 0

    def __post_init__(self) -> None:
        self.rows = np.full(self.size, -1, np.int64)
        self.free = np.zeros(self.size, np.bool_)
        self.gains = np.zeros(self.size)
        self.Z = None
        self.stock = np.empty(0, np.int64)
        self.columns = len(self.machine.basis)

    def begin(self, rows: Index) -> None:
        """Fill the pool: with some rows, and others at random."""
        if len(rows):
            self._stock(rows)
            self._fill(np.arange(len(rows)))
        self.renew(np.arange(len(rows), self.size))

    def best(self) -> int | None:
        """Return the place of the candidate that gains most, if any gains at all."""
        for again in (True, False):
            self.score()
            place = int(np.argmax(self.gains))
            if self.gains[place] > self.nothing * self.machine.objective:
                return place
            if again:
                self.renew(np.arange(self.size))
        return None

    def score(self) -> None:
        """Find what a Newton step in each candidate's weight alone would gain."""
        machine = self.machine
        slope, curvature = machine.sum("scores")
        if machine.Z is not None:
            K = kernel_matrix(machine.kernel, self.Z, machine.Z, dtype=np.float64)
            slope = slope + K @ machine.weights[machine.offset :]
        curvature = curvature + kernel_diagonal(machine.kernel, self.Z)
        useful = self.free & (curvature > 0.0)
        gains = 0.5 * slope**2 / np.where(useful, curvature, 1.0)
        self.gains = np.where(useful, gains, 0.0)

    def taken(self, place: int) -> None:
        """Let the candidate go that joined the basis, and the worse half of the others."""
        self.free[place] = False
        self.gains[place] = 0.0
        worst = np.argsort(np.where(self.free, self.gains, -1.0), kind="stable")
        self.renew(np.sort(worst[: max(1, self.size // 2)]))

    def renew(self, places: Index) -> None:
        """Put other rows into some places, at random from those that are not in use."""
        while len(places):
            if self.used == len(self.stock):
                idle = np.ones(self.n, np.bool_)
                idle[self.machine.basis] = False
                idle[self.rows[self.free]] = False
                others = np.flatnonzero(idle)
                count = min(max(STOCK, len(places)), len(others))
                self._stock(self.random.choice(others, count, replace=False))
            count = min(len(places), len(self.stock) - self.used)
            if count == 0:
                self.free[places] = False
                return
            self._fill(places[:count])
            places = places[count:]

    def _stock(self, rows: Index) -> None:
        """Make the columns of rows that become candidates in turn."""
        self.stock, self.used = rows, 0
        if len(rows):
            self.stock_rows = self.machine.rows(rows)
            self.machine.everywhere("stock", self.stock_rows)
            self.columns += len(rows)

    def _fill(self, places: Index) -> None:
        """Make the next rows in stock candidates, in some places of the pool."""
        chosen = slice(self.used, self.used + len(places))
        self.used += len(places)
        Z = self.stock_rows[chosen]
        self.machine.everywhere("offer", places, chosen)
        self.rows[places] = self.stock[chosen]
        self.free[places] = True
        if self.Z is None:
            # Fewer rows than places: those left over are never free, but have to be there.
            self.Z = Z[np.resize(np.arange(len(places)), self.size)]
        else:
            keep = np.arange(self.size)
            keep[places] = self.size + np.arange(len(places))
            self.Z = stacked([self.Z, Z])[keep]
