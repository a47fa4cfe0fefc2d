"""How many levels a training has, and the clusters of each, bottom level first."""

from __future__ import annotations

import math
import numbers
from itertools import pairwise

from dcsvm_dask.checks import check, is_a
from dcsvm_dask.methods.registry import METHODS
from dcsvm_dask.pipeline.parameters import TrainingParameters

BOTTOM_BLOCK_ROWS = 1500
LEAST_ROWS_FOR_LEVELS = 12_288
MOST_LEVELS = 6


def check_levels(parameters: TrainingParameters) -> None:
    """Refuse levels and clusters that no data can have.

    Raises
    ------
    InputError
        If the levels are no number from 0 to 12, or the numbers of clusters do not fall.
    """
    levels, clusters = parameters.levels, parameters.clusters
    if isinstance(levels, str):
        check(levels == "auto", "levels", levels, '"auto" or a number')
    else:
        check(is_a(levels, numbers.Integral), "levels", levels, '"auto" or a number')
        check(0 <= levels <= 12, "levels", levels, "from 0 to 12")
    if clusters is None:
        return
    check(isinstance(clusters, (tuple, list)), "clusters", clusters, "a list")
    check(len(clusters) > 0, "clusters", clusters, "numbers, bottom level first")
    whole = all(is_a(k, numbers.Integral) for k in clusters)
    check(whole, "clusters", clusters, "whole numbers")
    check(min(clusters) >= 1, "clusters", clusters, "at least 1 each")
    falling = all(a > b for a, b in pairwise(clusters))
    check(falling, "clusters", clusters, "falling from the bottom level up")


def clusters_of(
    parameters: TrainingParameters, n: int, largest: int
) -> tuple[tuple[int, ...], bool]:
    """Return the number of clusters of each level, bottom level first, and whether it was given.

    Parameters
    ----------
    parameters : TrainingParameters
    n : int
        Distinct rows.
    largest : int
        Rows of the largest of the SVMs that several classes need; else n.
    """
    if not METHODS[parameters.method].has_levels:
        return (), False
    if parameters.clusters is not None:
        return tuple(map(int, parameters.clusters)), True
    if not isinstance(parameters.levels, str):
        return _powers(parameters.k, parameters.levels), True
    if min(n, largest) < LEAST_ROWS_FOR_LEVELS:
        return (), False
    wanted = round(math.log(n / BOTTOM_BLOCK_ROWS, parameters.k))
    return _powers(parameters.k, min(max(wanted, 1), MOST_LEVELS)), False


def _powers(k: int, levels: int) -> tuple[int, ...]:
    """Return k^levels, ..., k."""
    return tuple(int(k) ** level for level in range(levels, 0, -1))
