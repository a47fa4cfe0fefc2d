"""What a run will do, known before it runs: stages, tasks, memory, work, time, bytes on disk."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from dcsvm_dask.graphs.conquer import Chain, check_stage, round_stage
from dcsvm_dask.graphs.dcsvm import (
    Goals,
    Shape,
    arrange_stage,
    bottom_stage,
    chain_of,
    level_stage,
    merge_stage,
    probe_stage,
)
from dcsvm_dask.graphs.forecast import NEAR_PAIRS, Forecast, Need, largest
from dcsvm_dask.graphs.graph import Graph, Stage
from dcsvm_dask.graphs.measured import TYPICAL, Measured
from dcsvm_dask.graphs.working_sets import closing_stage, set_stage, start_stage, subset_stage
from dcsvm_dask.steps.probe import PROBE_CLUSTERS
from dcsvm_dask.steps.settings import Settings
from dcsvm_dask.storage.run import Record

# Rounds of a kind, typical: only the run itself can tell.
ROUNDS, SETS = 2, 3
# Seconds that a layer takes until its last task has been told of, and that a task takes beside
# its work; bytes that a process writes in a second.
LAYER_SECONDS, TASK_SECONDS, WRITTEN_PER_SECOND = 0.02, 0.01, 100e6


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage before it runs."""

    stage: Stage
    need: Need
    """Memory of its largest task, beside the process itself."""
    kernel_values: float
    """Kernel values that it will compute, about."""
    written_bytes: float
    """Bytes that it writes, before they are packed."""
    times: int = 1
    """How many stages like it there are, typically."""
    core_seconds: float = 0.0
    """Time of a core for what is neither kernel values nor writing."""

    @property
    def task_bytes(self) -> int:
        """Memory that its largest task is likely to take."""
        return self.need.n_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run before it runs; rounds stand for one of each kind."""

    stages: tuple[StagePlan, ...]
    disk_bytes: int
    """Bytes that the run folder takes at its most, about."""
    data_bytes: int
    """Bytes of the rows, which stay in a worker's memory as far as there is room."""
    measured: Measured
    """What it rests on beside sizes."""

    @property
    def worker_bytes(self) -> int:
        """Memory that a worker is likely to take at its most, without rows that it keeps."""
        return self.measured.process_bytes + max(stage.task_bytes for stage in self.stages)

    @property
    def most_bytes(self) -> int:
        """Memory that a worker may come to take, without rows that it keeps."""
        return self.measured.process_bytes + self.largest.need.most

    @property
    def largest(self) -> StagePlan:
        """The stage with the task that may take most memory."""
        return max(self.stages, key=lambda stage: stage.need.most)

    @property
    def kernel_values(self) -> float:
        """Kernel values of the whole run, about; rounds counted as often as is typical."""
        return sum(stage.kernel_values * stage.times for stage in self.stages)

    def seconds(self, workers: int) -> float:
        """Return how long the run takes on some workers, about; rounds as often as is typical."""
        return sum(self.stage_seconds(stage, workers) * stage.times for stage in self.stages)

    def stage_seconds(self, planned: StagePlan, workers: int) -> float:
        """Return how long one stage takes on some workers, about."""
        layers = planned.stage.layers
        side_by_side = max(1, min(workers, max(len(layer.nodes) for layer in layers)))
        work = planned.kernel_values * self.measured.value_seconds + planned.core_seconds
        work += planned.written_bytes / WRITTEN_PER_SECOND
        work += planned.stage.n_nodes * TASK_SECONDS
        return work / side_by_side + LAYER_SECONDS * len(layers)

    def graph(self) -> Graph:
        """Return the stages."""
        return [stage.stage for stage in self.stages]

    def to_json(self, workers: int) -> Record:
        """Return the plan as JSON values, with times on some workers."""
        return {
            "stages": {
                planned.stage.name: {
                    "tasks": planned.stage.n_nodes,
                    "layers": {layer.name: len(layer.nodes) for layer in planned.stage.layers},
                    "times": planned.times,
                    "task_bytes": planned.task_bytes,
                    "written_bytes": int(planned.written_bytes),
                    "kernel_values": planned.kernel_values,
                    "seconds": self.stage_seconds(planned, workers),
                }
                for planned in self.stages
            },
            "levels": sum(planned.stage.name.startswith("level-") for planned in self.stages),
            "worker_bytes": self.worker_bytes,
            "most_bytes": self.most_bytes,
            "disk_bytes": self.disk_bytes,
            "kernel_values": self.kernel_values,
            "seconds": self.seconds(workers),
            "measured": asdict(self.measured),
        }


