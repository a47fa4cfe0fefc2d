"""The work of a layer of tasks, and how long it takes on so many workers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

HELPS = 0.01
"""Least share of the time that more workers must save to be worth having."""


@dataclass(frozen=True, slots=True)
class Load:
    """The work of all tasks of a layer, and the share of its largest task."""

    layer: str
    kernel_values: float = 0.0
    core_seconds: float = 0.0
    written_bytes: float = 0.0
    largest: float = 0.0
    """Share of the largest task in the layer's work; 0: all tasks are equal."""
    threaded: bool = False
    """Whether its only task computes kernel values with all threads of its process."""


def makespan(work: float, largest: float, tasks: int, workers: int) -> float:
    """Return the wall time of tasks that begin in order of size, the largest first.

    It is a lower bound for any order, which this order nearly attains.

    Parameters
    ----------
    work : float
        Time of all tasks together, in seconds.
    largest : float
        Time of the largest task; the others are equal.
    tasks, workers : int
        Their numbers.

    Returns
    -------
    float
        Seconds.
    """
    largest = max(largest, work / tasks)
    other = (work - largest) / max(1, tasks - 1)
    turns = math.ceil(tasks / workers)  # one worker has so many of them
    return max(largest, work / workers, turns * other)


def helping(seconds: Callable[[int], float], most: int) -> int:
    """Return the number of workers beyond which more save less than a hundredth of the time.

    Parameters
    ----------
    seconds : callable
        Returns the wall time, which falls with the number of workers.
    most : int
        A number of workers that is certainly enough.

    Returns
    -------
    int
    """
    enough, low, high = (1 + HELPS) * seconds(most), 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if seconds(middle) <= enough else (middle + 1, high)
    return low
