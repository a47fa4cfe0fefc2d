"""The expansion of the online solver: its room, its cache, and the kernel values it needs."""

from __future__ import annotations

from collections.abc import Callable
from mmap import mmap

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import (
    KeptRows,
    Kernel,
    Rows,
    counted_kernel_matrix,
    is_sparse,
    kd_order,
    kernel_product,
)
from dcsvm_dask.kernels.kernel import kernel_diagonal
from dcsvm_dask.solvers.decomposition import solve_decomposition
from dcsvm_dask.solvers.online.arrays import (
    FILLED,
    FREE,
    HIGH,
    LIVE,
    STEPS,
    TAKEN,
    Batch,
    Slots,
    put,
    widen,
)
from dcsvm_dask.solvers.online.steps import missing, process, reprocess
from dcsvm_dask.solvers.smo.loops import FAR
from dcsvm_dask.tasks import Classification

Vector = NDArray[np.float64]
Index = NDArray[np.int64]

# Rows whose kernel values are made together.
BATCH = 256
_LEAST_CACHED = 4
# Kernel rows made together when one is missing: of those that violate most, which come next.
_FETCHED = 8
SOLVING = 4 * 1.57
"""Bytes of a working set of the finish for each pair of its rows; see `solve_smo`."""
# Share of the tolerance that a product of the finish may lose by leaving out far pairs.
_FAR = 1e-4


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
        Of kernel rows; those used longest ago make room. The finish takes their place.
    threads : int
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
        threads: int = 1,
    ) -> None:
        self.kernel, self.X, self.y, self.C = kernel, X, y, C
        self.equality, self.tol, self.cache_bytes = equality, tol, cache_bytes
        self._kept = KeptRows(kernel, X, threads)
        self.diagonal = kernel_diagonal(kernel, X)
        finite = np.isfinite(X.data if is_sparse(X) else X).all()
        if not (finite and np.isfinite(self.diagonal.astype(np.float32)).all()):
            raise InputError("the kernel has values that are not finite: see the data.")
        self.kernel_values = self.fetched = 0
        self._buffer = np.empty(0, np.float32)
        support = np.flatnonzero(beta)
        m = len(support)
        self.slots = self._room(m)
        S = self.slots
        S.rows[:m], S.slot_of[support] = support, np.arange(m)
        S.beta[:m], S.diagonal[:m] = beta[support], self.diagonal[support]
        S.lower[:m] = np.where(y[support] > 0, 0.0, -C[support])
        S.upper[:m] = np.where(y[support] > 0, C[support], 0.0)
        self._mark()
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

    def finish(self, most: int, tell: Callable[[float], None]) -> float:
        """Solve the problem of the expansion in at most so many steps; return the violation.

        It is that by slopes summed from scratch. REPROCESS could go on until here; but where the
        cache is too small for the kernel rows of all, working sets whose matrices fit in its place
        come to the same answer many times sooner. Tells the violation after each of them.
        """
        kept = self.live
        if len(kept) == 0:
            return 0.0
        self._empty_cache()
        self._move(kept)
        S, m = self.slots, len(kept)
        rows = S.rows[:m]
        order = np.arange(m)
        if self.kernel.is_shift_invariant:
            order = kd_order(self.X[rows])  # what is far is left out by tiles of neighbours
        rows = rows[order]
        found, computed = solve_decomposition(
            self.kernel,
            self.X[rows],
            Classification().dual(self.y[rows], self.C[rows]),
            beta=S.beta[order],
            equality=self.equality,
            tol=self.tol,
            working_size=max(BATCH, int((self.cache_bytes / SOLVING) ** 0.5)),
            budget=_FAR * self.tol,
            max_iter=most,
            callback=lambda _, violation: tell(violation),
        )
        S.beta[order] = found.beta
        S.g[order] = -found.gradient
        self._mark()
        S.counts[STEPS] += found.n_iter
        self.kernel_values += computed
        return found.violation

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
            S, kept = self.slots, self._in_slots
            most = min(_FETCHED, len(S.holder) // _LEAST_CACHED)
            wanted = missing(S, slot, self.equality, most)
            K = np.empty((len(wanted), len(kept)), np.float32)
            self.kernel_values += self._kept.values(S.rows[wanted], kept, K)
            put(S, wanted, K)
            self.fetched += len(wanted)

    @property
    def _in_slots(self) -> Index:
        """The row in each slot up to the last one in use; where one is free, any row."""
        S = self.slots
        return np.maximum(S.rows[: S.counts[HIGH]], 0)

    def _batch(self, rows: Index) -> Batch:
        own, computed = counted_kernel_matrix(self.kernel, self.X[rows])
        self.kernel_values += computed
        self.kernel_values += self._kept.values(rows, self._in_slots, self._among)
        return Batch(rows, self._among, own, self.y[rows], self.C[rows], self.diagonal[rows])

    def _make_room(self, more: int) -> None:
        """Have slots for so many more rows; close the gaps where they have become many."""
        S = self.slots
        high, live = int(S.counts[HIGH]), int(S.counts[LIVE])
        if high + more > len(S.rows) or 4 * live < 3 * high - BATCH:
            self._move(self.live, more)

    def _room(self, rows: int) -> Slots:
        # A quarter of slack: wide rows leave room for few.
        capacity = rows + rows // 4 + 2 * BATCH
        cached = min(capacity, max(_LEAST_CACHED, self.cache_bytes // (4 * capacity)))
        if len(self._buffer) < cached * capacity:  # not yet made, or too small for the fewest rows
            before, size = self._buffer, max(cached * capacity, self.cache_bytes // 4)
            # Not from the allocator, which may keep it later, or write zeros into all of it now.
            self._buffer = np.frombuffer(mmap(-1, 4 * size), np.float32)
            self._buffer[: len(before)] = before
        none = np.full(capacity, -1, np.int64)
        # Kernel values of a batch; those at slots that are not in use are never looked at.
        self._among = np.zeros((BATCH, capacity), np.float32)
        return Slots(
            rows=none,
            beta=np.zeros(capacity),
            g=np.zeros(capacity),
            lower=np.zeros(capacity),
            upper=np.zeros(capacity),
            diagonal=np.zeros(capacity),
            lo=np.zeros(capacity, np.float32),
            hi=np.zeros(capacity, np.float32),
            where=none.copy(),
            free=np.zeros(capacity, np.int64),
            slot_of=np.full(len(self.y), -1, np.int64),
            cache=self._buffer[: cached * capacity].reshape(cached, capacity),
            holder=np.full(cached, -1, np.int64),
            used=np.full(cached, -1, np.int64),
            counts=np.zeros(7, np.int64),
        )

    def _mark(self) -> None:
        """Note where every variable may still go."""
        S = self.slots
        S.lo[:] = np.where(S.beta > S.lower, -FAR, 0.0)
        S.hi[:] = np.where(S.beta < S.upper, FAR, 0.0)

    def _move(self, kept: Index, more: int = 0) -> None:
        """Go on in a room for so many more rows, with those kept and the kernel rows last used."""
        old, m = self.slots, len(kept)
        self.slots = S = self._room(m + more)
        for name in ("rows", "beta", "g", "lower", "upper", "diagonal", "lo", "hi"):
            getattr(S, name)[:m] = getattr(old, name)[kept]
        S.slot_of[S.rows[:m]] = np.arange(m)
        S.counts[:] = old.counts
        cached = np.flatnonzero(old.holder >= 0)
        latest = np.argsort(-old.used[cached], kind="stable")[: len(S.holder)]
        cached = cached[np.sort(latest)]
        widen(self._buffer, old.cache.shape[1], S.cache.shape[1], cached, kept)
        S.holder[: len(cached)] = np.searchsorted(kept, old.holder[cached])
        S.where[S.holder[: len(cached)]] = np.arange(len(cached))
        S.used[: len(cached)] = old.used[cached]
        S.counts[[HIGH, FREE, LIVE, FILLED]] = m, 0, m, len(cached)

    def _empty_cache(self) -> None:
        """Let go of the memory of kernel rows."""
        S = self.slots
        S.where[:], S.holder[:], S.counts[FILLED] = -1, -1, 0
        self._buffer = np.empty(0, np.float32)
        self.slots = S._replace(cache=np.empty((0, S.cache.shape[1]), np.float32))
