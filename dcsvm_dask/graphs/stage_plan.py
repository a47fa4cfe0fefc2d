"""One stage before it runs: memory, work, bytes written."""

from __future__ import annotations

from dataclasses import dataclass

from dcsvm_dask.graphs.dcsvm import merge_stage
from dcsvm_dask.graphs.forecast import Forecast, Need
from dcsvm_dask.graphs.graph import Stage


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
    relief: str | None = "lower --block-cap and --set-cap"
    """What makes its largest task smaller, beside fewer rows; None: nothing does."""

    @property
    def task_bytes(self) -> int:
        """Memory that its largest task is likely to take."""
        return self.need.n_bytes

    def side_by_side(self, workers: int) -> int:
        """Return how many of its tasks run at a time on some workers, at most."""
        return max(1, min(workers, max(len(layer.nodes) for layer in self.stage.layers)))

    def most_bytes(self, threads: int) -> int:
        """Return the memory that its tasks may come to take in a process of so many threads."""
        return self.side_by_side(threads) * self.need.most


def merging_plan(sizes: Forecast) -> StagePlan:
    """Return the stage that merges repeated rows, with what it takes."""
    written = 9.0 * sizes.shape.n_rows
    return StagePlan(merge_stage(), sizes.merging(), 0.0, written, relief=None)
