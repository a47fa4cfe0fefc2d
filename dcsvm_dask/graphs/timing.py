"""How long the tasks of a layer take on some workers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

HELPS = 0.01
"""Share of the time that is the least for which more workers count as help."""


@dataclass(frozen=True, slots=True)
class Load:
    """What the tasks of one layer do together, and how much of it the largest of them."""

    layer: str
    kernel_values: float = 0.0
    core_seconds: float = 0.0
    written_bytes: float = 0.0
    largest: float = 0.0
    """Share of the layer's work that is its largest task's; 0: all tasks are equal."""
    threaded: bool = False
    """Whether its only task has its kernel values computed by all threads of its process."""


def makespan(work: float, largest: float, tasks: int, workers: int) -> float:
    """Return how long some tasks take that are begun in order, from the largest on.

    No order takes less, and this one hardly more.

    Parameters
    ----------
    work : float
        Time of all tasks together.
    largest : float
        Time of the largest; the others are equal.
    tasks, workers : int
        How many there are.
    """
    largest = max(largest, work / tasks)
    other = (work - largest) / max(1, tasks - 1)
    turns = math.ceil(tasks / workers)  # somebody has so many of them
    return max(largest, work / workers, turns * other)


def helping(seconds: Callable[[int], float], most: int) -> int:
    """Return from how many workers on more gain less than a hundredth.

    Parameters
    ----------
    seconds : callable
        Takes a number of workers; falls with it.
    most : int
        How many workers are surely enough.
    """
    enough, low, high = (1 + HELPS) * seconds(most), 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if seconds(middle) <= enough else (middle + 1, high)
    return low
