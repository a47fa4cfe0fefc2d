"""The progress of one stage: its tasks, and the blocks of a level."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from dcsvm_dask.methods.graph import COMMIT, STEP
from dcsvm_dask.methods.registry import kind_of
from dcsvm_dask.methods.stage_kind import StageKind
from dcsvm_dask.runtime.events import Advanced
from dcsvm_dask.storage.node import Record

WAITING, RUNNING, DONE = "waiting", "running", "done"
SOLVE, IMPROVE = "solve", "improve"
OF_BLOCKS = ("each", "members", "block_rows", "biases")
"""Keys of a task's record whose values have an entry for each block."""
OF_SETS = {STEP, COMMIT}
"""Layers, planned and real, of a stage of working sets of one chain."""
WEIGHTS = {
    "cluster": 0.3,
    "assign": 0.5,
    "scope": 0.1,
    "order": 0.1,
    "pieces": 0.1,
    "choose": 4.0,
    SOLVE: 6.0,
    "commit": 0.1,
}
"""Usual times of a stage's layers relative to each other; 1 where none is named."""
MOST_FALLS = 200
"""Points of a stage's curve: of more every second one stays."""
SMALL_BLOCK = 300
"""Rows of a block whose time depends on its rows by half."""
PASSES = 3.5
"""Work of a block too large for its matrix: all its rows against so many times the cap."""


@dataclass(slots=True)
class Block:
    """One block of a level."""

    number: int
    rows: int
    work: float = 1.0
    """Estimated cost in kernel values, with an amount that does not depend on its rows."""
    state: str = WAITING
    worker: str = ""
    tries: int = 0
    """Number of tasks that have begun to solve it."""
    record: Record = field(default_factory=dict)
    """Record of its solution; see `dcsvm_dask.runtime.events.BlockSolved`."""
    began: float = 0.0
    """Time at which its solution began, in seconds since 1970, where it is under way."""


