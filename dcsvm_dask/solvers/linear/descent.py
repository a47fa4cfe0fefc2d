"""Passes of dual coordinate descent over chunks of rows, until all rows are within a tolerance.

What is known of one chunk of rows while it is not in memory, and the few rows kept of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows, stacked
from dcsvm_dask.kernels.rows import check_rows, check_values, is_sparse
from dcsvm_dask.solvers.linear.loops import squares
from dcsvm_dask.solvers.linear.problem import LinearSolution, Problem, Vector
from dcsvm_dask.solvers.linear.rows import compiled_rows
from dcsvm_dask.solvers.linear.zeros import without_zeros


@dataclass(slots=True)
class Part:
    """One chunk's rows among all."""

    rows: slice
    order: NDArray[np.int32]
    """Rows, counted from the first of the chunk, that take part in passes; active ones first."""
    active: int
    kept: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Rows, counted from the first of all, of which copies stay in memory."""
    copies: Rows = None

    @property
    def is_full(self) -> bool:
        """Whether all rows that take part are active."""
        return self.active == len(self.order)

    def keep(self, rows: Rows, chosen: NDArray[np.int64]) -> None:
        """Keep copies of some rows of the chunk, which is `rows`."""
        self.kept = self.rows.start + chosen
        self.copies = rows[chosen]

    def settle(self, order: NDArray[np.int32], active: int, of: int) -> None:
        """Take over which rows are active from a pass that had other chunks' rows behind its own.

        `order` had the chunk's active rows first when the pass began; the chunk has `of` rows.
        """
        here = order[:active]
        gone = order[active:]
        here, gone = here[here < of], gone[gone < of]
        self.order[: self.active] = np.concatenate([here, gone])
        self.active = len(here)


@dataclass(frozen=True, slots=True)
class Measured:
    """Where rows stand at some w."""

    high: float
    """The largest projected gradient, 0 counted in."""
    low: float
    """The smallest one."""
    losses: float
    """The sum of the losses."""
    longest: float
    """The largest norm of a row, the constant included."""
    w: NDArray[np.float64]
    """What the variables give, summed from scratch; the weight of the constant last."""


# Values of rows that are met between two returns to Python, some 50 ms; and passes.
_WORK, _PASSES = 50_000_000, 1_000
# What a visit costs beside the values of the row, in values.
VISIT = 20
# Visits of each row that are allowed where the caller sets no limit.
_VISITS = 1_000
# Rows kept in memory of all chunks together, in rows of a chunk.
_KEPT = 0.1
_ENDLESS = np.iinfo(np.int64).max


class Chunks(Protocol):
    """Rows in chunks that are read when they are asked for."""

    def __len__(self) -> int:
        """Return the number of chunks."""
        ...

    def __getitem__(self, i: int, /) -> Rows:
        """Return the rows of one chunk: the same ones whenever it is asked for."""
        ...


class LinearDescent:
    """A linear SVM's problem with its rows in chunks, and the point that has been reached."""

    work = _WORK
    """Values of rows that are met between two callbacks; 0: those of one pass."""
    most_passes = _PASSES
    """Passes over rows in memory between two callbacks."""

    def __init__(
        self,
        chunks: Chunks,
        problem: Problem,
        seed: int,
        inner: int,
        outside: NDArray[np.float64] | None = None,
    ) -> None:
        if len(chunks) == 0:
            raise InputError("there are no chunks of rows: give at least one.")
        self._chunks, self._problem, self._inner = chunks, problem, inner
        self._numbers = np.random.default_rng(seed)
        self._random = self._numbers.integers(2**64, size=1, dtype=np.uint64)
        self._parts: list[Part] = []
        self._alpha = problem.start.copy()
        self._takes_part = problem.takes_part
        self._curvature = np.empty_like(self._alpha)
        self._w = np.zeros(0)
        # What w has beside the sum over the rows: that over the rows of others.
        self._outside = outside
        self._only: Rows | None = None
        self._sparse = False
        self._high = self._low = 0.0
        self._gap = np.inf
        self._visits = 0
        self._history: list[NDArray[np.float64]] = [np.empty((0, 2))]
        self._n_iter = 0

    def solve(
        self,
        tol: float,
        max_iter: int | None,
        callback: Callable[[int, float], object] | None,
        most_visits: int | None = None,
    ) -> LinearSolution:
        """Pass over the rows until the violation is at most `tol`, or one of the limits is met."""
        if self._alpha.any() or self._outside is not None:
            self._sum()
        start = self._problem.objective(self._alpha, self._w)
        met = True
        while met:
            met = self._descend(tol, max_iter, most_visits, callback)
            violation = self._sum()
            if violation <= tol:
                break
            self._unshrink()
        w = self._w
        changes, violations = np.concatenate(self._history).T
        return LinearSolution(
            alpha=self._alpha,
            w=w[:-1].copy(),
            b=float(w[-1] * self._problem.constant),
            objective=self._problem.objective(self._alpha, w),
            violation=violation,
            gap=self._gap,
            n_iter=self._n_iter,
            converged=violation <= tol,
            history=np.stack([start + np.cumsum(changes), violations], axis=1),
        )

    @property
    def w(self) -> Vector:
        """The w that has been reached; the weight of the constant last."""
        return self._w

    def _descend(
        self,
        tol: float,
        max_iter: int | None,
        most_visits: int | None,
        callback: Callable[[int, float], object] | None,
    ) -> bool:
        """Make passes until one over all rows is within `tol`; False if a limit came before."""
        limit, visits = max_iter, _ENDLESS
        if limit is None:
            limit, visits = _ENDLESS, most_visits or _VISITS * len(self._alpha)
        while self._n_iter < limit and self._visits <= visits:
            left = limit - self._n_iter
            if len(self._chunks) == 1:
                room = _ENDLESS if most_visits is None else 1 + visits - self._visits
                full = self._pass_over_one(tol, left, room)
            else:
                full = self._pass(tol)
            violation = self._violation()
            stopped = callback is not None and callback(self._n_iter, violation)
            if violation <= tol:
                if full:
                    return True
                self._unshrink()
            if stopped:
                return False
        return False

    def _violation(self) -> float:
        """Return the violation that the last pass has met."""
        return self._high - self._low

    def _pass_over_one(self, tol: float, most: int, room: int) -> bool:
        """Make some passes over the only chunk; returns whether the last one was over all rows."""
        rows = self._rows(0)
        part = self._parts[0]
        values = rows.nnz if is_sparse(rows) else rows.size
        budget = 1 + self.work // (VISIT + values // max(1, rows.shape[0]))
        done, part.active, self._high, self._low = self._visit(
            self._arguments(rows, part.rows),
            part.order,
            part.active,
            (self._high, self._low),
            tol,
            min(most, self.most_passes),
            min(budget, room),
        )
        self._record(done)
        return part.is_full

    def _pass(self, tol: float) -> bool:
        """Make one pass over the chunks; returns whether it was over all rows."""
        number = len(self._chunks)
        new = len(self._parts) < number
        full = new or all(part.is_full for part in self._parts)
        high, low, change = 0.0, 0.0, 0.0
        as_they_lie = new or not self._problem.visits.is_random
        for i in range(number) if as_they_lie else self._numbers.permutation(number):
            if not new and self._parts[i].active == 0:
                continue
            above, below, gain = self._pass_over_chunk(i, tol)
            high, low, change = max(high, above), min(low, below), change + gain
        self._high, self._low = high, low
        self._record(np.array([[change, high - low]]))
        return full

    def _pass_over_chunk(self, i: int, tol: float) -> tuple[float, float, float]:
        """Make a few passes over a chunk; returns the first one's extremes and what all gained.

        What two chunks have in common they would settle only by turns, over hundreds of outer
        passes. So a few free rows of every other chunk are visited in between.
        """
        rows = self._rows(i)
        part = self._parts[i]
        m = rows.shape[0]
        others = [other for other in self._parts if other is not part and len(other.kept)]
        own = np.arange(part.rows.start, part.rows.stop)
        which = np.concatenate([own, *(other.kept for other in others)])
        guests = np.arange(m, len(which), dtype=np.int32)
        order = np.concatenate([part.order[: part.active], guests])
        arguments = self._arguments(stacked([rows, *(other.copies for other in others)]), which)
        done, active, high, low = self._visit(
            arguments, order, len(order), (self._high, self._low), tol, 1
        )
        part.settle(order, active, m)
        gain = done[0, 0]
        if self._inner > 1 and high - low > tol:
            # Who may rest was settled before: extremes of one chunk alone say too little of it.
            done, *_ = self._visit(arguments, order, active, (high, low), tol, self._inner - 1)
            gain += done[:, 0].sum()
        alpha = arguments[-1]
        self._alpha[which] = alpha
        free = np.flatnonzero(self._problem.is_free(alpha[:m], part.rows))
        quota = 1 + int(_KEPT * len(self._alpha) / len(self._chunks) ** 2)
        part.keep(rows, np.sort(self._numbers.permutation(free)[:quota]))
        return high, low, float(gain)

    def _visit(
        self,
        arguments: tuple[Any, ...],
        order: NDArray[np.int32],
        active: int,
        extremes: tuple[float, float],
        tol: float,
        most: int,
        budget: int = _ENDLESS,
    ) -> tuple[NDArray[np.float64], int, float, float]:
        """Make passes over rows in memory; returns their history, the active rows and extremes."""
        history = np.empty((most, 2))
        passes, visits, active, high, low = self._problem.descend(
            *arguments,
            self._w,
            order,
            active,
            *extremes,
            tol,
            most,
            budget,
            self._random,
            history,
            *self._problem.visits.compiled,
        )
        self._visits += visits
        return history[:passes], active, high, low

    def _record(self, passes: NDArray[np.float64]) -> None:
        self._history.append(passes)
        self._n_iter += len(passes)

    def _unshrink(self) -> None:
        """Have all rows visited again; none is let go in the pass to come."""
        self._high = self._low = 0.0
        for part in self._parts:
            part.active = len(part.order)

    def _sum(self) -> float:
        """Sum w from scratch; return the violation of all rows at it, or a little more."""
        found = self.measure()
        # Gradients were measured at the w that was kept up to date; each is off by at most this.
        error = found.longest * np.linalg.norm(found.w - self._w)
        primal = 0.5 * float(self._w @ self._w) + found.losses
        # Below zero it would be rounding.
        self._gap = max(0.0, primal + self._problem.objective(self._alpha, found.w))
        self._w = found.w
        return float(found.high - found.low + 2.0 * error)

    def measure(self, w: Vector | None = None) -> Measured:
        """Return where the rows stand at some w; by default at the one that is kept up to date."""
        high, low, lost, fresh = 0.0, 0.0, 0.0, np.zeros(0)
        for i in range(len(self._chunks)):
            rows = self._rows(i)
            if i == 0:
                fresh = np.zeros_like(self._w) if self._outside is None else self._outside.copy()
            arguments = self._arguments(rows, self._parts[i].rows)
            at = self._w if w is None else w  # the first look at rows makes a w of zeros
            above, below, more = self._problem.measure(*arguments, at, fresh)
            high, low, lost = max(high, above), min(low, below), lost + more
        longest = float(np.sqrt(np.max(self._curvature - self._problem.ridge, initial=0.0)))
        return Measured(high, low, lost, longest, fresh)

    def values(self) -> tuple[float, float]:
        """Return the primal and the dual objective of the point that has been reached."""
        primal = 0.5 * float(self._w @ self._w) + self.measure().losses
        return primal, self._problem.objective(self._alpha, self._w)

    def _arguments(self, rows: Rows, of: slice | NDArray[np.int64]) -> tuple[Any, ...]:
        """Return what compiled code takes of some rows: views if `of` is a slice, else copies."""
        problem = self._problem
        return (
            compiled_rows(rows),
            *(one[of] for one in problem.arrays),
            self._curvature[of],
            problem.constant,
            self._alpha[of],
        )

    def _rows(self, i: int) -> Rows:
        """Return the rows of a chunk; the first time, in order, they find their place."""
        if self._only is not None:
            return self._only
        rows = check_rows(self._chunks[i], "X")
        if len(self._chunks) == 1:
            rows = without_zeros(rows)
        if i == len(self._parts):
            self._place(rows)
        elif rows.shape != (self._parts[i].rows.stop - self._parts[i].rows.start, len(self._w) - 1):
            raise InputError(f"chunk {i} has another shape than before: it must not change.")
        if len(self._chunks) == 1:
            self._only = rows
        return rows

    def _place(self, rows: Rows) -> None:
        """Find out what the chunk after those that are known holds."""
        number, n = len(self._parts), len(self._alpha)
        start = self._parts[-1].rows.stop if self._parts else 0
        of = slice(start, start + rows.shape[0])
        last = number + 1 == len(self._chunks)
        if of.stop > n or (last and of.stop < n):
            word = self._problem.targets_word
            found = f"{of.stop} rows" if last else f"{of.stop} rows or more"
            raise InputError(f"X has {found} and y {n} {word}: give one for each row.")
        if number == 0:
            self._w = np.zeros(rows.shape[1] + 1)
            self._sparse = is_sparse(rows)
        elif is_sparse(rows) != self._sparse:
            raise InputError(f"chunk {number} is stored otherwise than those before: dense or CSR.")
        elif rows.shape[1] != len(self._w) - 1:
            raise InputError(
                f"chunk {number} has {rows.shape[1]} features and those before {len(self._w) - 1}."
            )
        problem = self._problem
        check_values(rows, start)
        squares(compiled_rows(rows), problem.constant, problem.ridge[of], self._curvature[of])
        if not np.isfinite(self._curvature[of]).all():
            raise InputError("X holds a value that is not finite: give finite numbers.")
        order = np.flatnonzero(self._takes_part[of]).astype(np.int32)
        self._parts.append(Part(of, order, len(order)))
