"""A kernel SVM on a budget of support vectors, by stochastic gradient descent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix
from dcsvm_dask.solvers.budget.merging import MERGE_NAMES, MERGING, PROJECTION
from dcsvm_dask.solvers.budget.state import (
    N_COUNTS,
    SIZE,
    STEPS,
    VALUES,
    Expansion,
    KernelCode,
    RowArrays,
    as_words,
    empty,
    norms_of,
)
from dcsvm_dask.solvers.budget.steps import descend, shrink
from dcsvm_dask.solvers.budget.tables import MergeTables
from dcsvm_dask.tasks import Dual

LEAST_BUDGET = 2
# Share of merges of points that do not see each other from which merging is taken to be none.
MOSTLY = 0.9
LARGEST_STEP = 1e100
"""Largest C times number of rows: squares of sums of so many stay finite in float64."""
# A piece of the work that takes about so long, and the rows of the first one.
PIECE_SECONDS, FIRST_ROWS = 0.1, 16

Index = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class BudgetedPoint:
    """Where descent on a budget stands: all that it goes on from.

    Attributes
    ----------
    points : ndarray, shape (n_support, n_features), float32
    coef : ndarray, shape (n_support,), float64
        Coefficients of the decision function, by a factor: 1 over the steps.
    bias : float
        By the same factor.
    counts : ndarray, shape (9,), int64
        See `dcsvm_dask.solvers.budget.state`.
    """

    points: NDArray[np.float32]
    coef: NDArray[np.float64]
    bias: float
    counts: Index

    @property
    def steps(self) -> int:
        """Steps that were taken."""
        return int(self.counts[STEPS])

    @property
    def kernel_values(self) -> int:
        """Kernel values that were computed."""
        return int(self.counts[VALUES])

    @property
    def beta(self) -> NDArray[np.float64]:
        """Coefficients of the decision function."""
        return self.coef / max(1, self.steps)

    @property
    def intercept(self) -> float:
        """The bias of the decision function."""
        return self.bias / max(1, self.steps)

    def words(self) -> dict[str, int]:
        """Return support vectors, steps, violations, merges, removals and far merges by name."""
        return as_words(self.counts)


class BudgetedLearner:
    """Stochastic gradient descent that keeps at most so many support vectors.

    Primal descent (Pegasos) by steps eta_t = 1 / (lambda t) with lambda = 1 / (n C); where a step
    leaves one support vector too many, the one with the least coefficient is merged with the
    partner of its sign by which the least is lost, by golden section search or by tables, or it is
    removed, or projected onto the others (Wang, Crammer, Vucetic, JMLR 2012; Glasmachers, Qaadan,
    2018, Algorithm 1).

    Parameters
    ----------
    kernel : Kernel
        Merging needs "rbf".
    n_features : int
    budget : int
        Most support vectors, from 2.
    merge : str, default "lookup-wd"
        One of `MERGE_NAMES`.
    with_bias : bool, default False
        Whether the decision function has a bias; descent regularises it like the weights.
    tables : MergeTables, optional
        Those of 400 x 400 points by default.
    point : BudgetedPoint, optional
        Where to go on from.
    audit : bool, default False
        Whether merges are compared with those by golden section search, which takes long.

    Raises
    ------
    InputError
        If merging does not go with the kernel, or the budget is too small.
    """

    def __init__(
        self,
        kernel: Kernel,
        n_features: int,
        budget: int,
        *,
        merge: str = "lookup-wd",
        with_bias: bool = False,
        tables: MergeTables | None = None,
        point: BudgetedPoint | None = None,
        audit: bool = False,
    ) -> None:
        check_merge(kernel, merge)
        if budget < LEAST_BUDGET:
            raise InputError(f"budget is {budget}: give at least {LEAST_BUDGET} support vectors.")
        self.kernel, self.budget, self.with_bias = kernel, budget, with_bias
        self._code, self._how, self._audit = KernelCode.of(kernel), MERGE_NAMES.index(merge), audit
        self.tables = tables or MergeTables.of()
        self._projects = self._how == PROJECTION
        self._room_for(n_features, point)

    def _room_for(self, n_features: int, point: BudgetedPoint | None) -> None:
        size = 0 if point is None else len(point.coef)
        try:
            self._S = empty(n_features, max(self.budget, size), projects=self._projects)
        except (MemoryError, ValueError) as error:  # NumPy has another word for the largest ones
            raise InputError(
                f"budget is {self.budget}: so many support vectors of {n_features} features do not "
                "fit into memory; lower it."
            ) from error
        if point is not None:
            fill(self._S, self.kernel, self._code, point)

    @property
    def expansion(self) -> Expansion:
        """The arrays that descent changes."""
        return self._S

    def learn(self, X: Rows, dual: Dual, order: Index, *, total: float) -> None:
        """Take a step for each row, in the order that is given.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, n_features), float32
        dual : Dual
            Linear term and bounds of the rows, shapes (n,): they say what the loss is.
        order : ndarray, shape (steps,), int64
            Numbers of rows.
        total : float
            Rows of the whole problem.

        Raises
        ------
        InputError
            If the loss is squared, whose steps have no bound, a step is longer than
            `LARGEST_STEP`, or a decision value is not finite.
        """
        if dual.ridge is not None:
            raise InputError(
                "loss: descent on a budget has no squared losses, whose steps have no bound."
            )
        check_steps(max(-dual.lower.min(initial=0.0), dual.upper.max(initial=0.0)), total)
        epsilon = np.zeros(len(dual)) if dual.epsilon is None else dual.epsilon
        arrays = (dual.p, dual.lower, dual.upper, epsilon)
        failed = descend(
            self._S,
            self._code,
            RowArrays.of(X),
            np.ascontiguousarray(order, np.int64),
            tuple(np.ascontiguousarray(one, np.float64) for one in arrays),
            float(total),
            self.with_bias,
            self.budget,
            self._how,
            (self.tables.h, self.tables.wd),
            self._audit,
        )
        if failed >= 0:
            raise InputError(
                f"the decision value of a row is not finite: the {self.kernel.name} kernel or C is "
                "too large for it; scale the features, or lower C, gamma or degree."
            )

    def shrink(self) -> None:
        """Bring an expansion that was joined from several within the budget."""
        shrink(self._S, self._code, self.budget, self._how, (self.tables.h, self.tables.wd))

    @property
    def point(self) -> BudgetedPoint:
        """A copy of where descent stands."""
        size = int(self._S.counts[SIZE])
        return BudgetedPoint(
            np.ascontiguousarray(self._S.points[:, :size].T),
            self._S.coef[:size].copy(),
            float(self._S.bias[0]),
            self._S.counts.copy(),
        )


def fill(S: Expansion, kernel: Kernel, code: KernelCode, point: BudgetedPoint) -> None:
    """Put a point into the arrays of an empty expansion."""
    size = len(point.coef)
    S.points[:, :size] = point.points.T
    S.norms[:] = norms_of(code.argument, S.points)
    S.coef[:size], S.bias[0], S.counts[:] = point.coef, point.bias, point.counts
    if S.values.shape[0]:
        S.values[:size, :size] = kernel_matrix(kernel, point.points, dtype=np.float64)


def joined_points(points: list[BudgetedPoint], start: BudgetedPoint | None) -> BudgetedPoint:
    """Return the mean of several decision functions, with the support vectors of all.

    Parameters
    ----------
    points : list of BudgetedPoint
        What shares of the rows have learned; their steps count together.
    start : BudgetedPoint or None
        Where all of them began; None: without support vectors.
    """
    begun = np.zeros(N_COUNTS, dtype=np.int64) if start is None else start.counts
    counts = begun + sum(one.counts - begun for one in points)
    steps, share = int(counts[STEPS]), 1.0 / len(points)
    counts[SIZE] = sum(len(one.coef) for one in points)
    return BudgetedPoint(
        np.concatenate([one.points for one in points]),
        np.concatenate([share * steps * one.beta for one in points]),
        share * steps * sum(one.intercept for one in points),
        counts,
    )


def timed_pieces(order: Index) -> Iterator[Index]:
    """Yield an order of rows in pieces, each of which takes its user about a tenth of a second.

    Python handles Ctrl-C between two pieces only, since compiled code does not look for it. Pieces
    change nothing in what is learned.

    Parameters
    ----------
    order : ndarray, shape (steps,), int64
    """
    start, rows = 0, FIRST_ROWS
    while start < len(order):
        began = time.perf_counter()
        yield order[start : start + rows]
        start += rows
        rows = 2 * rows if time.perf_counter() - began < PIECE_SECONDS else max(1, rows // 2)


def check_steps(largest: float, total: float) -> None:
    """Refuse steps whose squares leave the range of float64.

    Parameters
    ----------
    largest : float
        Largest C of a row.
    total : float
        Rows of the whole problem.

    Raises
    ------
    InputError
    """
    if not float(largest) * float(total) <= LARGEST_STEP:  # floats overflow without a warning
        raise InputError(
            f"C is too large: C times the weight of a row is {largest:.3g}; lower C so that this "
            f"times {total:.10g} rows is at most {LARGEST_STEP:g}, for descent on a budget."
        )


def check_merge(kernel: Kernel, merge: str) -> None:
    """Refuse a way of keeping the budget that is unknown, or does not go with a kernel.

    Raises
    ------
    InputError
    """
    if merge not in MERGE_NAMES:
        raise InputError(f"merge is {merge!r:.80}: give one of {', '.join(MERGE_NAMES)}.")
    if merge in MERGING and not kernel.kind.is_gaussian:
        raise InputError(
            f"merge is {merge!r}: only points of the rbf kernel can be merged, not of "
            f"{kernel.name}; give removal or projection."
        )


def far_merges(words: dict[str, Any], kernel: Kernel) -> str:
    """Return a warning where hardly a merge joined points that see each other; else "".

    Parameters
    ----------
    words : dict
        See `BudgetedPoint.words`.
    kernel : Kernel
    """
    if not words["merges"] or words["far_merges"] < MOSTLY * words["merges"]:
        return ""
    return (
        f"gamma is {kernel.gamma:g}: support vectors have kernel values of 0 with each other, "
        "so that nothing can merge, and the budget is kept by dropping support vectors. Lower "
        "gamma, or scale the features."
    )
