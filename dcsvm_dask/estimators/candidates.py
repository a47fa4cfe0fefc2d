"""Scores of a search's candidates: kernel by kernel, block by block, fold by fold."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from dcsvm_dask.clustering.rows import block_labels
from dcsvm_dask.estimators import checking, costs
from dcsvm_dask.estimators.in_memory import working_size
from dcsvm_dask.estimators.known_kernel import KnownRows
from dcsvm_dask.estimators.search_known import KnownKernels, values_between
from dcsvm_dask.estimators.svc import DCSVC
from dcsvm_dask.estimators.voting import Voting
from dcsvm_dask.kernels import Kernel, Rows, is_sparse, kernel_matrix, solved_rows, tile_order
from dcsvm_dask.kernels.team import for_each_large
from dcsvm_dask.kernels.threads import for_each
from dcsvm_dask.models.grid import DecidedFold, decide_point, solve_fold, solve_point
from dcsvm_dask.models.weighted_sample import SLACK, sample_of, weighted_sample, weights_of_sample
from dcsvm_dask.solvers import Machine, machines_of
from dcsvm_dask.solvers.inner.few_features import are_few_features, may_be_few_features
from dcsvm_dask.solvers.machines import at_a_time, matrix_bytes
from dcsvm_dask.solvers.whole import SMALL

Index = NDArray[np.int64]
Vector = NDArray[np.float64]
Split = tuple[Index, Index]

MOST_ROWS = 10_000
"""Rows up to which an SVM of all of them costs little beside those of blocks."""


@dataclass(frozen=True)
class Task:
    """What all candidates have in common."""

    base: DCSVC
    X: Rows
    codes: NDArray[np.int32]
    weight: Vector
    labels: NDArray[Any]
    classes: NDArray[Any]
    splits: list[Split]
    scorer: Any
    known: KnownKernels

    @cached_property
    def trains(self) -> NDArray[np.bool_]:
        """Which rows train in some split."""
        found = np.zeros(len(self.codes), dtype=np.bool_)
        for train, _ in self.splits:
            found[train] = True
        return found

    @property
    def scheme(self) -> str:
        """Which SVMs there are."""
        return self.base._scheme_of(len(self.classes))

    @property
    def machines(self) -> list[Machine]:
        """Those of all classes."""
        return machines_of(len(self.classes), self.scheme)

    @cached_property
    def sample(self) -> Index:
        """Rows that train, some of which may stand for others."""
        seed = checking.seed_of(self.base.random_state)
        return sample_of(self.codes, self.weight, np.flatnonzero(self.trains), seed)

    @cached_property
    def weights_of_splits(self) -> Vector:
        """The weights of the rows that train in each split, by class: (splits, n_classes)."""
        of_class = [
            np.bincount(self.codes[train], self.weight[train], minlength=len(self.classes))
            for train, _ in self.splits
        ]
        return np.stack(of_class).astype(np.float64)

    def kernel(self, candidate: dict[str, Any]) -> Any:
        """Return the kernel of a candidate, or its values; gamma "scale" is that of all rows."""
        known = self.known.get(candidate)
        if known is not None:
            return known
        return checking.kernel_of(clone(self.base).set_params(**candidate), self.X)

    def takes_no_matrix(self, candidate: dict[str, Any]) -> bool:
        """Return whether SVMs are better solved as a whole, without a kernel matrix of all rows.

        Pairs of classes share a matrix. Of many rows those of blocks cost less than SMO, which goes
        first unless features are very few.
        """
        kernel, rows = self.kernel(candidate), min(len(train) for train, _ in self.splits)
        if isinstance(kernel, KnownRows) or len(self.machines) > 1:
            return False
        few = are_few_features if rows > MOST_ROWS else may_be_few_features
        return rows > SMALL and few(kernel, rows, self.X.shape[1])

    def cost(self, candidate: dict[str, Any]) -> float:
        """Return C of a candidate."""
        return costs.cost_of(candidate.get("C", self.base.C), infinite=True)


class _Decided(Voting):
    """Stands for a fitted `DCSVC` of which the decisions on some rows are known, by their place."""

    def __init__(self, task: Task, values: Vector) -> None:
        self.classes_, self._values = task.classes, values
        self.kernel = task.base.kernel
        self._scheme = task.scheme
        self.decision_function_shape = task.base.decision_function_shape
        self.break_ties = task.base.break_ties

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return none: it is not cloned, but scorers may print it."""
        del deep
        return {}

    def _machine_values(self, X: Index) -> Vector:
        return np.asarray(self._values[X[:, 0]])


