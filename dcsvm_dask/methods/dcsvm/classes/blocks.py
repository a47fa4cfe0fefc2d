"""Levels of several SVMs: those of a block are solved from its one kernel matrix.

They start at the coefficients of a committed level.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.kernels import Rows, counted_kernel_matrix
from dcsvm_dask.methods.block_table import BlockTable
from dcsvm_dask.methods.dcsvm.estimate import estimate_of_several
from dcsvm_dask.methods.dcsvm.share import Gathered, Share
from dcsvm_dask.methods.machines import AnyMachine, task_of_machine
from dcsvm_dask.methods.problem import Problem
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.solve_rows import RowsSolver
from dcsvm_dask.methods.solved import SolvedBlocks, SolvedRecord, summed
from dcsvm_dask.models.model import Model, Rule
from dcsvm_dask.solvers import (
    Solution,
    balanced,
    bias,
    solve_inner,
)
from dcsvm_dask.solvers.divide import NEGLIGIBLE
from dcsvm_dask.solvers.machines import only_class
from dcsvm_dask.storage.model import MODEL
from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.tasks import Dual

COPIED_ROWS = 64
"""Rows of a matrix that are copied at a time: they stay in a core's cache."""
Index = NDArray[np.int64]
Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Start:
    """The coefficients of all SVMs.

    Attributes
    ----------
    support : ndarray, shape (m,), int64
        The variables that have any, ascending.
    coef : ndarray, shape (n_coefficients, m), float64
        See `dcsvm_dask.models.model.Model`.
    """

    support: Index
    coef: NDArray[np.float64]

    def beta(self, machine: AnyMachine, index: Index, codes: NDArray[Any]) -> Vector:
        """Return an SVM's variables.

        Parameters
        ----------
        index : ndarray of int64, shape (n,)
            The variables that it has.
        codes : ndarray, shape (n,)
            Their classes, or targets; see `Problem.codes`.
        """
        found = np.zeros(len(index))
        if not len(self.support):
            return found
        place = np.minimum(np.searchsorted(self.support, index), len(self.support) - 1)
        known = np.flatnonzero(self.support[place] == index)
        found[known] = self.coef[machine.place(codes[known]), place[known]]
        return found


def read_start(run: RunFolder, level: str) -> Start:
    """Return the coefficients that a level committed; kept for the next step of the process."""
    with _reading:  # one task reads for those that begin beside it
        return _read_start(run.place.url, level, run.node(level, "commit").attempt)


_reading = threading.Lock()


@lru_cache(maxsize=1)
def _read_start(run_url: str, level: str, attempt: str) -> Start:
    del attempt  # part of the cache's key: another attempt is another start
    node = RunFolder.open(run_url).node(level, "commit")
    support = node.read("support")
    order = np.argsort(support)
    return Start(support[order], node.read(f"{MODEL}/coef")[:, order])


class Solved(NamedTuple):
    """The SVMs of a block."""

    support: Index
    """Variables that are support vectors of any of them, group after group."""
    coef: NDArray[np.float64]
    """Their coefficients, as `Model` has them."""
    group_rows: Index
    """Rows of each group: of each class, or all."""
    bias: Vector


def solve_svms_of(
    problem: Problem, index: Index, start: Start | None, tol: float
) -> tuple[Solved, Record]:
    """Solve all SVMs of a block, and return them with the record of the block.

    A binary SVM with a bias whose rows are all of one class decides for it: its variables are zero.

    Parameters
    ----------
    problem : Problem
    index : ndarray of int64
        The variables of the block, ascending.
    start : Start or None
        Coefficients of the level below; None: zero.
    tol : float
        Tolerance of each SVM.
    """
    settings, codes, C = problem.settings, problem.codes[index], problem.bounds(index)
    block = _Block(settings, problem.take(index))
    equality = settings.fit_intercept
    groups, scheme = problem.groups_of(index), problem.scheme
    coef = np.zeros((scheme.n_coefficients, len(index)))
    offsets, records, bounded = np.zeros(len(problem.machines)), [], np.zeros(len(index), np.bool_)
    for number, machine in enumerate(problem.machines):
        rows, y = machine.rows(codes)
        if not len(rows):
            continue
        decision = only_class(y) if equality and problem.task.has_classes else None
        if decision is not None:
            offsets[number] = decision
            continue
        task = task_of_machine(problem.task, machine)
        dual = problem.dual_of_machine(number, y, C[rows])
        beta = None if start is None else start.beta(machine, index[rows], codes[rows])
        if beta is not None and equality:
            beta = balanced(beta, dual)
        found = block.solve(rows, dual, beta=beta, equality=equality, tol=tol)
        coef[machine.place(codes[rows]), rows] = found.beta
        bounded[rows] |= dual.is_bounded(found.beta)
        offset = bias(found.gradient, found.beta, dual) if equality else 0.0
        offsets[number] = offset + task.centre
        records.append(SolvedRecord.of(dual, found, bias=offset, equality=equality))
    support = np.flatnonzero(coef.any(axis=0))
    support = support[np.argsort(groups[support], kind="stable")]
    record = {
        **summed(one.to_json() for one in records),
        "blocks": 1,
        "rows": len(index),
        "support": len(support),
        "bounded": int(np.count_nonzero(bounded)),
        "kernel_values": block.kernel_values,
    }
    group_rows = np.bincount(groups, minlength=scheme.n_groups)
    return Solved(index[support], coef[:, support], group_rows, offsets), record


