"""Predict support vectors by SVMs that are trained on nested random subsets.

With a smooth kernel every row depends on every other, so that clusters say little about the
solution, but a random sample of m rows does: trained with C scaled to n C / m, its SVM comes close
to that of all n rows. Each subset of the chain has four times the rows of the one before, so the
prediction costs a small part of the training. Of a rare class subsets have more than its share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Kernel, Rows, counted_kernel_matrix, kernel_product
from dcsvm_dask.solvers.nested import NestedSubsets
from dcsvm_dask.solvers.optimality import bias
from dcsvm_dask.solvers.set_choice import SMALL_SET, first_set, reach
from dcsvm_dask.solvers.smo.solve import solve_smo
from dcsvm_dask.solvers.working_sets import GROWTH, solve_working_sets
from dcsvm_dask.tasks import Dual

Index = NDArray[np.int64]
Vector = NDArray[np.float64]
Take = Callable[[Index], Rows]
"""Returns some rows of the problem."""

RATIO = 4
# The first subset is solved whole, so it is small.
FIRST_ROWS = 2048
# Subsets by which the number of support vectors is extrapolated.
FEW = (512, 1024)
# A prediction needs no smaller tolerance, in units of `Dual.unit`.
SUBSET_TOL = 0.1


@dataclass(frozen=True)
class SubsetMachine:
    """An SVM trained on a random subset, in variables of the whole problem."""

    kernel: Kernel
    rows: Index
    """Its support vectors, ascending."""
    coef: Vector
    bias: float
    seen: Index
    """The subset, ascending."""
    f: Vector
    """Its decision values, without bias."""

    def first_set(self, expected: Vector, dual: Dual, cap: int) -> Index:
        """Return the first working set of the rows that `expected` is of; see `first_set`.

        Parameters
        ----------
        expected : ndarray, shape (n,), float64
            Decision values of the rows, as `decide` returns them.
        dual : Dual
            Their problem.
        cap : int
            Most rows of the set.
        """
        gradient = (expected + self.bias) + dual.p  # at zero, whatever the diagonal
        cap = min(cap, max(SMALL_SET, GROWTH * RATIO * len(self.rows)))
        return first_set(reach(gradient, np.zeros(len(dual)), dual), cap, dual.margin)

    def decide(self, take: Take, rows: Index, threads: int = 1) -> tuple[Vector, int]:
        """Return the decision values of some rows, without bias, and the kernel values computed."""
        place = np.minimum(np.searchsorted(self.seen, rows), len(self.seen) - 1)
        known = self.seen[place] == rows
        found = np.where(known, self.f[place], 0.0)
        found[~known], values = kernel_product(
            self.kernel, take(rows[~known]), take(self.rows), self.coef, threads=threads
        )
        return found, values


@dataclass(frozen=True, slots=True)
class Work:
    """What training on subsets took."""

    sizes: list[int]
    n_iter: int
    kernel_values: int


def train_on_subsets(
    kernel: Kernel,
    take: Take,
    dual: Dual,
    *,
    equality: bool,
    cap: int,
    seed: int | Sequence[int],
    threads: int = 1,
    max_iter: int | None = None,
) -> tuple[SubsetMachine, Work]:
    """Solve nested random subsets, each on the rows that the one before takes for near.

    Parameters
    ----------
    kernel : Kernel
    take : callable
        Returns the rows of some variables, given their numbers in [0, n), ascending.
    dual : Dual
    equality : bool
        Whether the problem has a bias.
    cap : int
        Most rows of a working set.
    seed : int or sequence of int
        Of the order in which rows join.
    threads : int, default 1
    max_iter : int, optional
        Most steps of two variables, of all subsets together.
    """
    counted, steps = 0, 0
    machine: SubsetMachine | None = None
    subsets, sizes = NestedSubsets(dual, seed), subset_sizes(len(dual), cap)
    for size in sizes:
        rows = subsets.rows(size)
        X, mine = take(rows), subsets.dual(rows)
        first = np.arange(size)
        if machine is not None:
            expected, values = machine.decide(take, rows, threads)
            first = machine.first_set(expected, mine, cap)
            counted += values
        found = solve_working_sets(
            kernel,
            X,
            mine,
            beta=np.zeros(size),
            f=np.zeros(size),
            first=first,
            equality=equality,
            tol=SUBSET_TOL * dual.unit,
            cap=cap,
            threads=threads,
            max_iter=None if max_iter is None else max_iter - steps,
        )
        counted += found.kernel_values
        steps += found.n_iter
        kept = np.flatnonzero(found.beta)
        offset = bias(mine.gradient(found.f, found.beta), found.beta, mine) if equality else 0.0
        machine = SubsetMachine(kernel, rows[kept], found.beta[kept], offset, rows, found.f)
    assert machine is not None
    return machine, Work(sizes, steps, counted)


def extrapolated_support(
    kernel: Kernel,
    take: Take,
    dual: Dual,
    *,
    equality: bool,
    seed: int | Sequence[int],
) -> tuple[float, int, int]:
    """Return how many support vectors all rows would have, as two small subsets have them.

    Their number grows as a power of the number of rows, between 0 (a smooth function without noise)
    and 1 (noise), of either sign by itself.

    Parameters
    ----------
    kernel, take, dual, equality, seed
        As for `train_on_subsets`; `dual` has at least as many rows as the larger subset.

    Returns
    -------
    count : float
    n_iter, kernel_values : int
    """
    n, steps = len(dual), 0
    subsets = NestedSubsets(dual, seed)
    rows = subsets.rows(max(FEW))
    K, values = counted_kernel_matrix(kernel, take(rows))
    support: list[Index] = []
    for size in FEW:
        some = np.searchsorted(rows, subsets.rows(size))
        mine = subsets.dual(rows[some])
        if equality and not mine.can_balance():
            return float(n), steps, values
        found = solve_smo(
            K if size == len(rows) else np.ascontiguousarray(K[np.ix_(some, some)]),
            mine,
            equality=equality,
            tol=SUBSET_TOL * dual.unit,
        )
        support.append(rows[some[np.flatnonzero(found.beta)]])
        steps += found.n_iter
    shares = [subsets.shares(subsets.rows(size)) for size in FEW]
    few, more = (subsets.counts(some) for some in support)
    expected = 0.0
    for sign, count in more.items():
        growth = np.log(shares[1][sign] / shares[0].get(sign, shares[1][sign]))
        power = np.log(count / few.get(sign, 1)) / growth if growth > 0.0 else 1.0
        expected += count * (1.0 / shares[1][sign]) ** np.clip(power, 0.0, 1.0)
    return max(1.0, float(expected)), steps, values


def subset_sizes(n: int, cap: int) -> list[int]:
    """Return the sizes of the subsets, ascending; the first can be solved whole."""
    sizes = [max(1, min(n // RATIO, RATIO * cap))]
    while sizes[-1] > min(cap, FIRST_ROWS):
        sizes.append(max(1, sizes[-1] // RATIO))
    return sizes[::-1]