def scored(
    task: Task, candidates: list[dict[str, Any]], blocks: list[Index], threads: int
) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Return the scores of candidates by SVMs of blocks.

    Parameters
    ----------
    task : Task
    candidates : list of dict
    blocks : list of ndarray of int64
        Rows of each block.
    threads : int

    Returns
    -------
    scores, seconds : ndarray, shape (n_candidates, n_splits), float64
    solved : ndarray of bool, shape (n_candidates, n_splits)
    """
    shape = len(candidates), len(task.splits)
    scores, seconds, solved = np.empty(shape), np.zeros(shape), np.ones(shape, dtype=np.bool_)
    of_kernel: dict[Any, list[int]] = {}
    for place, candidate in enumerate(candidates):
        of_kernel.setdefault(task.kernel(candidate), []).append(place)
    sample, labels, largest = task.sample, block_labels(blocks), max(map(len, blocks))
    for kernel, places in of_kernel.items():
        places.sort(key=lambda place: task.cost(candidates[place]))
        costs = np.array([task.cost(candidates[place]) for place in places])
        decided = [np.zeros((len(costs), len(test), len(task.machines))) for _, test in task.splits]
        others: Index = sample[:0]
        if len(blocks) > 1:
            others = sample[weighted_sample(kernel, task.X[sample], labels[sample], largest)]
        for split, inside, held, shared in _solved(task, kernel, costs, blocks, others, threads):
            decided[split][:, inside] = held.values
            seconds[places, split] += held.seconds + shared / len(costs)
            solved[places, split] &= held.solved
        for split, (_, test) in enumerate(task.splits):
            rows = np.arange(len(test))[:, None]
            for number, place in enumerate(places):
                known = _Decided(task, decided[split][number])
                scores[place, split] = task.scorer(known, rows, task.labels[test])
    return scores, seconds, np.asarray(solved.all(axis=1))


def exactly_scored(
    task: Task,
    candidates: list[dict[str, Any]],
    places: list[int],
    blocks: list[Index],
    threads: int,
) -> tuple[Vector, Vector, NDArray[np.bool_]]:
    """Return the scores of some candidates by SVMs of all rows.

    Candidates of the same kernel follow each other with ascending C, the first one warm from the
    SVMs of blocks; kernels and splits are shared out among the threads.

    Parameters
    ----------
    task : Task
    candidates : list of dict
    places : list of int
        Numbers of the candidates.
    blocks : list of ndarray of int64
        Rows of each block.
    threads : int

    Returns
    -------
    scores, seconds : ndarray, shape (n, n_splits), float64
    solved : ndarray of bool, shape (n, n_splits)
    """
    block_of = block_labels(blocks)
    shape = len(places), len(task.splits)
    scores, seconds, solved = np.empty(shape), np.zeros(shape), np.ones(shape, dtype=np.bool_)
    chains: dict[Kernel, list[int]] = {}
    for number in sorted(range(len(places)), key=lambda one: task.cost(candidates[places[one]])):
        chains.setdefault(task.kernel(candidates[places[number]]), []).append(number)
    jobs = [(kernel, chain, split) for kernel, chain in chains.items() for split in range(shape[1])]
    memory = task.base.cache_size * 1e6
    size = working_size(memory, len(jobs))
    rows = max(len(train) for train, _ in task.splits)
    side_by_side = at_a_time(memory, matrix_bytes(min(rows, size)), min(threads, len(jobs)))

    def solve(job: int) -> None:
        kernel, chain, split = jobs[job]
        train, test = task.splits[split]
        train = train[task.weight[train] > 0]
        X, machines = task.X[train], task.machines
        if not is_sparse(X) and kernel.is_shift_invariant:  # neighbours follow each other
            order = tile_order(kernel, X)
            train = train[order[np.argsort(block_of[train[order]], kind="stable")]]
            X = task.X[train]
        codes, before, rows = task.codes[train], None, np.arange(len(test))[:, None]
        for number in chain:
            begin = time.perf_counter()
            point = solve_point(
                kernel,
                X,
                codes,
                task.cost(candidates[places[number]]) * task.weight[train],
                machines,
                before,
                blocks=block_of[train],
                equality=bool(task.base.fit_intercept),
                tol=checking.tolerance(task.base.tol),
                most_steps=lambda _: checking.most_steps(task.base.max_iter, -1),
                working_size=size,
                seed=checking.seed_of(task.base.random_state),
                threads=threads if side_by_side == 1 else 1,  # those without a job help
                task=task.base._task(),
            )
            before = point.solutions
            seconds[number, split] = time.perf_counter() - begin
            solved[number, split] = point.solved
            values = decide_point(kernel, X, codes, machines, before, task.X[test])
            known = _Decided(task, values)
            scores[number, split] = task.scorer(known, rows, task.labels[test])

    for_each_large(solve, range(len(jobs)), threads, side_by_side)
    return scores, seconds, np.asarray(solved.all(axis=1))


@dataclass(frozen=True)
class _Block:
    """The rows of a block with those that stand in it for others: (training, these, the rest)."""

    rows: Index
    n_own: int
    n_others: int

    @property
    def columns(self) -> int:
        """How many of the rows train in some split."""
        return self.n_own + self.n_others


def _solved(
    task: Task,
    kernel: Any,
    costs: Vector,
    blocks: list[Index],
    others: Index,
    threads: int,
) -> Iterator[tuple[int, Index, DecidedFold, float]]:
    """Yield for each split and block which of the split's test rows it has, and what they get.

    The last number is the share of the time for the kernel matrix.

    Parameters
    ----------
    others : ndarray of int64
        Rows that stand for those of other blocks.
    """
    for own in blocks:
        begin = time.perf_counter()
        n_own = int(np.count_nonzero(task.trains[own]))
        guests = np.setdiff1d(others, own)
        rows = np.concatenate([own[:n_own], guests, own[n_own:]])
        block = _Block(rows, n_own, len(guests))
        dtype = np.float64 if len(rows) <= SMALL else np.float32
        K = _matrix(kernel, task.X, block, dtype, threads)
        shared = (time.perf_counter() - begin) / len(task.splits)
        found: dict[int, tuple[Index, DecidedFold]] = {}
        for_each(partial(_solve, task, K, block, costs, found), range(len(task.splits)), threads)
        for split in sorted(found):
            yield split, *found[split], shared


def _matrix(kernel: Any, X: Rows, block: _Block, dtype: Any, threads: int) -> NDArray[np.floating]:
    """Return the kernel values of all rows of a block with those that train in some split."""
    if isinstance(kernel, KnownRows):
        return values_between(kernel, block.rows, block.rows[: block.columns])
    own = solved_rows(kernel, X[block.rows])
    Z = own[: block.columns]
    inner = kernel_matrix(kernel, Z, dtype=dtype, threads=threads)
    if block.columns == len(block.rows):
        return inner
    rest = own[block.columns :]
    across = kernel_matrix(kernel, rest, Z, dtype=dtype, threads=threads)
    return np.concatenate([inner, across])


def _solve(
    task: Task,
    K: NDArray[np.floating],
    block: _Block,
    costs: Vector,
    found: dict[int, tuple[Index, DecidedFold]],
    split: int,
) -> None:
    """Solve what a block has of a split."""
    place = np.full(task.X.shape[0], -1)
    place[block.rows] = np.arange(len(block.rows))
    trains = np.sort(place[task.splits[split][0]])
    trains = trains[trains >= 0]
    place[block.rows[block.n_own : block.columns]] = -1
    test = place[task.splits[split][1]]
    inside = np.flatnonzero(test >= 0)
    slack = SLACK if block.n_others else 1.0
    held = solve_fold(
        K,
        task.codes[block.rows],
        _weights(task, block, trains, split),
        trains,
        test[inside],
        costs,
        task.machines,
        equality=bool(task.base.fit_intercept),
        tol=slack * checking.tolerance(task.base.tol),
        most_steps=lambda _: checking.most_steps(task.base.max_iter, -1),
        task=task.base._task(),
    )
    found[split] = inside, held


def _weights(task: Task, block: _Block, trains: Index, split: int) -> Vector:
    """Return the weights of a block's rows; others weigh what they stand for."""
    weight, codes = task.weight[block.rows], task.codes[block.rows]
    own, others = trains[trains < block.n_own], trains[trains >= block.n_own]
    if len(others):
        total = task.weights_of_splits[split]
        total = total - np.bincount(codes[own], weight[own], minlength=len(total))
        weight[others] = weights_of_sample(codes[others], total)
    return weight
