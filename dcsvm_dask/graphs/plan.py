"""What a run will do, known before it runs: stages, tasks, memory, work, bytes on disk."""

from __future__ import annotations

from dataclasses import dataclass

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
from dcsvm_dask.graphs.graph import Graph, Stage
from dcsvm_dask.graphs.sizes import arrange_parts
from dcsvm_dask.graphs.working_sets import closing_stage
from dcsvm_dask.steps.level import ESTIMATE_ROWS
from dcsvm_dask.steps.partition import IMBALANCE, sample_size
from dcsvm_dask.steps.settings import Settings

PROCESS_BYTES = 320 << 20
"""What a worker takes before its first task: Python, NumPy, Numba, Dask and compiled code."""

# Shares that only the run itself can tell; typical of noisy data.
SUPPORT_SHARE = 0.3
ROUNDS = 10
# The solver copies the kernel matrix of the active rows together: at most this share of it.
COPIED = 0.57


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage before it runs."""

    stage: Stage
    task_bytes: int
    """Memory of its largest task, beside the process itself."""
    kernel_values: float
    """Kernel values that it will compute, about."""
    times: int = 1
    """How many stages like it there are, typically."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run before it runs; rounds stand for one of each kind."""

    stages: tuple[StagePlan, ...]
    disk_bytes: int
    """Bytes that the run folder takes at its most, about."""
    data_bytes: int
    """Bytes of the rows, which stay in a worker's memory as far as there is room."""

    @property
    def worker_bytes(self) -> int:
        """Memory that a worker needs for the largest task."""
        return PROCESS_BYTES + max(stage.task_bytes for stage in self.stages)

    @property
    def largest(self) -> StagePlan:
        """The stage with the largest task."""
        return max(self.stages, key=lambda stage: stage.task_bytes)

    @property
    def kernel_values(self) -> float:
        """Kernel values of the whole run, about; rounds counted as often as is typical."""
        return sum(stage.kernel_values * stage.times for stage in self.stages)

    def graph(self) -> Graph:
        """Return the stages."""
        return [stage.stage for stage in self.stages]


def plan(settings: Settings, goals: Goals, shape: Shape) -> Plan:
    """Lay out a run.

    Memory is an upper bound made of array sizes; kernel values rest on typical shares of support
    vectors and numbers of rounds, which only the run can tell.
    """
    n, levels = shape.n_variables, len(settings.clusters)
    row = max(1, shape.n_bytes // max(1, shape.n_rows))
    support = SUPPORT_SHARE * n
    cap = min(n, settings.block_cap)
    matrix = 4 * cap**2
    chunk = settings.chunk_rows * row
    if not levels and n <= settings.set_cap:
        return _plan_of_few_rows(settings, goals, shape)
    arrange_bytes = _arrange_bytes(settings, shape)
    stages = [StagePlan(arrange_stage(settings, shape), arrange_bytes, 0.0)]
    if not (levels and goals.stop_at >= levels):
        stages.insert(0, StagePlan(probe_stage(), arrange_bytes, 0.0))
    for number in range(levels, max(goals.stop_at, 1) - 1, -1):
        k = settings.clusters[levels - number]
        bottom = number == levels
        stage = bottom_stage(settings, shape) if bottom else level_stage(settings, shape, number)
        rows = min(n, IMBALANCE * n // k + 1)
        block = 4 * min(rows, settings.block_cap) ** 2 + 3 * rows * row + 100 * rows
        values = n * (n / k) if rows <= settings.block_cap else n * (n / k) * SUPPORT_SHARE * 2
        stages.append(
            # The commit reads all support vectors, to estimate the whole problem's objective.
            StagePlan(
                stage,
                max(block, 40 * n + max(chunk, int(2 * support * row))),
                values + ESTIMATE_ROWS * support,
            )
        )
    if not goals.stop_at:
        everything = int(2 * n * row * SUPPORT_SHARE) + 3 * chunk + 60 * n
        for name, count in (("refine", support), ("conquer", float(n))):
            if name == "refine" and not levels:
                continue
            chain: Chain = chain_of(name, None, settings, goals, shape, local=True)
            active = min(support, count)
            blocks = max(1, round(active / settings.block_cap))
            task = max(matrix + 3 * cap * row, everything)
            if name == "conquer":
                task = max(task, set_bytes(settings, shape) + 3 * settings.set_cap * row)
            stages.append(StagePlan(check_stage(chain, 0, None), everything, count * support))
            stages.append(
                StagePlan(
                    round_stage(chain, 1, "", blocks),
                    task,
                    count * active * 0.2 + blocks * settings.block_cap**2,
                    times=ROUNDS,
                )
            )
    # The arranged copy, and a model and the alphas for every level.
    disk = shape.n_bytes + (levels + 1) * (int(support) * row + 16 * n) + ROUNDS * 40 * n
    return Plan(tuple(stages), disk, shape.n_bytes)


def _plan_of_few_rows(settings: Settings, goals: Goals, shape: Shape) -> Plan:
    """Lay out a run whose rows are one working set."""
    n, row = shape.n_variables, max(1, shape.n_bytes // max(1, shape.n_rows))
    chain = chain_of("conquer", None, settings, goals, shape, local=False)
    solve = closing_stage(chain, 1, None, at_once=True)
    stages = (
        StagePlan(merge_stage(), 100 * shape.n_rows, 0.0),
        StagePlan(solve, set_bytes(settings, shape) + 3 * n * row, float(n) * n),
    )
    support = int(SUPPORT_SHARE * n)
    return Plan(stages, support * row + 100 * n, shape.n_bytes)


def set_bytes(settings: Settings, shape: Shape) -> int:
    """Return the memory of the largest working set: its kernel matrix and that of its free rows."""
    return int(4 * (1 + COPIED) * min(shape.n_variables, settings.set_cap) ** 2)


def _arrange_bytes(settings: Settings, shape: Shape) -> int:
    row = max(1, shape.n_bytes // max(1, shape.n_rows))
    part = 3 * shape.n_bytes // arrange_parts(shape.n_bytes)
    order = 100 * shape.n_rows
    k = settings.clusters[0] if settings.clusters else 1
    sample = min(sample_size(settings, k), shape.n_rows)
    cluster = 12 * sample**2 + 3 * sample * row
    return max(part, order, cluster, 3 * settings.chunk_rows * row)
