"""The rate at which each worker computes kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dcsvm_dask.diagnostics.dashboard.words import NOTHING, count, host
from dcsvm_dask.diagnostics.progress.progress import Progress
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import BlockSolved, TaskDone


@dataclass(slots=True)
class Work:
    """The work that a worker has done."""

    values: int = 0
    """Kernel values."""
    seconds: float = 0.0
    """Seconds of the tasks that computed them."""
    tasks: int = 0


class Rates(Callback):
    """Sums kernel values and their seconds by worker.

    Blocks are counted while their task runs, so that a task of minutes shows before its end.
    """

    def __init__(self) -> None:
        self.work: dict[str, Work] = {}
        self._counted: dict[tuple[str, str], tuple[int, float]] = {}

    def on_block(self, event: BlockSolved) -> None:
        """Add the work of a block."""
        values, seconds = event.record.get("kernel_values", 0), event.record.get("seconds", 0.0)
        self._add(event.worker, values, seconds)
        task = (event.stage, event.node)
        before = self._counted.get(task, (0, 0.0))
        self._counted[task] = before[0] + values, before[1] + seconds

    def on_task(self, event: TaskDone) -> None:
        """Add the work of a task without that of its blocks, and count the task."""
        values, seconds = self._counted.pop((event.stage, event.node), (0, 0.0))
        work = self.work.setdefault(event.worker, Work())
        work.tasks += 1
        # Probes and scores compute kernel values too, but do not count them.
        if event.record.get("kernel_values") and event.layer != "commit":
            more = event.record["kernel_values"] - values
            self._add(event.worker, more, event.record["seconds"] - seconds)

    def _add(self, worker: str, values: int, seconds: float) -> None:
        work = self.work.setdefault(worker, Work())
        work.values += max(0, values)
        work.seconds += max(0.0, seconds)


MOST_WORKERS = 24
"""Largest number of bars."""
UNIT = 1e6
"""Unit of the figure, in kernel values."""


def rate_columns(
    work: dict[str, Work], calibrated: float | None, doing: dict[str, str]
) -> dict[str, list[Any]]:
    """Return kernel values per second of each worker while it computes them, the slowest first.

    Parameters
    ----------
    work : dict of str to Work
        By worker.
    calibrated : float or None
        Kernel values per second that the probe measured.
    doing : dict of str to str
        Running tasks by worker.

    Returns
    -------
    dict of str to list
        At most `MOST_WORKERS` rows; ``rate`` is in millions.
    """
    found = sorted((w.values / w.seconds, name, w) for name, w in work.items() if w.seconds > 0)
    columns: dict[str, list[Any]] = {
        key: [] for key in ("worker", "rate", "text", "share", "tasks", "doing")
    }
    for rate, name, of in found[:MOST_WORKERS]:
        columns["worker"].append(host(name))
        columns["rate"].append(rate / UNIT)
        columns["text"].append(f"{rate / UNIT:.3g} million")
        columns["share"].append(f"{rate / calibrated:.0%}" if calibrated else NOTHING)
        columns["tasks"].append(count(of.tasks))
        columns["doing"].append(doing.get(name, NOTHING))
    return columns


def calibrated_rate(progress: Progress) -> float | None:
    """Return the kernel values per second that the probe measured on one core; None before it."""
    probe = progress.stages.get("probe")
    seconds = None if probe is None else probe.record.get("value_seconds")
    return 1.0 / seconds if seconds else None
