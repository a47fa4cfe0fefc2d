"""How far a run is: what the bars, the dashboard's page and ``status --watch`` show.

Fed by events, live or read from a run's folder.
"""

from __future__ import annotations

from dataclasses import replace

from dcsvm_dask.diagnostics.progress.estimate import Estimate
from dcsvm_dask.diagnostics.progress.stage import (
    DONE,
    OF_BLOCKS,
    RUNNING,
    WAITING,
    Block,
    StageProgress,
)
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import (
    Advanced,
    BlocksBegin,
    BlockSolved,
    Fault,
    Planned,
    RunBegins,
    RunEnds,
    SetSolved,
    StageBegins,
    StageDone,
    TaskDone,
    WorkerLost,
)
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import BALANCE, CHAINS, LEVEL, StageId

__all__ = ["DONE", "RUNNING", "WAITING", "Block", "Progress", "StageProgress"]

IN_TURN = ("probe", "arrange", "subset", "level", "refine", "conquer", "model")
"""Kinds of stages in the order in which they come; none comes after a later one."""


class Progress(Callback):
    """Where a run stands, as far as has been told."""

    def __init__(self) -> None:
        self.run = ""
        self.beginning: RunBegins | None = None
        self.ending: RunEnds | None = None
        self.plan: Record = {}
        self.stages: dict[str, StageProgress] = {}
        self.whole = True
        """Whether all tasks of this process were told of."""
        self.faults: list[Fault] = []
        self.tasks: list[TaskDone] = []
        """Those that this process was told of, without what they say of each block."""

    def on_begin(self, event: RunBegins) -> None:
        """Take who computes what; another process than before tells everything anew."""
        Progress.__init__(self)
        self.run, self.beginning = event.run, event

    def on_plan(self, event: Planned) -> None:
        """Take the stages that are likely to come."""
        self.plan = event.plan
        for name, of in event.plan["stages"].items():
            stage = self.stages.setdefault(name, StageProgress(name))
            stage.planned, stage.times = of["seconds"], of["times"]
            if stage.state == WAITING:
                stage.layers = of["layers"]
        # What an earlier plan foretold and this one does not.
        self.stages = {
            name: stage
            for name, stage in self.stages.items()
            if stage.state != WAITING or name in event.plan["stages"]
        }
        self._in_order()

    def on_stage(self, event: StageBegins) -> None:
        """Take what a stage consists of."""
        stage = StageProgress(event.stage, event.label, event.layers, dict(event.done))
        known = self.stages.get(event.stage)
        stage.planned = known.planned if known and known.planned else self._planned_like(stage)
        stage.state, stage.began, stage.heard = RUNNING, event.time, event.time
        self.stages[event.stage] = stage
        self._take_blocks_from_arrangement(stage)
        self._in_order()

    def on_blocks(self, event: BlocksBegin) -> None:
        """Take which blocks are being solved."""
        stage = self.stages[event.stage]
        stage.begin_blocks(event.node, event.blocks, event.worker, event.time)

    def on_block(self, event: BlockSolved) -> None:
        """Take what a block came to."""
        stage = self.stages[event.stage]
        stage.solve_block(event.node, event.block, event.worker, event.record, event.time)

    def on_set(self, event: SetSolved) -> None:
        """Take how near to its tolerance a task has come."""
        stage = self.stages[event.stage]
        stage.heard = event.time
        stage.solve_set(event.number, event.record)

    def on_advance(self, event: Advanced) -> None:
        """Take how far a task is."""
        stage = self.stages[event.stage]
        stage.heard = event.time
        stage.advance(event)

    def on_task(self, event: TaskDone) -> None:
        """Count it."""
        stage, record = self.stages[event.stage], event.record
        stage.heard = event.time
        stage.end_task(event.layer, event.node)
        if "kernel_values" in record and not adds_up(event.stage, event.node):
            stage.kernel_values += record["kernel_values"]
            stage.busy += record.get("cpu_seconds", 0.0)
        if "blocks" in record and event.layer == "order" and stage.kind == "level":
            stage.take_blocks(record, self._block_cap)
        few = {key: value for key, value in record.items() if key not in OF_BLOCKS}
        self.tasks.append(replace(event, record=few))

    def on_commit(self, event: StageDone) -> None:
        """Take what a stage came to."""
        stage = self.stages[event.stage]
        stage.state, stage.record, stage.resumed = DONE, event.record, event.resumed
        stage.ended = event.time
        for block in stage.blocks:  # those that an earlier process solved are not told of
            block.state = DONE
        self.whole = self.whole and (event.resumed or sum(stage.done.values()) >= stage.tasks)
        if event.resumed:
            stage.began, stage.done = event.time, dict(stage.layers)
        if event.record.get("alone"):  # blocks that never meet need no rounds
            for other in self.stages.values():
                other.times = 0 if other.kind in CHAINS and other.times > 1 else other.times
            self._forget("refine")

    def on_fault(self, event: Fault) -> None:
        """Keep it."""
        self.faults.append(event)
        if isinstance(event, WorkerLost):
            for stage in self.stages.values():
                stage.lose_worker(event.worker)

    def on_end(self, event: RunEnds) -> None:
        """Take how the process left the run; what was foretold and did not come is gone."""
        self.ending = event
        self.stages = {name: stage for name, stage in self.stages.items() if stage.state != WAITING}

    @property
    def workers(self) -> int:
        """Tasks that may run at a time."""
        return 1 if self.beginning is None else max(1, self.beginning.workers)

    @property
    def _block_cap(self) -> int | None:
        return None if self.beginning is None else self.beginning.about.get("block_cap")

    @property
    def kernel_values(self) -> int:
        """Those that tasks of this process computed so far."""
        return sum(stage.kernel_values for stage in self.stages.values())

    @property
    def ns_per_kernel_value(self) -> float | None:
        """Processor time of one so far, with all else that those tasks do; None: there are none."""
        busy = sum(stage.busy for stage in self.stages.values())
        return 1e9 * busy / self.kernel_values if self.kernel_values else None

    def elapsed(self, now: float) -> float:
        """Return the seconds since the run's workers were ready."""
        if self.beginning is None:
            return 0.0
        now = now if self.ending is None else min(now, self.ending.time)
        return max(0.0, now - self.beginning.time)

    def stage_left(self, stage: StageProgress, now: float) -> float | None:
        """Return how many seconds a stage is likely to take from now on; None: nobody knows."""
        return 0.0 if self.ending is not None else self._estimate(now).stage(stage)

    def chain_left(self, kind: str, now: float) -> float | None:
        """Return how many seconds a chain of rounds is likely to take; None: nobody knows."""
        return None if self.ending is not None else self._estimate(now).chain(kind)

    def left(self, now: float) -> float | None:
        """Return how many seconds the run is likely to take from now on; None: nobody knows."""
        return 0.0 if self.ending is not None else self._estimate(now).run()

    def _estimate(self, now: float) -> Estimate:
        return Estimate(list(self.stages.values()), self.plan, self.workers, now)

    def _planned_like(self, like: StageProgress) -> float:
        """Return what the plan foretells of a stage's like: it has one round of each kind."""
        found = [stage.planned for stage in self.stages.values() if stage.kind == like.kind]
        return max((seconds for seconds in found if seconds), default=0.0)

    def _in_order(self) -> None:
        """Put stages that are done or under way first, those that are still to come after them.

        The plan has one round of each kind; once a chain begins it is the one that counts.
        """
        begun = [stage for stage in self.stages.values() if stage.state != WAITING]
        passed = [IN_TURN.index(stage.kind) for stage in begun if stage.kind in IN_TURN]
        last = max(passed, default=-1)
        chains = {stage.kind for stage in begun} & {*CHAINS}
        names = {stage.name for stage in begun}
        planned = list(self.plan.get("stages", ()))
        latest = max((i for i, name in enumerate(planned) if name in names), default=0)
        waiting = [
            stage
            for stage in self.stages.values()
            if stage.name not in names
            and (stage.kind in IN_TURN or stage.name not in planned[:latest])
            and stage.kind not in chains
            and (stage.kind not in IN_TURN or IN_TURN.index(stage.kind) >= last)
        ]
        self.stages = {stage.name: stage for stage in (*begun, *waiting)}

    def _forget(self, kind: str) -> None:
        self.stages = {
            name: stage
            for name, stage in self.stages.items()
            if stage.kind != kind or stage.state != WAITING
        }

    def _take_blocks_from_arrangement(self, stage: StageProgress) -> None:
        """Take the bottom level's blocks: they were arranged."""
        arranged = self.stages.get("arrange")
        bottom = stage.kind == "level" and "order" not in stage.layers
        if bottom and arranged is not None and "block_rows" in arranged.record:
            stage.take_blocks(arranged.record, self._block_cap)


def adds_up(stage: str, node: str) -> bool:
    """Whether a node's kernel values are the sum of those that other nodes counted."""
    return node == COMMIT and StageId(stage).kind in (LEVEL, BALANCE)
