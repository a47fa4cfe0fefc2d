"""Scoring candidates by blocks: a kernel's matrix of a block serves all folds and all C."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, Rows, kernel_matrix, stacked
from dcsvm_dask.methods.progress import advance_reporter
from dcsvm_dask.methods.resources import threads
from dcsvm_dask.methods.search.held_out import HeldOut, part_rows, read_split
from dcsvm_dask.methods.search.scores import no_scores, ranked, read_scores, write_scores
from dcsvm_dask.models.grid import FoldMachines, train_fold
from dcsvm_dask.models.weighted_sample import SLACK
from dcsvm_dask.random_streams import SEARCH_BLOCKS, generator
from dcsvm_dask.solvers.whole import SMALL
from dcsvm_dask.storage.node import Attempt, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Task

Index = NDArray[np.int64]
Matrix = NDArray[np.floating[Any]]

SOLVE = "solve"


def score_blocks(
    run: RunFolder,
    attempt: Attempt,
    *,
    kernel: Record,
    costs: list[float],
    candidates: list[int],
    first: int,
    last: int,
    slot: int,
    slots: int,
    alone: bool,
    tol: float,
    budget: int,
    of_task: list[dict[str, float]],
) -> Record:
    """Score some C of one kernel by the SVMs of some blocks (early prediction).

    The kernel matrix of a block is computed once, its folds are parts of it, C goes up. Where the
    kernel is smooth, some rows of other blocks stand in it for all of them; see `weighted_sample`.

    Parameters
    ----------
    candidates : list of int
        The numbers of these among all candidates.
    first, last : int
        Which of the blocks that have held-out rows, in a random order of them; every `slots`-th of
        these is this slot's.
    alone : bool
        Whether no other task runs beside this one.
    budget : int
        Most steps of an SVM for each row that it trains on.
    of_task : list of dict
        The epsilon or nu of each candidate, where these are searched over.
    """
    split, made = read_split(run), Kernel(**kernel)
    order = generator(split.problem.settings.seed, SEARCH_BLOCKS)
    mine = order.permutation(split.deciding)[first:last][slot::slots]
    scores = _Scores(split, made, np.array(costs), _series(split, of_task), tol, budget)
    advanced = advance_reporter()
    for done, number in enumerate(mine.tolist()):
        scores.add(number, threads(alone=alone))
        advanced(done + 1, len(mine), "blocks", {"kernel_values": scores.values})
    for number, name in enumerate(split.tally.sums):
        attempt.write(name, np.ascontiguousarray(scores.sums[:, :, number]))
    for name in ("rows", "seconds", "solved"):
        attempt.write(name, getattr(scores, name))
    return {
        "candidates": candidates,
        "blocks": len(mine),
        "weighted_rows": len(scores.standing),
        "kernel_values": scores.values,
        "solved": bool(scores.solved.all()),
    }


class _Scores:
    """What some C of one kernel score, added up over blocks.

    Parameters
    ----------
    split : HeldOut
    kernel : Kernel
    costs : ndarray, shape (n_costs,)
    series : list of (ndarray, Task)
        See `_series`.
    tol : float
    budget : int
        Most steps of an SVM for each row that it trains on.

    Attributes
    ----------
    sums : ndarray, shape (n_costs, n_folds, n_sums)
        Of the tally.
    rows : ndarray, shape (n_costs, n_folds)
        Rows that were decided.
    seconds : ndarray, shape (n_costs,)
    solved : ndarray of bool, shape (n_costs,)
        Whether all SVMs are solved.
    values : int
        Kernel values that were computed.
    standing : ndarray
        The rows that stand for those of other blocks.
    """

    def __init__(
        self,
        split: HeldOut,
        kernel: Kernel,
        costs: NDArray[np.float64],
        series: list[tuple[Index, Task]],
        tol: float,
        budget: int,
    ) -> None:
        self._split, self._kernel, self._costs, self._series = split, kernel, costs, series
        self._tol, self._budget = tol, budget
        shape = (len(costs), len(split.folds))
        self.sums, self.rows = np.zeros((*shape, len(split.tally.sums))), np.zeros(shape)
        self.seconds, self.solved = np.zeros(len(costs)), np.ones(len(costs), dtype=np.bool_)
        self.values = 0
        self.standing, self._standing_rows = split.weighted_sample(kernel)

    def add(self, number: int, threads: int) -> None:
        """Train and decide in one block.

        Parameters
        ----------
        number : int
            The block's.
        threads : int
            Those that compute the kernel matrix.
        """
        split, begin = self._split, time.perf_counter()
        own = split.blocks[number]
        outside = split.block_of[self.standing] != number
        others = self.standing[outside]
        known = np.concatenate([own, others])
        X = stacked([split.problem.take(own), self._standing_rows[outside]])
        dtype = np.float64 if len(known) <= SMALL else np.float32
        with np.errstate(over="ignore", invalid="ignore"):
            K = kernel_matrix(self._kernel, X, dtype=dtype, threads=threads)
        most = part_rows(values_of_row(len(known), len(self._costs), len(split.machines)))
        self.values += len(known) ** 2
        self.seconds += (time.perf_counter() - begin) / len(self._costs)
        tol = split.block_tol(self._tol) * (SLACK if len(others) else 1.0)
        for fold in split.folds:
            train, _ = split.of_fold(known, fold)
            _, test = split.of_fold(own, fold)
            weight = split.weight_beside(own, others, fold)
            with np.errstate(over="ignore", invalid="ignore"):
                trained = self._trained(K, split.y[known], weight, train, tol)
                begin = time.perf_counter()
                for decided in _held_out(split, number, test, self._kernel, X, K, most):
                    self._decide(fold, trained, *decided)
                    self.values += 0 if decided[0] is K else decided[0].size
                self.seconds += (time.perf_counter() - begin) / len(self._costs)

    def _trained(
        self, K: Matrix, y: NDArray[Any], weight: NDArray[np.float64], train: Index, tol: float
    ) -> list[FoldMachines | None]:
        """Return the SVMs of a fold for each series; None: the kernel is impossible here."""
        found: list[FoldMachines | None] = []
        for places, task in self._series:
            try:
                machines = train_fold(
                    K,
                    y,
                    weight,
                    train,
                    self._costs[places],
                    self._split.machines,
                    task=task,
                    equality=self._split.problem.settings.fit_intercept,
                    tol=tol,
                    most_steps=lambda rows: self._budget * rows,
                )
            except InputError:  # rows are finite, so it is the kernel
                self.solved[places] = False
                found.append(None)
            else:
                self.seconds[places] += machines.seconds
                self.solved[places] &= machines.solved
                found.append(machines)
        return found

    def _decide(
        self,
        fold: int,
        trained: list[FoldMachines | None],
        across: Matrix,
        tested: Index,
        truth: NDArray[Any],
        counts: NDArray[np.float64],
    ) -> None:
        """Add the scores of some held-out rows; see `_held_out`."""
        split = self._split
        self.rows[:, fold] += counts.sum()
        for (places, _), machines in zip(self._series, trained, strict=True):
            if machines is None:
                self.sums[places, fold] += split.tally.failed
                continue
            for place, of_C in zip(places, machines.decide(across, tested), strict=True):
                predicted = split.predicted(of_C)
                self.sums[place, fold] += split.tallies[fold].of(predicted, truth, counts)


def _series(split: HeldOut, of_task: list[dict[str, float]]) -> list[tuple[Index, Task]]:
    """Return the places of the candidates that follow each other, C ascending, with their task."""
    places: dict[tuple[tuple[str, float], ...], list[int]] = {}
    for place, one in enumerate(of_task):
        places.setdefault(tuple(one.items()), []).append(place)
    return [(np.array(some), split.task_with(dict(one))) for one, some in places.items()]


def values_of_row(block: float, costs: int, machines: int) -> int:
    """Return the number of float64 values of a held-out row while the SVMs of a block decide it.

    Parameters
    ----------
    block : float
        Rows of the block.
    costs : int
        Number of values of C.
    machines : int
        Number of binary SVMs.
    """
    return 2 * int(block) + costs * machines


def _held_out(
    split: HeldOut, number: int, test: Index, kernel: Kernel, X: Rows, K: Matrix, most: int
) -> Iterator[tuple[Matrix, Index, NDArray[Any], NDArray[np.float64]]]:
    """Yield what a block decides, at most so many rows at a time.

    Those of a fold are in the block's matrix K.

    Yields
    ------
    tuple
        A matrix of kernel values with the block's rows, which of its rows are decided, their
        classes or targets, and as how many each counts.
    """
    own = split.blocks[number]
    for start in range(0, len(test), most):
        some = test[start : start + most]
        yield K, some, split.y[own[some]], split.problem.weights[own[some]]
    for Z, truth, counts in split.outside(number, most):
        yield kernel_matrix(kernel, Z, X, dtype=K.dtype), np.arange(len(truth)), truth, counts


def commit_scores(
    run: RunFolder,
    attempt: Attempt,
    *,
    stage: str,
    nodes: list[list[int]],
    candidates: int,
    before: str | None,
) -> Record:
    """Add up what blocks said, with what those of the rung before said.

    Parameters
    ----------
    nodes : list of list of int
        The candidates that each node has scored.
    before : str or None
        The stage of the rung before.

    Returns
    -------
    dict
        ``ranked`` lists the candidates that were scored now, the chosen one first.
    """
    split = read_split(run)
    tally = split.tally
    found = no_scores(candidates, len(split.folds), tally)
    if before is not None:
        found = read_scores(run.node(before, "commit"), tally)
    for number, places in enumerate(nodes):
        node = run.node(stage, f"{SOLVE}-{number:04d}")
        for name in (*tally.sums, "rows", "seconds"):
            found[name][places] += node.read(name)
        found["solved"][places] &= node.read("solved")
    now = sorted({place for places in nodes for place in places})
    order = ranked(found, tally, now)
    whole = len(split.blocks) == 1
    return {"ranked": order, "whole": whole, **write_scores(attempt, found, tally, order[0], now)}
