"""The problem in the run's own order of rows: arranged rows, labels, upper bounds.

Rows equal in x and y are one variable (its bound is the sum of theirs). Where there are blocks,
variables are numbered in the order in which ``arrange`` put them on disk: block after block of the
bottom partition; else in the order of the data set, whose rows are read where they lie.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows
from dcsvm_dask.methods.resources import cache_bytes
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.solvers import Machine, machines_of
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_sample import Data, SampledDataSet, sampled
from dcsvm_dask.storage.node import Committed, Record
from dcsvm_dask.storage.rows import ConcatRows
from dcsvm_dask.storage.rows.cache import CachedRows
from dcsvm_dask.storage.rows.selected import SelectedRows
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import TASKS, Dual, Task

ARRANGE = "arrange"
PROBE = "probe"


@dataclass(frozen=True)
class Variables:
    """Variables of the dual problem, numbered in the run's order, whatever their labels are.

    Attributes
    ----------
    weights : ndarray, shape (n,), unsigned integers or float64
        How many rows of the data set each variable stands for; or the sum of their weights.
    read_rows : callable
        Returns `rows`, which few steps need.
    """

    settings: Settings
    X: CachedRows | SelectedRows
    weights: NDArray[Any]
    read_rows: Callable[[], NDArray[np.int64]] = field(repr=False)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The row of the data set that stands for each variable."""
        return self.read_rows()

    @property
    def task(self) -> Task:
        """What is learned."""
        return TASKS[self.settings.task]

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.weights)

    @property
    def row_values(self) -> float:
        """Values that a row holds, on average."""
        return max(1.0, self.X.nbytes_of(0, self.n) / (4 * max(1, self.n)))

    def take(self, index: NDArray[np.int64]) -> Rows:
        """Return the rows of some variables."""
        return self.X.take(index)


