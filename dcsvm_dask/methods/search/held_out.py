"""Rows that a search holds out, to score on: folds of the data, or a data set of their own."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import RunError
from dcsvm_dask.kernels import Kernel, Rows, stored_like
from dcsvm_dask.methods.block_table import read_table
from dcsvm_dask.methods.problem import ARRANGE, Problem, read_problem
from dcsvm_dask.methods.repeats import representatives
from dcsvm_dask.methods.run_data import data_of
from dcsvm_dask.models.grid import Machines
from dcsvm_dask.models.schemes import scheme_for
from dcsvm_dask.models.weighted_sample import sample_of, weighted_sample, weights_of_sample
from dcsvm_dask.solvers import Output, machines_of
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_sample import Data
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import (
    ACCURACY,
    ONE_CLASS,
    BalancedHits,
    Tally,
    Task,
    make_task,
    tally_of,
)

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

SPLIT = "split"
PART_ROWS, LEAST_PART_ROWS = 16_384, 256
"""Held-out rows that are looked at at a time, at most and at least."""
PART_VALUES = 1 << 23
"""Values of these that are in memory, about."""


def part_rows(width: int) -> int:
    """Return how many held-out rows are decided at a time, given the values that each takes."""
    return max(LEAST_PART_ROWS, min(PART_ROWS, PART_VALUES // max(1, width)))


@dataclass(frozen=True)
class HeldOut:
    """The problem with what is held out of it.

    Attributes
    ----------
    codes : ndarray, shape (n,), int32
        The class of each variable; 0 where there are real targets.
    weight : ndarray, shape (n,), float64
        Its upper bound for C = 1.
    fold : ndarray, shape (n,), integers
        The fold in which it is held out, -1: in none.
    data : DataSet or None
        Rows that are held out of all; None: there are folds.
    block : ndarray, shape (data.n_rows,), integers
        The block that decides each of these.
    sorted_rows : Committed or None
        What `split_rows` wrote of these rows, block after block; None: there are folds, or one
        block.
    blocks : list of ndarray
        The variables of each block.
    n_classes : int
        1 where there are real targets.
    targets : ndarray, shape (n,), float64, or None
        The target of each variable; None: there are classes.
    origin : float, default 0.0
        About the mean of the targets.
    """

    problem: Problem
    codes: NDArray[np.int32]
    weight: Vector
    fold: NDArray[Any]
    data: DataSet | None
    block: NDArray[Any]
    sorted_rows: Committed | None
    blocks: list[Index]
    n_classes: int
    targets: Vector | None = None
    origin: float = 0.0

    @property
    def y(self) -> NDArray[Any]:
        """What SVMs learn of each variable: its class or its target."""
        return self.codes if self.targets is None else self.targets

    @cached_property
    def tally(self) -> Tally:
        """How held-out rows are scored; `tallies` take them in."""
        scoring = self.problem.settings.options.get("scoring", ACCURACY)
        return tally_of(self.problem.task, {"mean": self.origin}, scoring)

    @cached_property
    def tallies(self) -> list[Tally]:
        """How the held-out rows of each fold are scored."""
        if not isinstance(self.tally, BalancedHits):
            return [self.tally] * len(self.folds)
        return [BalancedHits(rows) for rows in self.held_out_classes]

    @property
    def held_out_classes(self) -> Vector:
        """Held-out rows by fold and class, with their weights: shape (folds, n_classes)."""
        if self.data is not None:
            codes, n = self.data.read_codes(0, self.data.n_rows), self.data.n_rows
            weights = self.data.read_weights(0, n)
            return np.bincount(codes, weights, self.n_classes).astype(np.float64)[None]
        place = self.fold * np.int64(self.n_classes) + self.codes
        shape = len(self.folds), self.n_classes
        found = np.bincount(place, self.problem.weights, math.prod(shape)).astype(np.float64)
        return found.reshape(shape)

    def task_with(self, own: dict[str, float]) -> Task:
        """Return the task of a candidate: the run's, with an epsilon or a nu of its own."""
        settings = self.problem.settings
        return make_task(settings.task, {**settings.task_options, **own})

    def block_tol(self, tol: float) -> float:
        """Return the tolerance of blocks: where they rank, a share of the spread of targets."""
        return tol if len(self.blocks) == 1 else tol * max(1.0, self.problem.task.unit)

    @cached_property
    def block_of(self) -> NDArray[np.int32]:
        """The block of each variable."""
        found = np.empty(self.problem.n, dtype=np.int32)
        for number, rows in enumerate(self.blocks):
            found[rows] = number
        return found

    @cached_property
    def sample(self) -> tuple[Index, Rows]:
        """Variables of which some may stand for others, and their rows."""
        in_given_order = np.argsort(self.problem.rows)
        index = sample_of(self.codes, self.weight, in_given_order, self.problem.settings.seed)
        return index, self.problem.take(index)

    def weighted_sample(self, kernel: Kernel) -> tuple[Index, Rows]:
        """Return the variables that stand for those of other blocks, and their rows."""
        none = np.empty(0, dtype=np.int64)
        if len(self.blocks) == 1:
            return none, self.problem.take(none)
        with _reading:  # one task looks through all variables for those beside it
            (index, X), _ = self.sample, self.weights_of_folds
        some = weighted_sample(kernel, X, self.block_of[index], max(map(len, self.blocks)))
        return index[some], X[some]

    def weight_beside(self, own: Index, others: Index, fold: int) -> Vector:
        """Return the weights of a block's variables and of the weighted sample of the others.

        Parameters
        ----------
        own, others : ndarray of int64
            The variables of the block, and the sample.
        fold : int
            The held-out fold.
        """
        trains, _ = self.of_fold(own, fold)
        total = self.weights_of_folds[fold] - self._of_classes(own[trains])
        weight, (trains, _) = np.zeros(len(others)), self.of_fold(others, fold)
        weight[trains] = weights_of_sample(self.codes[others[trains]], total)
        return np.concatenate([self.weight[own], weight])

    @cached_property
    def weights_of_folds(self) -> Vector:
        """The weights of the variables that each fold trains on, by class: (folds, n_classes)."""
        shape = len(self.folds) + 1, self.n_classes
        place = (self.fold + 1) * np.int64(self.n_classes) + self.codes
        held_out = np.bincount(place, self.weight, math.prod(shape)).reshape(shape)
        return np.asarray(held_out.sum(axis=0) - held_out[1:])

    def _of_classes(self, index: Index) -> Vector:
        found = np.bincount(self.codes[index], self.weight[index], minlength=self.n_classes)
        return found.astype(np.float64)

    @property
    def folds(self) -> range:
        """The folds."""
        return range(max(1, int(self.fold.max()) + 1))

    @property
    def machines(self) -> Machines:
        """Those of all classes, or the one of real targets."""
        if self.targets is not None:
            return [Output(0)]
        return machines_of(self.n_classes, self.problem.settings.multiclass)

    def predicted(self, values: Vector) -> NDArray[Any]:
        """Return the class of each row, given the decision values of all SVMs.

        Or what the tally takes instead: the target, or the decision value of class 1.
        """
        if self.targets is not None:
            return np.asarray(values[:, 0])
        multiclass = self.problem.settings.multiclass
        if self.n_classes > 2:
            return scheme_for(self.n_classes, multiclass).classes_of(values)
        positive = machines_of(2, multiclass)[0].positive
        if self.tally.takes_values:
            return np.asarray(values[:, 0] if positive == 1 else -values[:, 0])
        return np.where(values[:, 0] > 0, positive, 1 - positive)

    @property
    def deciding(self) -> Index:
        """The blocks that have held-out rows to decide."""
        return np.arange(len(self.blocks)) if self.data is None else np.unique(self.block)

    def outside(self, block: int, most: int) -> Iterator[tuple[Rows, NDArray[Any], Vector]]:
        """Yield the rows that are held out of all and decided by a block, at most so many at once.

        With their classes or targets, and weights; none where there are folds.
        """
        if self.data is None:
            return
        if self.sorted_rows is None:
            yield from self.batches(np.empty(0, dtype=np.int64), most)
            return
        rows = self.sorted_rows.open_rows("rows")
        first = int(np.count_nonzero(self.block < block))
        last = first + int(np.count_nonzero(self.block == block))
        for start in range(first, last, most):
            some = slice(start, min(start + most, last))
            truth = self.sorted_rows.read("codes" if self.targets is None else "targets", some)
            weighted = self.sorted_rows.record["weighted"]
            counts = self.sorted_rows.read("weights", some) if weighted else np.ones(len(truth))
            yield rows.read(some.start, some.stop), truth, counts

    def of_fold(self, own: Index, fold: int) -> tuple[Index, Index]:
        """Return the places among some variables that a fold trains on, and that it decides."""
        out = self.fold[own] == fold
        return np.flatnonzero(~out), np.flatnonzero(out)

    def batches(self, test: Index, most: int) -> Iterator[tuple[Rows, NDArray[Any], Vector]]:
        """Yield the rows that are held out, their classes or targets, and as how many each counts.

        Parameters
        ----------
        test : ndarray of int64
            The variables of a fold; none where rows are held out of all.
        most : int
            Rows at a time.
        """
        n = len(test) if self.data is None else self.data.n_rows
        for start in range(0, n, most):
            stop = min(start + most, n)
            if self.data is not None:
                truth = self.data.read_y(start, stop)
                weights = self.data.read_weights(start, stop)
                counts = np.ones(stop - start) if weights is None else weights
                yield self._like_problem(self.data.rows.read(start, stop)), truth, counts
            else:
                some = test[start:stop]
                counts = self.problem.weights[some].astype(np.float64)
                yield self.problem.take(some), self.y[some], counts

    def _like_problem(self, rows: Rows) -> Rows:
        return stored_like(rows, as_csr=self.problem.X.is_sparse)


