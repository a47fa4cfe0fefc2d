"""One stage before it runs: memory, work, bytes written."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dcsvm_dask.methods.forecast import Forecast, Load, Need
from dcsvm_dask.methods.graph import Layer, Stage
from dcsvm_dask.methods.stages import merge_stage

CAPS = "lower --block-cap and --set-cap"


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
    passing_bytes: float = 0.0
    """Those of them that are deleted when it is committed."""
    relief: str | None = CAPS
    """What makes its largest task smaller, beside fewer rows; None: nothing does."""
    loads: tuple[Load, ...] = ()
    """What is known of the work of single layers; the rest is that of the one of most tasks."""

    @property
    def task_bytes(self) -> int:
        """Memory that its largest task is likely to take."""
        return self.need.n_bytes

    def side_by_side(self, workers: int) -> int:
        """Return how many of its tasks run at a time on some workers, at most."""
        return max(1, min(workers, max(len(layer.nodes) for layer in self.stage.layers)))

    def layer_loads(self) -> list[tuple[Layer, Load]]:
        """Return the layers with their work, in their order."""
        layers = self.stage.layers
        found = {load.layer: load for load in self.loads}
        widest = max(layers, key=lambda layer: len(layer.nodes)).name
        most = found.get(widest, Load(widest))

        def rest(total: float, of: str) -> float:
            known = sum(getattr(load, of) for load in self.loads)
            return float(getattr(most, of) + max(0.0, total - known))

        found[widest] = replace(
            most,
            kernel_values=rest(self.kernel_values, "kernel_values"),
            core_seconds=rest(self.core_seconds, "core_seconds"),
            written_bytes=rest(self.written_bytes, "written_bytes"),
        )
        return [(layer, found.get(layer.name, Load(layer.name))) for layer in layers]

    def most_bytes(self, threads: int) -> int:
        """Return the memory that its tasks may come to take in a process of so many threads."""
        return self.side_by_side(threads) * self.need.most


def merging_plan(sizes: Forecast) -> StagePlan:
    """Return the stage that merges repeated rows, with what it takes."""
    written = 9.0 * sizes.shape.n_rows
    return StagePlan(merge_stage(), sizes.merging(), 0.0, written, relief=None)


def of_loads(
    stage: Stage,
    need: Need,
    loads: tuple[Load, ...],
    *,
    times: int = 1,
    passing_bytes: float = 0.0,
    relief: str | None = CAPS,
) -> StagePlan:
    """Return the plan of a stage all of whose work is that of some layers."""
    return StagePlan(
        stage,
        need,
        sum(load.kernel_values for load in loads),
        sum(load.written_bytes for load in loads),
        times=times,
        core_seconds=sum(load.core_seconds for load in loads),
        passing_bytes=passing_bytes,
        relief=relief,
        loads=loads,
    )