class _Block:
    """The rows of a block and, up to the cap, their kernel matrix, which serves all SVMs.

    Above the cap each SVM computes its own kernel values.
    """

    def __init__(self, settings: Settings, X: Rows) -> None:
        self._settings, self._X, self._K = settings, X, None
        self.kernel_values = 0
        if X.shape[0] <= settings.block_cap:
            self._K, self.kernel_values = counted_kernel_matrix(
                settings.kernel, X, least=NEGLIGIBLE
            )

    def solve(self, rows: Index, dual: Dual, **how: Any) -> Solution:
        """Solve the SVM of some of the rows, as `solve_inner` does."""
        everything = len(rows) == self._X.shape[0]
        if self._K is not None:
            K = self._K if everything else _part(self._K, rows)
            return solve_inner(K, dual, inner=self._settings.inner, **how)
        solver = RowsSolver(self._settings, self._X if everything else self._X[rows], dual)
        found = solver.solve(**how)
        self.kernel_values += solver.kernel_values
        return found


def _part(K: NDArray[np.floating[Any]], rows: Index) -> NDArray[np.floating[Any]]:
    """Return the values between some of the rows; ``K[np.ix_(rows, rows)]`` takes twice as long."""
    found = np.empty((len(rows), len(rows)), dtype=K.dtype)
    for start in range(0, len(rows), COPIED_ROWS):
        some = slice(start, start + COPIED_ROWS)
        np.take(K[rows[some]], rows, axis=1, out=found[some], mode="clip")
    return found


class OwnBiases:
    """A level of several SVMs, each with a bias of its own in every block.

    A block is one task with all of its SVMs: its rows are read and its kernel values are computed
    once. Support vectors alone are written, with their coefficients.
    """

    def solve(
        self, run: RunFolder, attempt: Attempt, problem: Problem, table: BlockTable, share: Share
    ) -> Record:
        """Solve the blocks of a task.

        Writes the ``support`` vectors of the blocks, one block after the other, as numbers of
        variables, and their ``coef``; for each block ``of_class`` (support vectors),
        ``class_rows`` and ``bias``.
        """
        start = None if share.below is None else read_start(run, share.below)
        log = SolvedBlocks(table.of_slot(None, None, share.slot, share.slots).tolist())
        solved = [
            log.add(block, partial(solve_svms_of, problem, table.rows(block), start, share.tol))
            for block in log.blocks
        ]
        none, n_groups = np.empty((problem.scheme.n_coefficients, 0)), problem.scheme.n_groups
        attempt.write(
            "support", np.concatenate([np.empty(0, np.int64), *(s.support for s in solved)])
        )
        attempt.write("coef", np.concatenate([none, *(s.coef for s in solved)], axis=1))
        of_class = [
            np.bincount(problem.groups_of(one.support), minlength=n_groups) for one in solved
        ]
        shape = (len(solved), n_groups)
        attempt.write("of_class", np.array(of_class, np.int64).reshape(shape))
        attempt.write(
            "class_rows", np.array([s.group_rows for s in solved], np.int64).reshape(shape)
        )
        width = len(problem.machines)
        attempt.write("bias", np.array([s.bias for s in solved]).reshape(len(solved), width))
        return log.to_json()

    def gather(
        self,
        run: RunFolder,
        attempt: Attempt,
        problem: Problem,
        table: BlockTable,
        nodes: list[Committed],
        below: str | None,
    ) -> Gathered:
        """Gather the support vectors of all blocks; write ``support``, in the model's order."""
        del run, below
        counts, class_rows, bias = (
            _by_block(nodes, table, name) for name in ("of_class", "class_rows", "bias")
        )
        support, coef = _support(nodes, counts.sum(axis=1))
        attempt.write("support", support)
        total = summed(node.record for node in nodes)
        record = {**total, "machines": len(problem.machines)}
        return Gathered(support, coef, counts, bias, record, class_rows)

    def estimate(self, problem: Problem, table: BlockTable, found: Gathered, rule: Rule) -> Record:
        """Estimate the sums of the SVMs' objectives and duality gaps."""
        settings, support = problem.settings, problem.take(found.support)
        arrays = (found.coef, found.counts, found.bias)
        model = Model(settings.kernel, support, *arrays, problem.scheme, rule)
        return estimate_of_several(problem, table, model, found.support, found.coef, found.record)


def _by_block(nodes: list[Committed], table: BlockTable, name: str) -> NDArray[Any]:
    """Return an array with a row for each block."""
    members = np.concatenate([node.record["members"] for node in nodes]).astype(np.int64)
    rows = np.concatenate([node.read(name) for node in nodes])
    found = np.empty((table.n_blocks, rows.shape[1]), rows.dtype)
    found[members] = rows
    return found


def _support(nodes: list[Committed], counts: Index) -> tuple[Index, NDArray[np.float64]]:
    """Return support vectors and coefficients of all slots, block after block."""
    members = np.concatenate([node.record["members"] for node in nodes]).astype(np.int64)
    # Where each block's are among those of all slots, and where they go.
    stops = np.cumsum(counts[members])
    begin = np.empty(len(counts), np.int64)
    begin[members] = stops - counts[members]
    order = np.concatenate(
        [np.arange(first, first + many) for first, many in zip(begin, counts, strict=True)]
    ).astype(np.int64)
    support = np.concatenate([node.read("support") for node in nodes])
    coef = np.concatenate([node.read("coef") for node in nodes], axis=1)
    return support[order], coef[:, order]
