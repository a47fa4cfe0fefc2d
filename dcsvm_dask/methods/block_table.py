"""The blocks of a level and their variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.methods.problem import ARRANGE, Problem
from dcsvm_dask.methods.regime import are_alone
from dcsvm_dask.methods.sizes import blocks_of_part
from dcsvm_dask.storage.node import Committed
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.stage_id import PARTITION, StageId

Index = NDArray[np.int64]
Vector = NDArray[np.float64]

MANY_BLOCKS = 16
"""Blocks of a task from which on tasks solve consecutive blocks."""


@dataclass(frozen=True)
class BlockTable:
    """The blocks of a level.

    Attributes
    ----------
    offsets : ndarray, shape (n_blocks + 1,), int64
        Borders of the blocks in `index`.
    index : ndarray, shape (n,), int64, or None
        The variables, block after block, ascending in each; None: in the order of their numbers.
    label : ndarray, shape (n_blocks,), int64
        The label of each block by the level's partition.
    alone : bool
        Whether there are no kernel values between blocks.
    """

    offsets: NDArray[np.int64]
    index: NDArray[np.int64] | None
    label: NDArray[np.int64]
    alone: bool

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.offsets) - 1

    def costliest_first(self, problem: Problem | None, beta: Vector | None) -> Index:
        """Return the blocks by expected cost, the largest first.

        The cost is the number of support vectors, with bounded ones counted twice, since more
        iterations are needed where classes overlap; without a warm start it is the number of rows.

        Parameters
        ----------
        problem : Problem or None
        beta : ndarray, shape (n,), or None
            The warm start; None: zero.
        """
        if beta is None or problem is None:
            return np.argsort(-np.diff(self.offsets), kind="stable")
        cost = (beta != 0.0) * (1.0 + problem.dual.is_bounded(beta))
        if self.index is not None:
            cost = cost[self.index]
        before = np.concatenate([[0.0], np.cumsum(cost)])
        return np.argsort(-np.diff(before[self.offsets]), kind="stable")

    def of_slot(self, problem: Problem | None, beta: Vector | None, slot: int, slots: int) -> Index:
        """Return the blocks of one of `slots` tasks, in the order in which it solves them.

        Few blocks are dealt out in turn, the costliest first. Many are shared out as consecutive
        ones: their costs add up to about the same, and neighbours share chunks of rows.

        Parameters
        ----------
        problem : Problem or None
        beta : ndarray, shape (n,), or None
            The warm start; None: zero.
        slot, slots : int
            The task and the number of tasks.
        """
        if self.index is None and self.n_blocks >= MANY_BLOCKS * slots:
            return np.arange(*blocks_of_part(self.offsets, slot, slots))
        return self.costliest_first(problem, beta)[slot::slots]

    def rows(self, block: int) -> NDArray[np.int64]:
        """Return the variables of a block, ascending."""
        start, stop = int(self.offsets[block]), int(self.offsets[block + 1])
        return np.arange(start, stop) if self.index is None else self.index[start:stop]

    def variables(self, places: Index) -> Index:
        """Return the variables at some positions of the order block after block."""
        return places if self.index is None else self.index[places]

    def blocks_of(self, variables: Index) -> NDArray[np.int32]:
        """Return the blocks of some variables."""
        places = variables
        if self.index is not None:
            place_of = np.empty(len(self.index), dtype=np.int64)
            place_of[self.index] = np.arange(len(self.index))
            places = place_of[variables]
        return (np.searchsorted(self.offsets, places, side="right") - 1).astype(np.int32)


def read_table(run: RunFolder, stage: str) -> BlockTable:
    """Open the blocks of a level; the table is cached for the next task of the process."""
    own = run.find(stage, "order", released=False)
    if own is None:
        return _read_table(run.place.url, ARRANGE, run.node(ARRANGE, "commit").attempt)
    return _read_table(run.place.url, stage, own.attempt)


@lru_cache(maxsize=2)
def _read_table(run_url: str, stage: str, attempt: str) -> BlockTable:
    del attempt  # part of the cache's key: another attempt is another table
    run = RunFolder.open(run_url)
    order = run.node(stage, "commit" if stage == ARRANGE else "order")
    return BlockTable(
        offsets=order.read("offsets").astype(np.int64),
        index=None if stage == ARRANGE else order.read("index").astype(np.int64),
        label=order.read("block_label").astype(np.int64),
        alone=are_alone(chosen_by(run, stage).record["choice"]),
    )


def chosen_by(run: RunFolder, stage: str) -> Committed:
    """Return the node that has chosen a stage's partition, in the stage or before it."""
    own = run.find(stage, "cluster", released=False)
    return run.node(StageId.about(PARTITION, stage), "commit") if own is None else own


def read_slots(run: RunFolder, stage: str, slots: int, layer: str = "solve") -> list[Committed]:
    """Return the committed nodes of the tasks that share a stage's blocks."""
    return [run.node(stage, f"{layer}-{slot:04d}") for slot in range(slots)]


def gather(nodes: list[Committed], table: BlockTable, name: str) -> tuple[Vector, Vector]:
    """Gather an array from the tasks that share a level's blocks.

    Parameters
    ----------
    nodes : list of Committed
        See `read_slots`.
    table : BlockTable
    name : str
        Name of the array.

    Returns
    -------
    in_blocks, by_variable : ndarray, shape (n,), float64
        The array block after block, and in the order of the variables.
    """
    in_blocks = np.empty(table.offsets[-1])
    for node in nodes:
        values, at = node.read(name).ravel(), 0
        for block in node.record["members"]:
            start, stop = table.offsets[block : block + 2]
            in_blocks[start:stop] = values[at : at + stop - start]
            at += stop - start
    if table.index is None:
        return in_blocks, in_blocks
    by_variable = np.empty_like(in_blocks)
    by_variable[table.index] = in_blocks
    return in_blocks, by_variable
