"""The expansion of the online solver: its room, its cache, and the kernel values it needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, counted_kernel_matrix, kernel_product
from dcsvm_dask.kernels.kernel import kernel_diagonal
from dcsvm_dask.solvers.online_arrays import (
    FILLED,
    FREE,
    HIGH,
    LIVE,
    STEPS,
    TAKEN,
    Batch,
    Slots,
    claim,
)
from dcsvm_dask.solvers.online_steps import process, reprocess, violation

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

# Rows whose kernel values are made together.
BATCH = 256
_LEAST_CACHED = 4
# Kernel rows made together when one is missing.
_FETCHED = 16
# Steps times rows between two returns to Python, some 50 ms.
_WORK = 50_000_000
# Of the tolerance: what recomputed slopes may differ by from those kept up to date.
_AIM = 0.9


class OnlineExpansion:
    """The rows that carry the solution, with their slopes and as many kernel rows as fit.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d), float32
    y, C : ndarray, shape (n,)
    beta : ndarray, shape (n,)
        Where to start, signed.
    equality : bool
    tol : float
    cache_bytes : int
        Of kernel rows; those used longest ago make room.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        y: Vector,
        C: Vector,
        beta: Vector,
        *,
        equality: bool,
        tol: float,
        cache_bytes: int,
    ) -> None:
        self.kernel, self.X, self.y, self.C = kernel, X, y, C
        self.equality, self.tol, self.cache_bytes = equality, tol, cache_bytes
        self.diagonal = kernel_diagonal(kernel, X)
        self.kernel_values = self.fetched = 0
        support = np.flatnonzero(beta)
        m = len(support)
        self.slots = self._room(m)
        S = self.slots
        S.rows[:m], S.slot_of[support] = support, np.arange(m)
        S.beta[:m], S.diagonal[:m] = beta[support], self.diagonal[support]
        S.lower[:m] = np.where(y[support] > 0, 0.0, -C[support])
        S.upper[:m] = np.where(y[support] > 0, C[support], 0.0)
        S.counts[[HIGH, LIVE]] = m
        self.recompute()

    @property
    def live(self) -> Index:
        """The slots in use, ascending."""
        return np.flatnonzero(self.slots.rows[: self.slots.counts[HIGH]] >= 0)

    @property
    def taken(self) -> int:
        """Rows that have joined."""
        return int(self.slots.counts[TAKEN])

    @property
    def n_iter(self) -> int:
        """Steps so far."""
        return int(self.slots.counts[STEPS])

    def learn(self, rows: Index, samples: int) -> None:
        """PROCESS the worst of each group of so many rows, and REPROCESS once after each.

        Groups stay together if `BATCH` is a multiple of their size.
        """
        outside = rows[self.slots.slot_of[rows] < 0] if samples == 1 else rows
        if len(outside):
            self._make_room(len(outside))
            batch = self._batch(outside)
            place = np.zeros(2, np.int64)
            self._run(lambda S: process(S, batch, samples, self.equality, self.tol, place))
        if len(outside) < len(rows):
            self.reprocess(self.tol, len(rows) - len(outside))

    def reprocess(self, tol: float, most: int) -> None:
        """Take at most so many steps on the expansion alone, while it violates by more."""
        last = self.n_iter + most
        self._run(lambda S: reprocess(S, self.equality, tol, last - int(S.counts[STEPS])))

    def finish(self, most: int, tell: Callable[[], None]) -> float:
        """Solve the problem of the expansion; return the violation by slopes made from scratch.

        Tells every 50 ms or so.
        """
        last = self.n_iter + most
        best = np.inf
        while True:
            self._make_room(0)
            left = violation(self.slots, self.equality)
            aim = _AIM * self.tol
            while left > aim and self.n_iter < last:
                self.reprocess(aim, min(last - self.n_iter, 1 + _WORK // len(self.slots.rows)))
                left = violation(self.slots, self.equality)
                tell()
            self.recompute()
            left = float(violation(self.slots, self.equality))
            if left <= self.tol or self.n_iter >= last or not left < 0.5 * best:
                return left
            best = left

    def recompute(self) -> None:
        """Sum the slopes from scratch."""
        S, live = self.slots, self.live
        if len(live) == 0:
            return
        rows = S.rows[live]
        Z = self.X[rows]
        f, computed = kernel_product(self.kernel, Z, Z, S.beta[live], tol=0.1 * self.tol)
        S.g[live] = self.y[rows] - f
        self.kernel_values += computed

    def _run(self, work: Callable[[Slots], int]) -> None:
        """Call compiled work until no kernel row is missing."""
        while (slot := work(self.slots)) >= 0:
            S, live = self.slots, self.live
            wanted = np.append(self._next(slot), slot)
            K, computed = counted_kernel_matrix(
                self.kernel, self.X[S.rows[live]], self.X[S.rows[wanted]]
            )
            for k, other in enumerate(wanted):
                S.cache[claim(S, other), live] = K[:, k]
            self.kernel_values += computed
            self.fetched += len(wanted)

    def _next(self, slot: int) -> Index:
        """Return slots without a kernel row, besides one, that will soon need theirs."""
        S, high = self.slots, self.slots.counts[HIGH]
        beta, g = S.beta[:high], S.g[:high]
        up = np.where(beta < S.upper[:high], g, -np.inf)
        down = np.where(beta > S.lower[:high], g, np.inf)
        middle = 0.5 * (up.max() + down.min()) if self.equality else 0.0
        reach = np.maximum(up - middle, middle - down)
        reach[S.where[:high] >= 0] = reach[slot] = -np.inf
        others = np.flatnonzero(reach > 0.0)
        most = min(_FETCHED, len(S.holder) // _LEAST_CACHED) - 1
        return others[np.argsort(-reach[others], kind="stable")[:most]]

    def _batch(self, rows: Index) -> Batch:
        S, live = self.slots, self.live
        X = self.X[rows]
        K = np.zeros((len(rows), len(S.rows)), np.float32)
        own, computed = counted_kernel_matrix(self.kernel, X)
        if len(live):
            K[:, live], more = counted_kernel_matrix(self.kernel, X, self.X[S.rows[live]])
            computed += more
        if not (np.isfinite(own).all() and np.isfinite(K).all()):
            raise InputError("the kernel has values that are not finite: see the data.")
        self.kernel_values += computed
        return Batch(rows, K, own, self.y[rows], self.C[rows], self.diagonal[rows])

    def _make_room(self, more: int) -> None:
        """Have slots for so many more rows; close the gaps where they have become many."""
        S = self.slots
        high, live = int(S.counts[HIGH]), int(S.counts[LIVE])
        if high + more > len(S.rows) or 4 * live < 3 * high - BATCH:
            kept = self.live
            self.slots = self._room(live + more)
            self._move(S, kept)

    def _room(self, rows: int) -> Slots:
        # A quarter of slack: wide rows leave room for few.
        capacity = rows + rows // 4 + 2 * BATCH
        cached = min(capacity, max(_LEAST_CACHED, self.cache_bytes // (4 * capacity)))
        none = np.full(capacity, -1, np.int64)
        return Slots(
            rows=none,
            beta=np.zeros(capacity),
            g=np.zeros(capacity),
            lower=np.zeros(capacity),
            upper=np.zeros(capacity),
            diagonal=np.zeros(capacity),
            where=none.copy(),
            free=np.zeros(capacity, np.int64),
            slot_of=np.full(len(self.y), -1, np.int64),
            cache=np.zeros((cached, capacity), np.float32),
            holder=np.full(cached, -1, np.int64),
            used=np.full(cached, -1, np.int64),
            counts=np.zeros(7, np.int64),
        )

    def _move(self, old: Slots, kept: Index) -> None:
        """Copy the slots in use from another room, and the kernel rows last used."""
        S, m = self.slots, len(kept)
        for name in ("rows", "beta", "g", "lower", "upper", "diagonal"):
            getattr(S, name)[:m] = getattr(old, name)[kept]
        S.slot_of[S.rows[:m]] = np.arange(m)
        S.counts[:] = old.counts
        cached = np.flatnonzero(old.holder >= 0)
        cached = cached[np.argsort(-old.used[cached], kind="stable")][: len(S.holder)]
        for c, row in enumerate(cached):
            S.cache[c, :m] = old.cache[row, kept]
        S.holder[: len(cached)] = np.searchsorted(kept, old.holder[cached])
        S.where[S.holder[: len(cached)]] = np.arange(len(cached))
        S.used[: len(cached)] = old.used[cached]
        S.counts[[HIGH, FREE, LIVE, FILLED]] = m, 0, m, len(cached)