def plan(settings: Settings, goals: Goals, shape: Shape, measured: Measured = TYPICAL) -> Plan:
    """Lay out a run.

    Memory is made of array sizes; kernel values rest on typical shares of support vectors and
    numbers of rounds, which only the run can tell. Where nobody has looked whether the kernel is
    smooth, the stages are those of a local one and memory is that of either.
    """
    sizes = Forecast(settings, shape, measured)
    levels = len(settings.clusters)
    whole = not levels and sizes.n <= settings.set_cap
    climbs = not measured.smooth or bool(levels and (settings.levels_forced or goals.stop_at))
    if whole:
        stages = _few_rows(sizes, goals)
    elif climbs:
        stages = _tree(sizes, goals)
    else:
        stages = _working_sets(sizes, goals)
    written = sum(stage.written_bytes * min(stage.times, 2) for stage in stages)
    return Plan(tuple(stages), int(written), shape.n_bytes, measured)


def _few_rows(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out a run whose rows are one working set."""
    n = sizes.n
    chain = chain_of("conquer", None, sizes.settings, goals, sizes.shape, local=False)
    solve = closing_stage(chain, 1, None, at_once=True)
    written = sizes.point_bytes() + sizes.support * sizes.row
    return [
        StagePlan(merge_stage(), sizes.merging(), 0.0, 9.0 * sizes.shape.n_rows),
        StagePlan(solve, sizes.working_set(), float(n) * n, written),
    ]


def _working_sets(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out a run by working sets: the subset that foresees the first, and a set of each kind."""
    n, support = sizes.n, sizes.support
    chain = chain_of("conquer", None, sizes.settings, goals, sizes.shape, local=False)
    need = largest(sizes.working_set(), sizes.checking(n))
    values = 0.8 * n * support
    point = sizes.point_bytes()
    return [
        StagePlan(probe_stage(), sizes.choosing(PROBE_CLUSTERS), 0.0, 0.0),
        StagePlan(merge_stage(), sizes.merging(), 0.0, 9.0 * sizes.shape.n_rows),
        StagePlan(subset_stage(), sizes.subset(), 0.2 * n * support, 0.0),
        StagePlan(start_stage(chain, foresight=True), sizes.checking(n), 0.3 * n * support, point),
        StagePlan(set_stage(chain, 1, ""), need, values, point, times=SETS - 1),
        StagePlan(closing_stage(chain, SETS, "", at_once=False), need, values, point),
    ]


def _tree(sizes: Forecast, goals: Goals) -> list[StagePlan]:
    """Lay out a run by the tree of levels, refinement and conquer."""
    settings, shape, n = sizes.settings, sizes.shape, sizes.n
    levels, stages = len(settings.clusters), []
    if not (levels and goals.stop_at >= levels):
        stages.append(StagePlan(probe_stage(), sizes.choosing(PROBE_CLUSTERS), 0.0, 0.0))
    arranged = sizes.arranged_bytes()
    arranging = sizes.arranging_seconds()
    stages.append(
        StagePlan(
            arrange_stage(settings, shape),
            sizes.arranging(),
            0.0,
            arranged,
            core_seconds=arranging,
        )
    )
    for number in range(levels, max(goals.stop_at, 1) - 1, -1):
        k, bottom = settings.clusters[levels - number], number == levels
        stage = bottom_stage(settings, shape) if bottom else level_stage(settings, shape, number)
        need = sizes.level(k, bottom=bottom)
        if not bottom:
            need = largest(need, sizes.choosing(k))
        values, written = sizes.level_values(k), sizes.level_bytes()
        stages.append(StagePlan(stage, need, values, written, core_seconds=sizes.level_seconds(k)))
    if not goals.stop_at:
        for name, count in (("refine", sizes.support), ("conquer", float(n))):
            if name == "conquer" or levels:
                stages += _rounds(sizes, goals, name, count)
    return stages


def _rounds(sizes: Forecast, goals: Goals, name: str, count: float) -> list[StagePlan]:
    """Lay out the start of a chain of rounds over `count` rows, and one round."""
    settings, shape = sizes.settings, sizes.shape
    chain: Chain = chain_of(name, None, settings, goals, shape, local=True)
    active = min(sizes.support, count)
    blocks = max(1, round(active / settings.block_cap))
    need = sizes.round()
    if name == "conquer" and sizes.measured.smooth is None:
        need = largest(need, sizes.working_set())
    values = 0.2 * NEAR_PAIRS * count * active + blocks * settings.block_cap**2
    point = sizes.point_bytes()
    whole = NEAR_PAIRS * count * sizes.support
    check = StagePlan(check_stage(chain, 0, None), sizes.checking(count), whole, point)
    step = StagePlan(round_stage(chain, 1, "", blocks), need, values, point, times=ROUNDS)
    return [check, step]
