"""The rows of a part, a piece at a time, and the dual problem of an SVM on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Rows, is_sparse
from dcsvm_dask.kernels.rows import LARGEST_VALUE, largest_value, too_large_message
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.methods.sizes import share
from dcsvm_dask.solvers import labels_of_classes
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.tasks import Dual

Index = NDArray[np.int64]


class PartRows(Sequence[Rows]):
    """The rows of a part, read a piece at a time from where the data set has them.

    Parameters
    ----------
    problem : Problem
    start, stop : int
        The part.
    chunks : int
        In how many pieces they are read; that read last stays in memory.
    """

    def __init__(self, problem: Problem, start: int, stop: int, chunks: int) -> None:
        self._problem, self._start, self._n = problem, start, stop - start
        self._chunks = min(chunks, max(1, self._n))
        self._held: tuple[int, Rows] | None = None

    def __len__(self) -> int:
        return self._chunks

    def __getitem__(self, i: int) -> Rows:  # type: ignore[override]
        if self._held is None or self._held[0] != i:
            self._held = None  # before the next one takes its room
            start, stop = share(self._n, i, self._chunks)
            first = self._start + start
            self._held = i, checked_rows(self._problem, first, self._start + stop)
        return self._held[1]


def checked_rows(problem: Problem, start: int, stop: int) -> Rows:
    """Return the rows of some variables; refuse values whose products are too large.

    Raises
    ------
    InputError
        With the row of the data set and the feature.
    """
    rows = problem.X.read(start, stop)
    found = largest_value(rows)
    if found is not None and abs(found[2]) > LARGEST_VALUE:
        row, feature, value = found
        where = str(problem.rows[start + row])
        raise InputError(f"the training data: {too_large_message(str(feature), where, value)}")
    return rows


def part_of(problem: Problem, part: int, parts: int) -> Index:
    """Return the variables of a part."""
    return np.arange(*share(problem.n, part, parts))


def dual_of(problem: Problem, machine: int, index: Index) -> Dual:
    """Return the dual problem of one of a run's SVMs on some variables.

    Those that take no part, since they are of other classes or have no weight, are fixed at 0.

    Parameters
    ----------
    problem : Problem
    machine : int
        Number of the SVM in the order of the scheme; 0 where there is one.
    index : ndarray, shape (m,), int64
    """
    C, targets = problem.bounds(index), problem.targets_of(index)
    if problem.n_classes > 2:
        labels = labels_of_classes(problem.n_classes, problem.scheme.name)[:, machine]
        targets = labels[problem.codes[index]].astype(np.float64)
        C, targets = np.where(targets == 0.0, 0.0, C), np.where(targets == 0.0, 1.0, targets)
    takes_part = C > 0.0
    # The ridge is in proportion to 1 / C.
    C = np.where(takes_part, C, 1.0)
    if problem.has_several:
        dual = problem.dual_of_machine(machine, targets, C)
    else:
        dual = problem.task.dual(targets, C)
    if takes_part.all():
        return dual
    lower, upper = (np.where(takes_part, one, 0.0) for one in (dual.lower, dual.upper))
    return replace(dual, lower=lower, upper=upper)


def arrays_of(rows: Rows) -> dict[str, NDArray[Any]]:
    """Return some rows as arrays of a node: few rows are not worth a folder of their own."""
    if not is_sparse(rows):
        return {"rows": rows}
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}


def rows_of(node: Committed, n_features: int) -> Rows:
    """Return the rows whose arrays a node has; see `arrays_of`."""
    if node.has("rows"):
        return node.read("rows")
    data, indices, indptr = (node.read(key) for key in ("data", "indices", "indptr"))
    return sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_features))
