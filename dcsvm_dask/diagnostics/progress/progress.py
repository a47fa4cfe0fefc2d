"""The progress of a run, which the bars, the dashboard page and ``status --watch`` show."""

from __future__ import annotations

from dataclasses import replace

from dcsvm_dask.diagnostics.progress.estimate import Estimate
from dcsvm_dask.diagnostics.progress.stage import (
    DONE,
    IMPROVE,
    OF_BLOCKS,
    RUNNING,
    SOLVE,
    WAITING,
    Block,
    StageProgress,
)
from dcsvm_dask.methods.graph import COMMIT
from dcsvm_dask.methods.regime import are_alone
from dcsvm_dask.methods.registry import kind_of
from dcsvm_dask.methods.stage_kind import StageKind
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
from dcsvm_dask.storage.stage_id import LEVEL, StageId

RECENT = 50
"""Latest news of working sets by which their number per second is measured."""
PROOF = 0.2
"""Time of the proof that a point is the solution, as a share of one task's solution with it."""
MOST_DRAWN = 1000
"""Points of the curve of a chain of working sets."""

__all__ = ["DONE", "RUNNING", "WAITING", "Block", "Progress", "StageProgress"]


class Progress(Callback):
    """The progress of a run, built from its events, live or read from its folder."""

    def __init__(self) -> None:
        self.run = ""
        self.beginning: RunBegins | None = None
        self.ending: RunEnds | None = None
        self.plan: Record = {}
        self.stages: dict[str, StageProgress] = {}
        self.whole = True
        """Whether every task of this process has been reported."""
        self.faults: list[Fault] = []
        self.tasks: list[TaskDone] = []
        """The reported tasks, without their lists of blocks."""

    def on_begin(self, event: RunBegins) -> None:
        """Store who runs the tasks; the events of an earlier process are dropped."""
        Progress.__init__(self)
        self.run, self.beginning = event.run, event

    def on_plan(self, event: Planned) -> None:
        """Add the planned stages."""
        self.plan = event.plan
        for name, of in event.plan["stages"].items():
            stage = self.stages.setdefault(name, StageProgress(name))
            stage.planned, stage.times = of["seconds"], of["times"]
            if stage.state == WAITING:
                stage.layers = of["layers"]
        # Stages of an earlier plan that are not in this one are dropped.
        self.stages = {
            name: stage
            for name, stage in self.stages.items()
            if stage.state != WAITING or name in event.plan["stages"]
        }
        self._in_order()

    def on_stage(self, event: StageBegins) -> None:
        """Begin a stage."""
        stage = StageProgress(event.stage, event.label, event.layers, dict(event.done))
        known = self.stages.get(event.stage)
        stage.planned = known.planned if known and known.planned else self._planned_like(stage)
        stage.state, stage.began, stage.last_event = RUNNING, event.time, event.time
        self.stages[event.stage] = stage
        self._take_blocks_from_arrangement(stage)
        self._in_order()

    def on_blocks(self, event: BlocksBegin) -> None:
        """Mark the blocks that a task begins to solve."""
        stage = self.stages[event.stage]
        stage.begin_blocks(event.node, event.blocks, event.worker, event.time)

    def on_block(self, event: BlockSolved) -> None:
        """Mark a block as solved."""
        stage = self.stages[event.stage]
        stage.last_event = event.time
        stage.solve_block(event.node, event.block, event.worker, event.record, event.time)

    def on_set(self, event: SetSolved) -> None:
        """Store the violation that a task's working sets have reached."""
        stage = self.stages[event.stage]
        stage.last_event = event.time
        stage.solve_set(event.number, event.record, event.time)

    def on_advance(self, event: Advanced) -> None:
        """Store the progress of a task."""
        stage = self.stages[event.stage]
        stage.last_event = event.time
        stage.advance(event)

    def on_task(self, event: TaskDone) -> None:
        """Count a committed task."""
        stage, record = self.stages[event.stage], event.record
        stage.last_event = event.time
        stage.end_task(event.layer, event.node)
        if "kernel_values" in record and not adds_up(event.stage, event.node):
            stage.kernel_values += record["kernel_values"]
            stage.busy += record.get("cpu_seconds", 0.0)
        if "blocks" in record and event.layer == "order" and stage.kind.of_blocks:
            stage.take_blocks(record, self._block_cap)
        self._look_between_clusters(event.stage, record)
        few = {key: value for key, value in record.items() if key not in OF_BLOCKS}
        self.tasks.append(replace(event, record=few))

    def on_commit(self, event: StageDone) -> None:
        """Store the result of a stage."""
        stage = self.stages[event.stage]
        stage.state, stage.record, stage.resumed = DONE, event.record, event.resumed
        stage.ended = event.time
        for block in stage.blocks:  # those that an earlier process solved are not reported
            block.state = DONE
        self.whole = self.whole and (event.resumed or sum(stage.done.values()) >= stage.tasks)
        if event.resumed:
            stage.began, stage.done = event.time, dict(stage.layers)
        if event.record.get("alone"):
            self._expect_no_rounds()
        self._look_between_clusters(event.stage, event.record)

    def on_fault(self, event: Fault) -> None:
        """Store a fault."""
        self.faults.append(event)
        if isinstance(event, WorkerLost):
            for stage in self.stages.values():
                stage.lose_worker(event.worker)

    def on_end(self, event: RunEnds) -> None:
        """Store how the process left the run; stages that did not begin are dropped."""
        self.ending = event
        self.stages = {name: stage for name, stage in self.stages.items() if stage.state != WAITING}

    @property
    def workers(self) -> int:
        """Number of tasks that may run at a time."""
        return 1 if self.beginning is None else max(1, self.beginning.workers)

    @property
    def _block_cap(self) -> int | None:
        return None if self.beginning is None else self.beginning.about.get("block_cap")

    @property
    def kernel_values(self) -> int:
        """Kernel values that tasks of this process have computed."""
        return sum(stage.kernel_values for stage in self.stages.values())

    @property
    def ns_per_kernel_value(self) -> float | None:
        """Processor time of those tasks per kernel value, in nanoseconds; None before the first."""
        busy = sum(stage.busy for stage in self.stages.values())
        return 1e9 * busy / self.kernel_values if self.kernel_values else None

    @property
    def chain_of_sets(self) -> list[StageProgress]:
        """The stages of a run of one chain of working sets that have begun; none of other runs."""
        stages = self.stages.values()
        return [stage for stage in stages if stage.kind.of_sets and stage.state != WAITING]

    @property
    def is_of_sets(self) -> bool:
        """Whether the run is one chain of working sets."""
        return any(stage.kind.of_sets for stage in self.stages.values())

    @property
    def falls(self) -> list[tuple[float, int, float]]:
        """Times, numbers and violations of that chain's working sets, of this process.

        Of many the latest one, and every second, third, ... before it.
        """
        found = [point for stage in self.chain_of_sets for point in stage.falls]
        return found[:: -max(1, -(-len(found) // MOST_DRAWN))][::-1]

    @property
    def sets(self) -> int:
        """Number of working sets of that chain."""
        return max(map(sets_of, self.chain_of_sets), default=0)

    @property
    def sets_per_second(self) -> float | None:
        """Working sets of that chain in a second, lately; None before the second one."""
        latest = [point for stage in self.chain_of_sets[-2:] for point in stage.falls][-RECENT:]
        if len(latest) < 2 or latest[-1][0] <= latest[0][0] or latest[-1][1] <= latest[0][1]:
            return None
        return (latest[-1][1] - latest[0][1]) / (latest[-1][0] - latest[0][0])

    def elapsed(self, now: float) -> float:
        """Return the seconds since the run's workers were ready."""
        if self.beginning is None:
            return 0.0
        now = now if self.ending is None else min(now, self.ending.time)
        return max(0.0, now - self.beginning.time)

    def stage_left(self, stage: StageProgress, now: float) -> float | None:
        """Return the estimated remaining seconds of a stage; None without an estimate."""
        return 0.0 if self.ending is not None else self._estimate(now).stage(stage)

    def chain_left(self, kind: StageKind, now: float) -> float | None:
        """Return the estimated remaining seconds of a chain of rounds; None without an estimate."""
        return None if self.ending is not None else self._estimate(now).chain(kind)

    def left(self, now: float) -> float | None:
        """Return the estimated remaining seconds of the run; None without an estimate."""
        return 0.0 if self.ending is not None else self._estimate(now).run()

    def _estimate(self, now: float) -> Estimate:
        return Estimate(list(self.stages.values()), self.plan, self.workers, now)

    def _planned_like(self, like: StageProgress) -> float:
        """Return the planned seconds of stages of the same kind.

        The plan has one round of each kind, and the start of its chain.
        """
        found = [stage.planned for stage in self.stages.values() if stage.kind == like.kind]
        rounds = [
            of["seconds"]
            for name, of in self.plan.get("stages", {}).items()
            if kind_of(name) == like.kind and IMPROVE in of["layers"]
        ]
        found = rounds if like.improves and rounds else found
        return max((seconds for seconds in found if seconds), default=0.0)

    def _look_between_clusters(self, stage: str, record: Record) -> None:
        """Expect no rounds once the partition of the last level leaves nothing between blocks."""
        solved = stage.endswith(StageId.level(1)) and record.get("pays", True)
        if solved and "choice" in record and are_alone(record["choice"]):
            self._expect_no_rounds()

    def _expect_no_rounds(self) -> None:
        """Drop what is planned after blocks without kernel values between them, but the proof."""
        for other in self.stages.values():
            if other.state != WAITING or not other.kind.until_tolerance:
                continue
            if other.times > 1:
                other.times = 0
            elif SOLVE in other.layers:  # what solves and proves has only to prove
                other.layers = {name: n for name, n in other.layers.items() if name != SOLVE}
                other.planned *= PROOF
        self.stages = {
            name: other
            for name, other in self.stages.items()
            if other.state != WAITING or not other.kind.is_optional
        }

    def _in_order(self) -> None:
        """Put stages that are done or under way first, planned ones after them.

        The plan has one round of each kind; once a chain begins, its own rounds replace it.
        """
        begun = [stage for stage in self.stages.values() if stage.state != WAITING]
        passed = [stage.kind.turn for stage in begun if stage.kind.turn is not None]
        last = max(passed, default=-1)
        chains = {stage.kind.name for stage in begun if stage.kind.until_tolerance}
        names = {stage.name for stage in begun}
        planned = list(self.plan.get("stages", ()))
        latest = max((i for i, name in enumerate(planned) if name in names), default=0)
        waiting = [
            stage
            for stage in self.stages.values()
            if stage.name not in names
            and stage.kind.name not in chains
            and (
                stage.name not in planned[:latest]
                if stage.kind.turn is None
                else stage.kind.turn >= last
            )
        ]
        self.stages = {stage.name: stage for stage in (*begun, *waiting)}

    def _take_blocks_from_arrangement(self, stage: StageProgress) -> None:
        """Give the bottom level the blocks of the arrangement."""
        arranged = self.stages.get("arrange")
        bottom = stage.kind.name == LEVEL and "order" not in stage.layers
        if bottom and arranged is not None and "block_rows" in arranged.record:
            stage.take_blocks(arranged.record, self._block_cap)


def sets_of(stage: StageProgress) -> int:
    """Return how many working sets the run had solved at the latest news of a stage."""
    return max(stage.sets, int(stage.record.get("sets", 0)))


def adds_up(stage: str, node: str) -> bool:
    """Return whether a node's kernel values are the sum of those of other nodes."""
    return node == COMMIT and kind_of(stage).of_blocks