@dataclass(slots=True)
class StageProgress:
    """One stage: planned, under way or done."""

    name: str
    label: str = ""
    layers: dict[str, int] = field(default_factory=dict)
    """Number of tasks of each layer."""
    done: dict[str, int] = field(default_factory=dict)
    """Number of committed tasks of each layer."""
    blocks: list[Block] = field(default_factory=list)
    """Blocks of a level, by number, once their sizes are known and if they are not too many."""
    slots: dict[str, list[int]] = field(default_factory=dict)
    """Blocks of each task that has begun to solve some."""
    n_blocks: int = 0
    solved: int = 0
    """Number of solved blocks."""
    work: float = 0.0
    """Estimated cost of all blocks, where they are listed, in kernel values."""
    work_done: float = 0.0
    """Estimated cost of the solved blocks."""
    state: str = WAITING
    began: float | None = None
    ended: float | None = None
    resumed: bool = False
    """Whether it was committed before this process began."""
    planned: float = 0.0
    """Planned time in seconds."""
    times: int = 1
    """Planned number of stages like it."""
    record: Record = field(default_factory=dict)
    """Record of its commit."""
    kernel_values: int = 0
    """Kernel values that its tasks have computed."""
    last_event: float = 0.0
    """Time of its latest event, in seconds since 1970."""
    sets: int = 0
    """Number of working sets that its task has solved, where it reports them."""
    reached: Record = field(default_factory=dict)
    """Record of the latest one; see `dcsvm_dask.runtime.events.SetSolved`."""
    fallen: float = 0.0
    """Share of the way of the violation to the tolerance, in [0, 1], on a log scale."""
    falls: list[tuple[float, int, float]] = field(default_factory=list)
    """Times, numbers of working sets, and the violations that these found; at most `MOST_FALLS`."""
    advanced: dict[str, Advanced] = field(default_factory=dict)
    """Progress of running tasks that report it, by node; the latest report is last."""
    busy: float = 0.0
    """Processor seconds of the tasks that computed kernel values."""

    @property
    def kind(self) -> StageKind:
        """Its kind, as the method describes it."""
        return kind_of(self.name)

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return sum(self.layers.values())

    @property
    def tasks_done(self) -> int:
        """Number of committed tasks."""
        return self.tasks if self.state == DONE else sum(self.done.values())

    @property
    def share(self) -> float:
        """Share of the work that is done, in [0, 1]; it never falls while the stage runs."""
        if self.state == DONE:
            return 1.0
        if not self.tasks:
            return 0.0
        weights = {name: WEIGHTS.get(name, 1.0) for name in self.layers}
        done = sum(weight * self._share_of(name) for name, weight in weights.items())
        return min(1.0, done / sum(weights.values()))

    @property
    def solved_share(self) -> float:
        """Share of the blocks' work that is done, in [0, 1]."""
        if self.blocks:
            by_blocks = self.work_done / self.work
        else:
            by_blocks = self.solved / self.n_blocks if self.n_blocks else 0.0
        # Blocks that were solved before a resume are not reported.
        return min(1.0, max(by_blocks, self._share_of_tasks(SOLVE)))

    @property
    def improves(self) -> bool:
        """Whether it is a round that improves the point before it; others begin from scratch."""
        return IMPROVE in self.layers

    @property
    def solves_sets(self) -> bool:
        """Whether working sets of the whole problem are solved before its commit."""
        return self.kind.of_sets and set(self.layers) <= OF_SETS

    def _share_of(self, layer: str) -> float:
        if self.solves_sets:
            return max(self._share_of_tasks(layer), self.fallen)
        if layer != SOLVE:
            return self._share_of_tasks(layer)
        return max(self.solved_share, self.fallen)

    def _share_of_tasks(self, layer: str) -> float:
        # Summed exactly: in another order it must not be less.
        done = math.fsum(
            event.share for node, event in self.advanced.items() if self._layer_of(node) == layer
        )
        return min(1.0, (self.done.get(layer, 0) + done) / max(1, self.layers.get(layer, 0)))

    def _layer_of(self, node: str) -> str:
        return layer_of(node, self.layers)

    def seconds(self, now: float) -> float:
        """Return the elapsed seconds of the stage."""
        if self.began is None:
            return 0.0
        return max(0.0, (now if self.ended is None else self.ended) - self.began)

    def begin_blocks(self, node: str, numbers: list[int], worker: str, now: float) -> None:
        """Mark the blocks that a task begins to solve, perhaps again after a worker was lost.

        Parameters
        ----------
        node : str
            The node of the task.
        numbers : list of int
            Its blocks in the order in which they are solved.
        worker : str
        now : float
            Seconds since 1970.
        """
        for number in self.slots.get(node, []):
            self._wait(number)
        self.slots[node] = numbers
        for number in numbers:
            if number < len(self.blocks):
                self.blocks[number].tries += 1
        self._begin_next(node, worker, now)

    def solve_block(self, node: str, number: int, worker: str, record: Record, now: float) -> None:
        """Mark a block as solved and the next one of its task as running.

        Parameters
        ----------
        node : str
            The node of the task.
        number : int
            The block.
        worker : str
        record : dict
            Record of the solution.
        now : float
            Seconds since 1970.
        """
        self.solved += 1
        if number < len(self.blocks):
            block = self.blocks[number]
            self.work_done += block.work if block.state != DONE else 0.0
            block.state, block.worker, block.record = DONE, worker, record
            # Solved blocks are reported about once a second, several at a time.
            self._begin_next(node, worker, block.began + record["seconds"] if block.began else now)

    def solve_set(self, number: int, record: Record, now: float) -> None:
        """Store the violation that a task's working sets have reached, and when."""
        self.sets, self.reached = number, record
        self.falls.append((now, number, record["violation"]))
        if len(self.falls) > MOST_FALLS:  # the last one stays
            self.falls = self.falls[1::2] if len(self.falls) % 2 == 0 else self.falls[::2]
        start, violation, tol = (record[key] for key in ("start", "violation", "tol"))
        if start > tol:
            share = math.log(start / max(violation, tol)) / math.log(start / tol)
            self.fallen = max(self.fallen, share)

    def advance(self, event: Advanced) -> None:
        """Store the progress of a task; the share of a task that runs again does not fall."""
        before = self.advanced.pop(event.node, event)
        self.advanced[event.node] = replace(event, share=max(event.share, before.share))

    def end_task(self, layer: str, node: str) -> None:
        """Count a committed task."""
        self.advanced.pop(node, None)
        self.done[layer] = self.done.get(layer, 0) + 1

    def lose_worker(self, worker: str) -> None:
        """Mark the blocks of a lost worker as waiting."""
        for block in self.blocks:
            if block.worker == worker:
                self._wait(block.number)

    def take_blocks(self, record: Record, cap: int | None = None) -> None:
        """Set the blocks from the record of an arrangement.

        Parameters
        ----------
        record : dict
            Has ``blocks``, their number, and perhaps ``block_rows``.
        cap : int, optional
            Rows of the largest kernel matrix.
        """
        self.n_blocks = record["blocks"]
        rows = record.get("block_rows", [])
        self.blocks = [Block(number, count, work(count, cap)) for number, count in enumerate(rows)]
        self.work, self.work_done = sum(block.work for block in self.blocks), 0.0

    def _begin_next(self, node: str, worker: str, now: float) -> None:
        """Mark the first unsolved block of a task as running."""
        for number in self.slots.get(node, []):
            if number < len(self.blocks) and self.blocks[number].state != DONE:
                block = self.blocks[number]
                block.state, block.worker, block.began = RUNNING, worker, now
                return

    def _wait(self, number: int) -> None:
        if number < len(self.blocks) and self.blocks[number].state == RUNNING:
            self.blocks[number].state = WAITING


def layer_of(node: str, layers: Iterable[str]) -> str:
    """Return the layer of a node, which may have parts: "solve" of "solve-0001-0002".

    Parameters
    ----------
    node : str
    layers : iterable of str
        Those of its stage.
    """
    found = (layer for layer in layers if node == layer or node.startswith(f"{layer}-"))
    return max(found, key=len, default=node)


def work(rows: int, cap: int | None) -> float:
    """Return the estimated cost of a block in kernel values.

    `cap` is the number of rows of the largest matrix.
    """
    columns = rows if cap is None else min(rows, PASSES * cap)
    return float(rows * columns + SMALL_BLOCK**2)
