"""The plan of a run before it begins: stages, tasks, memory, work, time, bytes on disk."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import Graph
from dcsvm_dask.methods.load import Load, helping, makespan
from dcsvm_dask.methods.measured import TYPICAL, Measured, usual_value_seconds
from dcsvm_dask.methods.registry import BEGUN
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_plan import StagePlan
from dcsvm_dask.storage.node import Record
from dcsvm_dask.storage.stage_id import StageId

# Seconds until the client knows that a layer is done; seconds of a task beside its work; bytes that
# a process writes in a second.
LAYER_SECONDS, TASK_SECONDS, WRITTEN_PER_SECOND = 0.02, 0.01, 100e6


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a run; it has one round of each kind."""

    stages: tuple[StagePlan, ...]
    disk_bytes: int
    """Estimated largest size of the run folder."""
    data_bytes: int
    """Bytes of the rows; workers cache them as far as there is room."""
    measured: Measured
    """Measurements that it uses beside sizes."""

    @property
    def worker_bytes(self) -> int:
        """Likely largest memory of a worker of one thread, without cached rows."""
        return self.likely_bytes()

    def likely_bytes(self, threads: int = 1) -> int:
        """Return the likely memory of a process that carries so many tasks at a time."""
        return self.measured.process_bytes + max(one.likely_bytes(threads) for one in self.stages)

    def most_bytes(self, threads: int = 1) -> int:
        """Return the most memory of a worker, without cached rows."""
        return self.measured.process_bytes + self.largest(threads).most_bytes(threads)

    def largest(self, threads: int = 1) -> StagePlan:
        """Return the stage whose tasks may take the most memory of a worker."""
        return max(self.stages, key=lambda stage: stage.most_bytes(threads))

    @property
    def kernel_values(self) -> float:
        """Estimated kernel values of the run, with a typical number of rounds."""
        return sum(stage.kernel_values * stage.times for stage in self.stages)

    def seconds(self, workers: int, threads: int = 1) -> float:
        """Return the estimated wall time of the run, with a typical number of rounds.

        Parameters
        ----------
        workers : int
            Number of tasks that run at a time.
        threads : int, default 1
            Threads of a task that is the only one of its layer.
        """
        return sum(self.stage_seconds(one, workers, threads) * one.times for one in self.stages)

    def stage_seconds(self, planned: StagePlan, workers: int, threads: int = 1) -> float:
        """Return the estimated wall time of a stage, the sum over its layers; see `seconds`."""
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
        """Return the number of workers beyond which a stage gains nothing."""
        most = max(len(layer.nodes) for layer in planned.stage.working_layers)
        return helping(lambda workers: self.stage_seconds(planned, workers, threads), most)

    def most_helping(self, threads: int = 1) -> int:
        """Return the number of workers beyond which the run gains nothing."""
        most = max(len(layer.nodes) for one in self.stages for layer in one.stage.working_layers)
        return helping(lambda workers: self.seconds(workers, threads), most)

    def graph(self) -> Graph:
        """Return the stages."""
        return [stage.stage for stage in self.stages]

    def to_json(self, workers: int, threads: int = 1) -> Record:
        """Return the plan as JSON values, with wall times; see `seconds` for the parameters."""
        return {
            "stages": {
                planned.stage.name: {
                    "tasks": planned.stage.n_nodes,
                    "layers": {
                        layer.name: len(layer.nodes) for layer in planned.stage.working_layers
                    },
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
    """Return the plan of a run.

    Memory follows from the sizes of arrays; kernel values and time depend on the share of support
    vectors and the number of rounds, for which typical values are taken.

    Parameters
    ----------
    settings : Settings
    goals : Goals
    shape : Shape
    measured : Measured, optional
        Measurements of the probe.

    Returns
    -------
    Plan
    """
    sizes = Forecast(settings, shape, measured)
    if not measured.value_seconds:
        usual = usual_value_seconds(sizes.width, sizes.values)
        sizes = replace(sizes, measured=replace(measured, value_seconds=usual))
    stages = BEGUN[settings.method].plan(sizes, goals)
    return Plan(tuple(stages), disk_bytes(stages), shape.n_bytes, sizes.measured)


def disk_bytes(stages: list[StagePlan]) -> int:
    """Return the largest size of the run folder while stages run one after the other, in bytes."""
    kept = most = 0.0
    for stage in stages:
        # The point of the round before is kept as well, but not its temporary arrays.
        kept += (stage.written_bytes - stage.passing_bytes) * min(stage.times, 2)
        most = max(most, kept + stage.passing_bytes)
    return int(most)