@dataclass(frozen=True)
class Problem(Variables):
    """The problem of one machine: of two classes, or of a task without classes.

    Attributes
    ----------
    stored : ndarray, shape (n,)
        Targets as the run keeps them: of two classes -1 and +1, as int8.
    """

    stored: NDArray[Any]

    @cached_property
    def dual(self) -> Dual:
        """The dual problem of all variables."""
        return self.task.dual(self.targets, self.C)

    def dual_of(self, index: NDArray[np.int64]) -> Dual:
        """Return the dual problem of some variables, without making that of all."""
        return self.task.dual(self.targets_of(index), self.bounds(index))

    @property
    def targets(self) -> NDArray[np.float64]:
        """Targets of all variables."""
        return self.stored.astype(np.float64)

    @property
    def C(self) -> NDArray[np.float64]:  # noqa: N802 - the field's name
        """Weights of the losses of all variables."""
        return np.asarray(self.each_C * self.weights)

    @cached_property
    def each_C(self) -> NDArray[np.float64]:  # noqa: N802
        """What one row of weight one adds to the weight of its variable's loss."""
        return self.settings.bound_of((self.stored > 0).astype(np.int8))

    def targets_of(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the targets of some variables, without making those of all."""
        return self.stored[index].astype(np.float64)

    def bounds(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the weights of some variables' losses, without making those of all."""
        each = self.settings.bound_of((self.stored[index] > 0).astype(np.int8))
        return np.asarray(each * self.weights[index])


@dataclass(frozen=True)
class ClassProblem(Variables):
    """The problem of many classes, of which each machine has some of the rows.

    Attributes
    ----------
    codes : ndarray, shape (n,), int32
        The class of each variable.
    n_classes : int
    """

    codes: NDArray[np.int32]
    n_classes: int

    @cached_property
    def machines(self) -> list[Machine]:
        """The machines of the run's scheme, in their order."""
        return machines_of(self.n_classes, self.settings.multiclass)

    def bounds(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the upper bounds of some variables."""
        return np.asarray(self.settings.bound_of(self.codes[index]) * self.weights[index])


def settings_of(run: RunFolder) -> Settings:
    """Return the settings of a run."""
    return Settings.from_json(run.header["settings"])


def data_of(run: RunFolder) -> Data:
    """Open the run's training data, as far as its method looks at them.

    Raises
    ------
    InputError
        If others lie there now than those that the run was begun with.
    """
    data = DataSet.open(run.header["data"]["url"])
    if data.fingerprint != run.header["data"]["fingerprint"]:
        raise InputError(
            f"{run.place}: was begun with other data than {data.url} holds now "
            "(the fingerprints differ); train a new run"
        )
    settings = settings_of(run)
    return seen_by(data, settings.options, settings.seed)


def seen_by(data: DataSet, options: Record, seed: int) -> Data:
    """Return the rows of a data set that a method looks at: a share of them if it says so."""
    return sampled(data, options["fraction"], seed) if "fraction" in options else data


def data_rows(run: RunFolder) -> CachedRows | SelectedRows:
    """Return the rows of the run's training data; those read last stay until they are arranged."""
    data = data_of(run)
    rows = _cached_rows(data.url, data.attempt)
    return SelectedRows(rows, data.index) if isinstance(data, SampledDataSet) else rows


@lru_cache(maxsize=1)
def _cached_rows(url: str, attempt: str) -> CachedRows:
    del attempt  # part of the cache's key: data that were ingested again under the same name
    return CachedRows(DataSet.open(url).rows, cache_bytes())


def read_problem(run: RunFolder) -> Problem:
    """Open the arranged problem of a run; kept for the next step of the same process."""
    with _reading:  # one task reads for those that begin beside it
        return _read_problem(run.place.url, run.node(ARRANGE, "commit").attempt)


def read_classes(run: RunFolder) -> ClassProblem:
    """Open the problem of a run of many classes, as `read_problem` does that of two."""
    with _reading:
        return _read_classes(run.place.url, run.node(ARRANGE, "commit").attempt)


def read_variables(run: RunFolder) -> Variables:
    """Open the problem of a run, of two classes or of many."""
    return read_classes(run) if is_of_classes(run) else read_problem(run)


def is_of_classes(run: RunFolder) -> bool:
    """Return whether a run has more than two classes."""
    return bool(run.header.get("shape", {}).get("class_rows"))


_reading = threading.Lock()


@lru_cache(maxsize=1)
def _read_problem(run_url: str, attempt: str) -> Problem:
    del attempt  # part of the cache's key: another attempt is another problem
    run = RunFolder.open(run_url)
    task = TASKS[settings_of(run).task]
    arranged, stored = _read_arranged(
        run, "y", lambda data, codes: task.targets(codes, data.classes)
    )
    return Problem(**arranged, stored=stored)


@lru_cache(maxsize=1)
def _read_classes(run_url: str, attempt: str) -> ClassProblem:
    del attempt  # as above
    run = RunFolder.open(run_url)
    arranged, codes = _read_arranged(run, "codes", lambda _, codes: codes)
    n_classes = len(run.header["shape"]["class_rows"])
    return ClassProblem(**arranged, codes=codes, n_classes=n_classes)


def _read_arranged(
    run: RunFolder, name: str, read: Callable[[Data, NDArray[np.int32]], NDArray[Any]]
) -> tuple[dict[str, Any], NDArray[Any]]:
    """Return the fields of `Variables`, and targets or classes of the variables.

    Parameters
    ----------
    name : str
        The array that has them where rows were arranged.
    read : callable
        Makes them of codes where rows lie as they were.
    """
    commit, settings = run.node(ARRANGE, "commit"), settings_of(run)
    if not commit.record["parts"]:
        data, rows = data_of(run), commit.read("rows")
        codes = data.read_codes(0, data.n_rows)[rows]
        return {
            "settings": settings,
            "X": SelectedRows(data_rows(run), rows),
            "weights": commit.read("weight"),
            "read_rows": lambda: rows,
        }, read(data, codes)
    _cached_rows.cache_clear()
    parts = [run.node(ARRANGE, f"part-{i:04d}") for i in range(commit.record["parts"])]

    def gathered(name: str) -> NDArray[Any]:
        return np.concatenate([part.read(name) for part in parts])

    stored = ConcatRows([part.open_rows("X") for part in parts])
    return {
        "settings": settings,
        "X": CachedRows(stored, cache_bytes()),
        "weights": gathered("weight"),
        "read_rows": lambda: gathered("rows"),
    }, gathered(name)


def shared_out(run: RunFolder, problem: Problem, beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return alpha of every row of the data set: rows that were merged share by their weights."""
    commit, dual = run.node(ARRANGE, "commit"), problem.task.dual(problem.targets, problem.each_C)
    each = np.zeros(commit.record["rows"])
    shares = dual.clip(beta / problem.weights)  # rounding may lead beyond a bound
    each[problem.rows] = problem.task.alpha(shares)
    return spread(run, commit, each)


def spread(run: RunFolder, arranged: Committed, each: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what every row has of what its representative has for each unit of weight.

    Parameters
    ----------
    each : ndarray, shape (..., n_rows)
    """
    representative, data = representatives(arranged), data_of(run)
    by_row = each if representative is None else each[..., representative]
    weights = data.read_weights(0, data.n_rows)
    return by_row if weights is None else by_row * weights


def representatives(arranged: Committed) -> NDArray[np.int64] | None:
    """Return the row that stands for each row of the data set; None: there are no repeats."""
    record = arranged.record
    return None if record["variables"] == record["rows"] else arranged.read("representative")
