"""Sizes of tasks that fit the memory of workers: caps of blocks and working sets, and pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.plan import plan as make_plan
from dcsvm_dask.methods.settings import CAPS, Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.runtime.capacity import fit_caps, fits, memory_of_core
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet


def fitted(
    settings: Settings,
    goals: Goals,
    shape: Shape,
    training: Training,
    execution: Execution,
    memory: int | None,
) -> Settings:
    """Return settings whose largest tasks fit the memory (bytes) of a worker.

    Sizes that were given stay as they are. The others are lowered here if at all: from now on they
    are parameters of the run, whatever memory there is later.
    """
    room = memory_of_core() if execution.shares_machine else memory
    if room is None:
        return settings
    given = [name for name in CAPS if getattr(training, name) is not None]
    # The run may go on to the exact model later, with the sizes that it was begun with.
    return fit_caps(settings, replace(goals, stop_at=0), shape, room, given=given)


def reading(
    dataset: DataSet, execution: Execution, memory: int | None
) -> Callable[[Training], int]:
    """Return in how many pieces tasks of a training read rows, to fit a worker's memory (bytes).

    They are 0 where it does not fit in any.
    """

    def pieces(training: Training) -> int:
        wanted, goals, shape = training.settle(dataset)
        settings = fitted(wanted, goals, shape, training, execution, memory)
        if memory is not None and not fits(make_plan(settings, goals, shape), memory):
            return 0
        return int(max(1, settings.options.get("chunks", 1)))

    return pieces


def chosen_sizes(wanted: Settings, settings: Settings) -> str:
    """Return the options that say which sizes were lowered; none: an empty string."""
    words = [
        f"--{name.replace('_', '-')} {getattr(settings, name)}"
        for name in CAPS
        if getattr(settings, name) != getattr(wanted, name)
    ]
    # An approximation reads its features in one piece by default.
    chunks = settings.options.get("chunks", 1)
    if chunks > 1 and chunks != wanted.options.get("chunks"):
        words.append(f"-P chunks={chunks}")
    return " ".join(words)


def lowered_sizes_note(lowered: str) -> str:
    """Return that sizes were lowered, and what follows, in a sentence."""
    return (
        "the workers' memory is too small for the usual sizes, and others give another model in "
        f"its last digits: the run is trained with {lowered}; give these wherever its model is to "
        "be the same"
    )
