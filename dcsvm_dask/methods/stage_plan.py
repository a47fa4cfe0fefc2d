"""One stage before it runs: memory, work, bytes written."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dcsvm_dask.methods.forecast import Forecast, Need
from dcsvm_dask.methods.graph import COMMIT, Layer, Stage
from dcsvm_dask.methods.load import Load
from dcsvm_dask.methods.offset import SUBSET
from dcsvm_dask.methods.stages import merge_stage, offset_stage

CAPS = "lower --block-cap and --set-cap"


@dataclass(frozen=True, slots=True)
class StagePlan:
    """One stage before it runs."""

    stage: Stage
    need: Need
    """Memory of its largest task."""
    kernel_values: float
    """Estimated kernel values."""
    written_bytes: float
    """Bytes that it writes, before compression."""
    times: int = 1
    """Typical number of stages like it."""
    core_seconds: float = 0.0
    """Time of a core for work other than kernel values and writing."""
    passing_bytes: float = 0.0
    """Written bytes that are deleted when it is committed."""
    remedy: str | None = CAPS
    """The setting that makes its largest task smaller; None: only fewer rows do."""
    alike: bool = False
    """Whether many of its tasks are about as large as the largest, and so are those that a process
    carries at a time."""
    loads: tuple[Load, ...] = ()
    """Known work of single layers; the layer of most tasks has what remains."""

    @property
    def task_bytes(self) -> int:
        """Likely memory of its largest task."""
        return self.need.n_bytes

    def likely_bytes(self, threads: int) -> int:
        """Return the likely memory of its tasks in a process that carries so many at a time."""
        return self.need.n_bytes * (self.side_by_side(threads) if self.alike else 1)

    def side_by_side(self, workers: int) -> int:
        """Return the largest number of its tasks that run at a time."""
        return max(1, min(workers, max(len(layer.nodes) for layer in self.stage.working_layers)))

    def layer_loads(self) -> list[tuple[Layer, Load]]:
        """Return the layers, in order, with their work."""
        layers = self.stage.working_layers
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
        """Return the most memory that its tasks take in a process of some threads."""
        return self.side_by_side(threads) * self.need.most


def merging_plan(sizes: Forecast) -> StagePlan:
    """Return the plan of the stage that merges repeated rows."""
    written = 9.0 * sizes.shape.n_rows
    return StagePlan(merge_stage(), sizes.merging(), 0.0, written, remedy=None)


def offset_plan(sizes: Forecast, stage: Stage | None = None, most: int = SUBSET) -> StagePlan:
    """Return the plan of the stage that estimates the bias with which levels begin.

    Parameters
    ----------
    sizes : Forecast
    stage : Stage, optional
        By default that of one SVM.
    most : int
        Rows that it draws.
    """
    rows = min(most, sizes.shape.n_rows)
    need = sizes.fixed(24.0 * rows**2 + rows * sizes.row + 40.0 * sizes.shape.n_rows)
    load = Load(COMMIT, kernel_values=float(rows) ** 2, threaded=True)
    return of_loads(offset_stage() if stage is None else stage, need, (load,), remedy=None)


def of_loads(
    stage: Stage,
    need: Need,
    loads: tuple[Load, ...],
    *,
    times: int = 1,
    passing_bytes: float = 0.0,
    remedy: str | None = CAPS,
) -> StagePlan:
    """Return the plan of a stage whose whole work is that of the given layers.

    Parameters
    ----------
    stage : Stage
    need : Need
        Memory of its largest task.
    loads : tuple of Load
        Work of its layers.
    times : int, default 1
        Typical number of stages like it.
    passing_bytes : float, default 0.0
        Written bytes that are deleted when it is committed.
    remedy : str or None
        The setting that makes its largest task smaller; None: only fewer rows do.

    Returns
    -------
    StagePlan
    """
    return StagePlan(
        stage,
        need,
        sum(load.kernel_values for load in loads),
        sum(load.written_bytes for load in loads),
        times=times,
        core_seconds=sum(load.core_seconds for load in loads),
        passing_bytes=passing_bytes,
        remedy=remedy,
        loads=loads,
    )
