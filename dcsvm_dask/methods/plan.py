"""What a run will do, known before it runs: stages, tasks, memory, work, time, bytes on disk."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from dcsvm_dask.methods.forecast import TYPICAL, Forecast, Load, Measured, helping, makespan
from dcsvm_dask.methods.graph import Graph
from dcsvm_dask.methods.method import Goals, Shape
from dcsvm_dask.methods.registry import BEGUN
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.stage_plan import StagePlan
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import StageId

# Seconds that a layer takes until its last task has been told of, and that a task takes beside
# its work; bytes that a process writes in a second.
LAYER_SECONDS, TASK_SECONDS, WRITTEN_PER_SECOND = 0.02, 0.01, 100e6


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

    def most_bytes(self, threads: int = 1) -> int:
        """Return the memory that a worker may come to take, without rows that it keeps."""
        return self.measured.process_bytes + self.largest(threads).most_bytes(threads)

    def largest(self, threads: int = 1) -> StagePlan:
        """Return the stage whose tasks may take most memory in a worker of some threads."""
        return max(self.stages, key=lambda stage: stage.most_bytes(threads))

    @property
    def kernel_values(self) -> float:
        """Kernel values of the whole run, about; rounds counted as often as is typical."""
        return sum(stage.kernel_values * stage.times for stage in self.stages)

    def seconds(self, workers: int, threads: int = 1) -> float:
        """Return how long the run takes on some workers, about; rounds as often as is typical.

        Parameters
        ----------
        workers : int
            Tasks that run at a time.
        threads : int
            Those of a task that runs alone.
        """
        return sum(self.stage_seconds(one, workers, threads) * one.times for one in self.stages)

    def stage_seconds(self, planned: StagePlan, workers: int, threads: int = 1) -> float:
        """Return how long one stage takes on some workers, about: layer by layer."""
        return sum(
            self._layer_seconds(len(layer.nodes), load, workers, threads)
            for layer, load in planned.layer_loads()
        )

    def _layer_seconds(self, tasks: int, load: Load, workers: int, threads: int) -> float:
        values = load.kernel_values / (threads if load.threaded and tasks == 1 else 1)
        work = values * self.measured.value_seconds + load.core_seconds
        work += load.written_bytes / WRITTEN_PER_SECOND
        took = makespan(work, load.largest * work, tasks, workers)
        return took + TASK_SECONDS * math.ceil(tasks / workers) + LAYER_SECONDS

    def helping(self, planned: StagePlan, threads: int = 1) -> int:
        """Return from how many workers on one stage gains nothing by more."""
        most = max(len(layer.nodes) for layer in planned.stage.layers)
        return helping(lambda workers: self.stage_seconds(planned, workers, threads), most)

    def most_helping(self, threads: int = 1) -> int:
        """Return from how many workers on the run gains nothing by more."""
        most = max(len(layer.nodes) for one in self.stages for layer in one.stage.layers)
        return helping(lambda workers: self.seconds(workers, threads), most)

    def graph(self) -> Graph:
        """Return the stages."""
        return [stage.stage for stage in self.stages]

    def to_json(self, workers: int, threads: int = 1) -> Record:
        """Return the plan as JSON values, with times on some workers; see `seconds`."""
        return {
            "stages": {
                planned.stage.name: {
                    "tasks": planned.stage.n_nodes,
                    "layers": {layer.name: len(layer.nodes) for layer in planned.stage.layers},
                    "times": planned.times,
                    "task_bytes": planned.task_bytes,
                    "written_bytes": int(planned.written_bytes),
                    "kernel_values": planned.kernel_values,
                    "seconds": self.stage_seconds(planned, workers, threads),
                    "helping_workers": self.helping(planned, threads),
                }
                for planned in self.stages
            },
            "levels": sum(StageId(planned.stage.name).is_level for planned in self.stages),
            "worker_bytes": self.worker_bytes,
            "most_bytes": self.most_bytes(),
            "disk_bytes": self.disk_bytes,
            "kernel_values": self.kernel_values,
            "seconds": self.seconds(workers, threads),
            "helping_workers": self.most_helping(threads),
            "measured": asdict(self.measured),
        }


def plan(settings: Settings, goals: Goals, shape: Shape, measured: Measured = TYPICAL) -> Plan:
    """Lay out a run.

    Memory is made of array sizes; kernel values rest on typical shares of support vectors and
    numbers of rounds, which only the run can tell.
    """
    stages = BEGUN[settings.method].plan(Forecast(settings, shape, measured), goals)
    return Plan(tuple(stages), disk_bytes(stages), shape.n_bytes, measured)


def disk_bytes(stages: list[StagePlan]) -> int:
    """Return the bytes that some stages take at their most, one after the other."""
    kept = most = 0.0
    for stage in stages:
        # Of rounds the point before is there, too, but not what it took to get to it.
        kept += (stage.written_bytes - stage.passing_bytes) * min(stage.times, 2)
        most = max(most, kept + stage.passing_bytes)
    return int(most)
