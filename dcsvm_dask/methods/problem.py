"""The problem in the run's own order of rows: arranged rows, targets, weights.

Rows equal in x and y are one variable (its bound is the sum of theirs). Where there are blocks,
variables are numbered in the order in which ``arrange`` put them on disk: block after block of the
bottom partition; else in the order of the data set, whose rows are read where they lie.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import (
    Boxes,
    Rows,
    is_sparse,
    solved_rows,
    stacked,
    stored_for_speed,
    stored_like,
)
from dcsvm_dask.methods.machines import (
    AnyMachine,
    has_several,
    machines_for,
    scheme_of_run,
    task_of_machine,
)
from dcsvm_dask.methods.resources import cache_bytes
from dcsvm_dask.methods.run_data import (
    cached_rows,
    data_of,
    data_rows,
    number_of_classes,
    settings_of,
    stored_targets,
)
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.models.schemes import Scheme
from dcsvm_dask.solvers import labels_of_classes
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.rows import ConcatRows
from dcsvm_dask.storage.rows.cache import CachedRows
from dcsvm_dask.storage.rows.selected import SelectedRows
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Dual, Task

ARRANGE = "arrange"
PROBE = "probe"
OFFSET = "offset"
CHUNK_ROWS = 4096


RUNS, LOOKED_AT = 8, 256
"""Runs of so many rows, spread over all, that tell how many values are not 0."""


@dataclass(frozen=True)
class Problem:
    """The dual problems of a run, over variables that are numbered in the run's order.

    Two classes, and a task without classes, have one SVM with all variables; more classes have
    several, each with the variables of some classes, and several quantiles one each with all; see
    `machines`.

    Attributes
    ----------
    settings : Settings
    X : CachedRows or SelectedRows
        The row of each variable.
    weights : ndarray, shape (n,), unsigned integers or float64
        The number of rows of the data set that a variable stands for, or the sum of their weights.
    read_rows : callable
        Returns `rows`, which few steps need.
    stored : ndarray, shape (n,)
        Targets as the run keeps them, see `stored_targets`: of two classes -1 and +1 (int8), of
        more their codes (int32), else real targets (float64).
    n_classes : int
        0 for a task without classes.
    first_bias, first_epsilon : float
        The bias that the first level begins with, and the multiplier of the sum of sizes that all
        levels have; see `Dual.eased`.
    first_epsilons : tuple of float
        Of several SVMs these multipliers, where they have sums of sizes.
    read_boxes : callable
        Returns `boxes`, which only products of a kernel that decays need.
    """

    settings: Settings
    X: CachedRows | SelectedRows
    weights: NDArray[Any]
    read_rows: Callable[[], NDArray[np.int64]] = field(repr=False)
    stored: NDArray[Any]
    n_classes: int = 2
    first_bias: float = 0.0
    first_epsilon: float = 0.0
    first_epsilons: tuple[float, ...] = ()
    read_boxes: Callable[[], Boxes | None] = field(default=lambda: None, repr=False)

    @cached_property
    def boxes(self) -> Boxes | None:
        """Boxes of runs of the variables; None where there are none, see `has_boxes`."""
        return self.read_boxes()

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The row of the data set that stands for each variable."""
        return self.read_rows()

    @cached_property
    def task(self) -> Task:
        """The task of the run."""
        return self.settings.make_task()

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.weights)

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return the rows of some variables."""
        return self.X.take(index)

    def for_speed(self, X: Rows) -> Rows:
        """Return some of its rows stored in the way in which kernel values cost least, all alike.

        Of CSR rows far ones cannot be left out; see `stored_for_speed`.
        """
        return stored_like(X, as_csr=self._is_fast_as_csr)

    def solved_rows(self, X: Rows) -> Rows:
        """Return rows as `dcsvm_dask.kernels.solved_rows` does."""
        return solved_rows(self.settings.kernel, X)

    @cached_property
    def _is_fast_as_csr(self) -> bool:
        starts = np.linspace(0, max(0, self.n - LOOKED_AT), RUNS).astype(np.int64)
        some = [self.X.read(int(at), min(self.n, int(at) + LOOKED_AT)) for at in starts]
        return is_sparse(stored_for_speed(stacked(some)))

    def take_chunks(self, index: NDArray[np.int64]) -> Iterator[Rows]:
        """Yield the rows of some variables, a few thousand at a time."""
        for start in range(0, len(index), CHUNK_ROWS):
            yield self.take(index[start : start + CHUNK_ROWS])

    @property
    def has_several(self) -> bool:
        """Whether there are several SVMs: of more than two classes, or of several outputs."""
        return has_several(self.settings, self.n_classes)

    @cached_property
    def machines(self) -> list[AnyMachine]:
        """The SVMs of a problem that has several, in the order of the run's scheme."""
        return machines_for(self.settings, self.n_classes)

    @cached_property
    def scheme(self) -> Scheme:
        """How the SVMs share support vectors and decide."""
        return scheme_of_run(self.settings, self.n_classes)

    @property
    def codes(self) -> NDArray[Any]:
        """Of several SVMs what says which variables each has: the classes, or the targets."""
        return self.stored

    def groups_of(self, index: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the group of support vectors that variables belong to: its class, or the only."""
        if self.n_classes > 2:
            return self.stored[index].astype(np.int64)
        return np.zeros(len(index), dtype=np.int64)

    def duals_of(self, index: NDArray[np.int64]) -> Dual:
        """Return the dual problems of several SVMs side by side, arrays of shape (n, n_machines).

        Variables that an SVM does not have are fixed at 0.
        """
        C = self.bounds(index)
        if self.n_classes <= 2:
            return self.task.dual(self.targets_of(index), C)
        labels = labels_of_classes(self.n_classes, self.scheme.name)
        y = labels[self.stored[index]].astype(np.float64)
        if not self.first_epsilons:
            return self.task.dual(y, C[:, None])
        scales = np.array([self.task.decision_scale(one) for one in self.first_epsilons])
        return self.task.dual(y, C[:, None] / scales).eased(-1.0)  # see `decided`

    def dual_of_machine(
        self, number: int, targets: NDArray[np.float64], C: NDArray[np.float64]
    ) -> Dual:
        """Return the dual problem of some variables of one of several SVMs, as levels solve it.

        Where sizes have a sum it is in the scale in which the SVM decides, with the multiplier.

        Parameters
        ----------
        number : int
            Number of the SVM, in the order of the scheme.
        targets, C : ndarray, shape (n,), float64
            As for `Task.dual`.
        """
        task = task_of_machine(self.task, self.machines[number])
        if not self.first_epsilons:
            return task.dual(targets, C)
        return decided(task, targets, C, self.first_epsilons[number])

    @cached_property
    def dual(self) -> Dual:
        """The dual problem of the only SVM."""
        return self.task.dual(self.targets, self.C)

    def dual_of(self, index: NDArray[np.int64]) -> Dual:
        """Return the dual problem of some variables of the only SVM, without making that of all.

        Where the sizes of all variables have a sum its multiplier stands for it, so that blocks are
        problems of their own.
        """
        return self.task.dual(self.targets_of(index), self.bounds(index)).eased(self.first_epsilon)

    def dual_at(self, beta: NDArray[np.float64]) -> Dual:
        """Return the dual problem at a point, which says whether a sum of sizes is reached."""
        return self.dual if self.size is None else self.dual.with_size(beta, self.size)

    @property
    def targets(self) -> NDArray[np.float64]:
        """Targets of all variables of the only SVM."""
        return self.stored.astype(np.float64)

    def targets_of(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the targets of some variables of the only SVM, without making those of all."""
        return self.stored[index].astype(np.float64)

    @property
    def C(self) -> NDArray[np.float64]:  # noqa: N802 - the field's name
        """Weights of the losses of all variables."""
        return np.asarray(self.each_C * self.weights)

    @cached_property
    def total(self) -> float:
        """The sum that the variables of the only SVM have where there is a bias, if not zero."""
        return self.task.total(self.C) if self.task.has_sum else 0.0

    @cached_property
    def size(self) -> float | None:
        """The largest sum of the sizes of the only SVM's variables; None: there is none."""
        return self.task.size(self.C)

    @cached_property
    def each_C(self) -> NDArray[np.float64]:  # noqa: N802
        """Weight of the loss of a row of weight one, for each variable."""
        return self._bound_of(self.stored)

    def bounds(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of some variables' losses, without making those of all."""
        return np.asarray(self._bound_of(self.stored[index]) * self.weights[index])

    def _bound_of(self, stored: NDArray[Any]) -> NDArray[np.float64]:
        codes = stored if self.n_classes > 2 else (stored > 0).astype(np.int8)
        return self.settings.bound_of(codes)


def chunks_in_data_order(
    run: RunFolder, problem: Problem, index: NDArray[np.int64]
) -> Iterator[Rows]:
    """Yield the rows of variables that are in the order of the data set, some thousand at a time.

    Where not all rows stay in memory those of the data set are read: each of its chunks once, while
    every thousand would need nearly all chunks of rows in block order.

    Parameters
    ----------
    run : RunFolder
    problem : Problem
    index : ndarray of int64, shape (m,)
        The variables; `Problem.rows` ascend, or do so in a few runs.
    """
    if problem.X.nbytes_of(0, problem.n) <= cache_bytes():
        yield from problem.take_chunks(index)
        return
    rows, of_data = data_of(run).rows, problem.rows[index]
    for start in range(0, len(index), CHUNK_ROWS):
        yield rows.take(of_data[start : start + CHUNK_ROWS])


def read_problem(run: RunFolder) -> Problem:
    """Open the arranged problem of a run; kept for the next step of the same process."""
    with _reading:  # one task reads for those that begin beside it
        return _read_problem(run.place.url, run.node(ARRANGE, "commit").attempt)


_reading = threading.Lock()


@lru_cache(maxsize=1)
def _read_problem(run_url: str, attempt: str) -> Problem:
    del attempt  # part of the cache's key: another attempt is another problem
    run = RunFolder.open(run_url)
    commit, settings, n_classes = (
        run.node(ARRANGE, "commit"),
        settings_of(run),
        number_of_classes(run),
    )
    offset = run.find(OFFSET, "commit")
    first_bias = first_epsilon = 0.0
    first_epsilons: tuple[float, ...] = ()
    if offset is not None and "epsilons" in offset.record:
        first_epsilons = tuple(offset.record["epsilons"])
    elif offset is not None:
        settings, first_bias = informed(settings, offset.record), float(offset.record["bias"])
        first_epsilon = float(offset.record.get("epsilon", 0.0))
    if not commit.record["parts"]:
        data, rows = data_of(run), commit.read("rows")
        stored = stored_targets(run, data.read_y(0, data.n_rows)[rows])
        X = SelectedRows(data_rows(run), rows)
        weights = commit.read("weight")
        return Problem(
            settings,
            X,
            weights,
            lambda: rows,
            stored,
            n_classes,
            first_bias,
            first_epsilon,
            first_epsilons,
        )
    cached_rows.cache_clear()
    parts = [run.node(ARRANGE, f"part-{i:04d}") for i in range(commit.record["parts"])]

    def gathered(name: str) -> NDArray[Any]:
        return np.concatenate([part.read(name) for part in parts])

    arranged = CachedRows(ConcatRows([part.open_rows("X") for part in parts]), cache_bytes())

    def boxes() -> Boxes | None:
        if not has_boxes(settings, arranged.is_sparse):
            return None
        stored = ([part.read(name) for name in ("sizes", "low", "high")] for part in parts)
        return Boxes.joined([Boxes.stored(*each) for each in stored])

    return Problem(
        settings,
        arranged,
        gathered("weight"),
        lambda: gathered("rows"),
        gathered("targets"),
        n_classes,
        first_bias,
        first_epsilon,
        first_epsilons,
        boxes,
    )


def has_boxes(settings: Settings, is_sparse: bool) -> bool:
    """Return whether an arrangement has boxes, by which far rows are left out of products."""
    return settings.kernel.is_shift_invariant and not is_sparse


def decided(
    task: Task, targets: NDArray[np.float64], C: NDArray[np.float64], epsilon: float
) -> Dual:
    """Return the problem with a multiplier for the sum of sizes, in the scale that decides.

    Of nu-SVC it is the C-SVC at C / rho.

    Parameters
    ----------
    task : Task
    targets, C : ndarray, shape (n,), float64
        As for `Task.dual`.
    epsilon : float
        The multiplier; see `Dual.eased`.
    """
    scale = task.decision_scale(epsilon)
    return task.dual(targets, C / scale).eased(epsilon / scale)


def informed(settings: Settings, record: Record) -> Settings:
    """Return settings whose task and levels know the size of gradients.

    Parameters
    ----------
    settings : Settings
    record : dict
        That of the stage `OFFSET`, which estimates the bias on random rows.
    """
    unit = max(float(record.get("unit", abs(record["bias"]))), settings.alone_tol)
    larger = unit / settings.make_task().unit
    return replace(
        settings,
        task_options={**settings.task_options, "unit": unit},
        level_tol=max(settings.level_tol * larger, settings.alone_tol),
    )
