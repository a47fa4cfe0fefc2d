"""How far one stage is: its tasks, and the blocks of a level."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from dcsvm_dask.runtime.events import Advanced
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import StageId

WAITING, RUNNING, DONE = "waiting", "running", "done"
SOLVE = "solve"
OF_BLOCKS = ("each", "members", "block_rows", "biases")
"""What a task's record says of single blocks."""
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
"""What the layers of a stage usually take, as shares of each other; 1 where none is named."""
SMALL_BLOCK = 300
"""Rows of a block that takes as long for what does not depend on its rows as for what does."""
PASSES = 3.5
"""Of all rows of a block too large for its matrix: how many matrices of the cap it comes to."""


@dataclass(slots=True)
class Block:
    """One block of a level."""

    number: int
    rows: int
    work: float = 1.0
    """What it is likely to cost: kernel values, and what does not depend on its rows."""
    state: str = WAITING
    worker: str = ""
    tries: int = 0
    """How often a task began that solves it."""
    record: Record = field(default_factory=dict)
    """What its solution says; see `dcsvm_dask.runtime.events.BlockSolved`."""
    began: float = 0.0
    """When it began to be solved, where it is under way."""


@dataclass(slots=True)
class StageProgress:
    """One stage: planned, under way or done."""

    name: str
    label: str = ""
    layers: dict[str, int] = field(default_factory=dict)
    """Tasks of each layer."""
    done: dict[str, int] = field(default_factory=dict)
    """Those that are committed."""
    blocks: list[Block] = field(default_factory=list)
    """Those of a level, by number, once it is known how large they are and if they are not many."""
    slots: dict[str, list[int]] = field(default_factory=dict)
    """The blocks of each task that has begun to solve some."""
    n_blocks: int = 0
    solved: int = 0
    """Blocks that are solved."""
    work: float = 0.0
    """What all blocks are likely to cost, where they are listed."""
    work_done: float = 0.0
    """What those cost that are solved."""
    state: str = WAITING
    began: float | None = None
    ended: float | None = None
    resumed: bool = False
    """Whether it was committed before this process began."""
    planned: float = 0.0
    """Seconds that the plan foretells."""
    times: int = 1
    """How many stages like it the plan foretells."""
    record: Record = field(default_factory=dict)
    """What its commit says."""
    kernel_values: int = 0
    """That its tasks computed so far."""
    heard: float = 0.0
    """When something was told of it last."""
    sets: int = 0
    """Working sets that its task has solved, where it is one that tells of them."""
    reached: Record = field(default_factory=dict)
    """Where the last of them led; see `dcsvm_dask.runtime.events.SetSolved`."""
    fallen: float = 0.0
    """How far the violation has come to the tolerance, in [0, 1]; it falls about geometrically."""
    advanced: dict[str, Advanced] = field(default_factory=dict)
    """How far tasks under way are that tell of it, by node; the one that told last is last."""
    busy: float = 0.0
    """Processor seconds that they took for it."""

    @property
    def kind(self) -> str:
        """Its name without a number: arrange, level, refine, conquer, model, score, ..."""
        return StageId(self.name).kind

    @property
    def tasks(self) -> int:
        """Number of its tasks."""
        return sum(self.layers.values())

    @property
    def tasks_done(self) -> int:
        """Number of its tasks that are committed."""
        return self.tasks if self.state == DONE else sum(self.done.values())

    @property
    def share(self) -> float:
        """The share of its work that is done, in [0, 1]; it never falls while the stage runs."""
        if self.state == DONE:
            return 1.0
        if not self.tasks:
            return 0.0
        weights = {name: WEIGHTS.get(name, 1.0) for name in self.layers}
        done = sum(weight * self._share_of(name) for name, weight in weights.items())
        return min(1.0, done / sum(weights.values()))

    @property
    def solved_share(self) -> float:
        """The share of its blocks' work that is done, in [0, 1]."""
        if self.blocks:
            by_blocks = self.work_done / self.work
        else:
            by_blocks = self.solved / self.n_blocks if self.n_blocks else 0.0
        # Of blocks that were solved before a resume nobody has told.
        return min(1.0, max(by_blocks, self._share_of_tasks(SOLVE)))

    def _share_of(self, layer: str) -> float:
        if layer != SOLVE:
            return self._share_of_tasks(layer)
        return max(self.solved_share, self.fallen)

    def _share_of_tasks(self, layer: str) -> float:
        # Summed exactly: in another order it must not be less.
        done = math.fsum(
            told.share for node, told in self.advanced.items() if self._layer_of(node) == layer
        )
        return min(1.0, (self.done.get(layer, 0) + done) / max(1, self.layers.get(layer, 0)))

    def _layer_of(self, node: str) -> str:
        return node if node in self.layers else node.rpartition("-")[0]

    def seconds(self, now: float) -> float:
        """Return how long it has taken so far."""
        if self.began is None:
            return 0.0
        return max(0.0, (now if self.ended is None else self.ended) - self.began)

    def begin_blocks(self, node: str, numbers: list[int], worker: str, now: float) -> None:
        """Take that a task begins to solve some blocks; perhaps again, after a worker was lost."""
        for number in self.slots.get(node, []):
            self._wait(number)
        self.slots[node] = numbers
        for number in numbers:
            if number < len(self.blocks):
                self.blocks[number].tries += 1
        self._begin_next(node, worker, now)

    def solve_block(self, node: str, number: int, worker: str, record: Record, now: float) -> None:
        """Take that a block is solved, and that its task goes on with the next one."""
        self.solved += 1
        if number < len(self.blocks):
            block = self.blocks[number]
            self.work_done += block.work if block.state != DONE else 0.0
            block.state, block.worker, block.record = DONE, worker, record
            # Blocks are told of about once a second, several at a time.
            self._begin_next(node, worker, block.began + record["seconds"] if block.began else now)

    def solve_set(self, number: int, record: Record) -> None:
        """Take how near to its tolerance a task's working sets have come."""
        self.sets, self.reached = number, record
        start, violation, tol = (record[key] for key in ("start", "violation", "tol"))
        if start > tol:
            share = math.log(start / max(violation, tol)) / math.log(start / tol)
            self.fallen = max(self.fallen, share)

    def advance(self, event: Advanced) -> None:
        """Take how far a task is; one that is done again has to catch up first."""
        before = self.advanced.pop(event.node, event)
        self.advanced[event.node] = replace(event, share=max(event.share, before.share))

    def end_task(self, layer: str, node: str) -> None:
        """Count a task that is committed."""
        self.advanced.pop(node, None)
        self.done[layer] = self.done.get(layer, 0) + 1

    def lose_worker(self, worker: str) -> None:
        """Take that nobody solves what a worker was solving."""
        for block in self.blocks:
            if block.worker == worker:
                self._wait(block.number)

    def take_blocks(self, record: Record, cap: int | None = None) -> None:
        """Take how many blocks there are and how large; `cap`: rows of the largest matrix."""
        self.n_blocks = record["blocks"]
        rows = record.get("block_rows", [])
        self.blocks = [Block(number, count, work(count, cap)) for number, count in enumerate(rows)]
        self.work, self.work_done = sum(block.work for block in self.blocks), 0.0

    def _begin_next(self, node: str, worker: str, now: float) -> None:
        """Mark the first block of a task that is not solved as the one under way."""
        for number in self.slots.get(node, []):
            if number < len(self.blocks) and self.blocks[number].state != DONE:
                block = self.blocks[number]
                block.state, block.worker, block.began = RUNNING, worker, now
                return

    def _wait(self, number: int) -> None:
        if number < len(self.blocks) and self.blocks[number].state == RUNNING:
            self.blocks[number].state = WAITING


def work(rows: int, cap: int | None) -> float:
    """Return what a block is likely to cost, in kernel values."""
    columns = rows if cap is None else min(rows, PASSES * cap)
    return float(rows * columns + SMALL_BLOCK**2)
