"""Which SVMs a task solves: those of many classes are many, and of few rows each."""

from __future__ import annotations

from collections.abc import Sequence

TOGETHER = 1e6
"""Squared rows of the SVMs of a task: an SVM of 1,000 rows has a task of its own."""
MOST_TOGETHER = 256
"""SVMs of a task at most: some tenths of a second for the smallest, beside which the files of a
task and its way to a worker are little."""


def tasks_of_svms(rows: Sequence[int]) -> list[list[int]]:
    """Return the SVMs of each task, those of most rows first.

    Parameters
    ----------
    rows : sequence of int
        Rows of each SVM.

    Returns
    -------
    list of list of int
        Numbers of the SVMs of each task.
    """
    tasks: list[list[int]] = []
    left = 0.0
    for number in sorted(range(len(rows)), key=lambda one: -rows[one]):
        left -= rows[number] ** 2
        if left < 0 or len(tasks[-1]) == MOST_TOGETHER:
            tasks.append([])
            left = TOGETHER - rows[number] ** 2
        tasks[-1].append(number)
    return tasks