def codes_and_targets(
    problem: Problem, data: Data, arranged: Committed
) -> tuple[NDArray[np.int32], Vector | None]:
    """Return the class of each variable, or zeros and its target or label of novelty."""
    y = data.read_y(0, data.n_rows)[problem.rows]
    if problem.task.has_classes:
        return y, None
    none, name = np.zeros(problem.n, dtype=np.int32), problem.task.name
    if name != ONE_CLASS:
        return none, problem.task.targets(y)
    # Equal rows are one variable, whatever their labels: each counts with the mean of them.
    shown = representatives(arranged)
    labels = problem.task.targets(data.read_y(0, data.n_rows)).astype(np.float64)
    if shown is None:
        return none, labels[problem.rows]
    weights = data.read_weights(0, data.n_rows)
    sums = np.bincount(shown, labels if weights is None else labels * weights, data.n_rows)
    often = np.bincount(shown, weights, data.n_rows)
    return none, sums[problem.rows] / often[problem.rows]


def read_split(run: RunFolder) -> HeldOut:
    """Open what is held out; kept for the next step of the process."""
    with _reading:  # one task reads for those that begin beside it
        return _read_split(run.place.url, run.node(SPLIT, "commit").attempt)


_reading = threading.Lock()


@lru_cache(maxsize=1)
def _read_split(run_url: str, attempt: str) -> HeldOut:
    del attempt  # part of the cache's key
    run = RunFolder.open(run_url)
    problem, data, commit = read_problem(run), data_of(run), run.node(SPLIT, "commit")
    codes, targets = codes_and_targets(problem, data, run.node(ARRANGE, "commit"))
    settings, held, block = problem.settings, None, np.empty(0, dtype=np.int32)
    sorted_rows = None
    if not commit.record["folds"]:
        held, block = DataSet.open(run.header["holdout"]), commit.read("block")
        if held.fingerprint != commit.record["fingerprint"]:
            raise RunError(
                f"{run.place}: its held-out rows {held.url} are others now than when it was begun"
            )
    blocks = [np.arange(problem.n)]
    if run.node(ARRANGE, "commit").record["parts"]:
        table = read_table(run, ARRANGE)
        blocks = [table.rows(number) for number in range(table.n_blocks)]
        sorted_rows = None if held is None else commit
    return HeldOut(
        problem=problem,
        codes=codes,
        weight=settings.bound_of(codes) / settings.C * problem.weights,
        fold=commit.read("fold"),
        data=held,
        block=block,
        sorted_rows=sorted_rows,
        blocks=blocks,
        n_classes=len(data.counts) if targets is None else 1,
        targets=targets,
        origin=0.0 if data.targets is None else data.targets["mean"],
    )
