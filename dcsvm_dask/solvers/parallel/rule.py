"""One step of parallel decomposition: look, choose, fetch, solve, advance."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, counted_kernel_matrix, stacked
from dcsvm_dask.solvers.inner.solve import solve_inner
from dcsvm_dask.solvers.parallel.candidates import Candidates, merged
from dcsvm_dask.solvers.parallel.choice import ONE_IN, choose
from dcsvm_dask.solvers.parallel.share import Members, Share, ShareRows, Step
from dcsvm_dask.solvers.parallel.working_set import BOUNDED, FREE, ZERO, WorkingSet
from dcsvm_dask.solvers.working_sets import inner_tol
from dcsvm_dask.tasks import Dual
from dcsvm_dask.tasks.dual import EXACT_SIZE

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ParallelRule:
    """How the problem is solved by working sets over shares.

    Parameters
    ----------
    kernel : Kernel
    n : int
        Number of variables.
    equality : bool
        Whether there is a bias.
    tol : float
        Violation at which it is done.
    size : int
        Variables of a working set.
    inner : str
        The inner solver; see `solve_inner`.
    total_size : float or None
        The sum of the sizes of all variables, of tasks that have it.
    fixed_signs : bool
        Whether a variable can only have one sign.
    row_bytes : float
        Bytes of a variable of a working set, with its row, about.
    one_in : int, default 10
        One variable in so many of a set may always enter.
    """

    kernel: Kernel
    n: int
    equality: bool
    tol: float
    size: int
    inner: str = "auto"
    total_size: float | None = None
    fixed_signs: bool = True
    row_bytes: float = np.inf
    one_in: int = ONE_IN

    def look(self, rows: ShareRows, share: Share) -> Candidates:
        """Return the variables of a share that violate most."""
        return share.candidates(rows)

    def merge(self, found: Sequence[Candidates], memory: WorkingSet) -> Candidates:
        """Return the candidates of several shares together."""
        return merged(found, memory.entering)

    def choose(self, before: WorkingSet, found: Candidates) -> WorkingSet:
        """Return the next working set, or that it is done."""
        begin = time.thread_time()
        chosen = choose(
            before,
            found,
            size=self.size,
            equality=self.equality,
            tol=self.tol,
            fixed_signs=self.fixed_signs,
            one_in=self.one_in,
        )
        return replace(chosen, seconds=chosen.seconds + time.thread_time() - begin)

    def fetch(self, rows: ShareRows, share: Share, chosen: WorkingSet) -> Members:
        """Return the members of the working set that are of a share."""
        return share.members(rows, chosen.index)

    def wanted(self, found: Candidates, memory: WorkingSet) -> Index:
        """Return the candidates and the last set's members, ascending."""
        both = (*found.rising, *found.falling)
        return np.unique(np.concatenate([memory.index, *(one[1] for one in both)]))

    def along(self, rows: ShareRows, share: Share, wanted: Index) -> tuple[Index, Members]:
        """Return those that are of a share."""
        first, last = np.searchsorted(wanted, (rows.start, rows.start + len(rows)))
        return wanted[first:last], share.members(rows, wanted[first:last])

    def pick(self, memory: WorkingSet, along: Sequence[tuple[Index, Members]]) -> list[Members]:
        """Return the members of the working set."""
        return [
            members.at(np.flatnonzero(np.isin(index, memory.index, assume_unique=True)))
            for index, members in along
        ]

    def solve(
        self,
        chosen: WorkingSet,
        members: Sequence[Members],
        threads: int = 1,
        *,
        max_iter: int | None = None,
    ) -> tuple[WorkingSet, Step]:
        """Solve a working set.

        Parameters
        ----------
        chosen : WorkingSet
        members : sequence of Members
            Of all shares, in their order.
        threads : int, default 1
        max_iter : int, optional
            Most iterations of the inner solver.

        Returns
        -------
        WorkingSet
            After the step.
        Step
        """
        begin = time.thread_time()
        X, dual = stacked([one.X for one in members]), _joined([one.dual for one in members])
        beta, f = (
            np.concatenate([getattr(one, name) for one in members]) for name in ("beta", "f")
        )
        dual = replace(dual, spare=self._spare(chosen.size))
        gradient = dual.gradient(f, beta)
        K, values = counted_kernel_matrix(self.kernel, X, threads=threads)
        found = solve_inner(
            K,
            dual,
            inner=self.inner,
            beta=beta,
            gradient=gradient,
            equality=self.equality,
            tol=inner_tol(chosen.violation, self.tol, whole=len(beta) == self.n),
            max_iter=max_iter,
        )
        change = found.beta - beta
        moved = np.flatnonzero(change)
        gain = -0.5 * float(change @ (gradient + found.gradient))
        if dual.epsilon is not None:
            gain -= float(dual.epsilon @ (np.abs(found.beta) - np.abs(beta)))
        size = chosen.size + float(np.abs(found.beta).sum() - np.abs(beta).sum())
        place = np.where(dual.is_free(found.beta), FREE, np.where(found.beta == 0.0, ZERO, BOUNDED))
        after = replace(
            chosen,
            place=place.astype(np.int8),
            size=size,
            steps=chosen.steps + 1,
            iterations=chosen.iterations + found.n_iter,
            moved=chosen.moved + len(moved),
            kernel_values=chosen.kernel_values + values,
            fallbacks=chosen.fallbacks + found.fallbacks,
            gained=chosen.gained + gain,
            idle_gain=chosen.idle_gain + gain,
            is_done=len(moved) == 0,
            trace=chosen.traced(time.time()),
            seconds=chosen.seconds + time.thread_time() - begin,
        )
        step = Step(
            chosen.index[moved],
            X[moved],
            change[moved],
            found.beta[moved],
            after.entering,
            self._spare(size),
        )
        return after, step

    def advance(self, rows: ShareRows, share: Share, step: Step, threads: int = 1) -> Share:
        """Return a share after a step."""
        return share.after(rows, step, threads)

    def progress(self, memory: WorkingSet) -> dict[str, Any]:
        """Return the numbers of progress."""
        return {
            "rows": len(memory.index),
            "violation": memory.violation,
            "start": memory.first_violation,
            "tol": self.tol,
            "steps": memory.steps,
        }

    def _spare(self, size: float) -> float | None:
        """Return by how much the size of all variables may still grow."""
        if self.total_size is None:
            return None
        spare = self.total_size - size
        return spare if spare > EXACT_SIZE * self.total_size else 0.0


def _joined(duals: Sequence[Dual]) -> Dual:
    """Return the problem of variables whose problems are given."""

    def joined(name: str) -> Any:
        parts = [getattr(one, name) for one in duals]
        return None if parts[0] is None else np.concatenate(parts)

    return replace(
        duals[0],
        p=joined("p"),
        lower=joined("lower"),
        upper=joined("upper"),
        epsilon=joined("epsilon"),
        ridge=joined("ridge"),
    )
