"""The end of passes and rounds that rounding keeps from the tolerance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dcsvm_dask.kernels import Kernel
from dcsvm_dask.methods.cascade.graph import cascade
from dcsvm_dask.methods.dcd.graph import dcd
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.graph import Outcome
from dcsvm_dask.methods.method import Method
from dcsvm_dask.methods.shape import Shape
from tests.typical import GOALS, SETTINGS

CASES: tuple[Any, ...] = ((cascade, {"leaves": 2}, "check"), (dcd, {}, "descent"))
SHAPE = Shape(n_rows=1000, n_variables=1000, n_bytes=40_000)


def drive(
    method: Any,
    options: dict[str, Any],
    points: str,
    goals: Goals,
    violations: list[float],
    last: int,
) -> tuple[int, Outcome]:
    """Return how many points a method asks for, and its end.

    Parameters
    ----------
    violations : list of float
        Those of the points; the last one is that of all later ones.
    last : int
        The number of the first point that is not released.
    """
    settings = replace(SETTINGS, kernel=Kernel("linear"), options=options)
    asked, count = method(settings, goals, SHAPE), 0
    graph = next(asked)
    while True:
        records: dict[str, Any] = {}
        for stage in graph:
            records[stage.name] = {}
            if stage.name.startswith(points):
                violation = violations[min(count, len(violations) - 1)]
                records[stage.name] = {
                    "objective": violation - 10.0,
                    "violation": violation,
                    "violations": [violation],
                    "tol": goals.tol,
                    "released": count < last,
                }
                count += 1
        try:
            graph = asked.send(records)
        except StopIteration as end:
            return count, end.value


@pytest.mark.parametrize(("method", "options", "points"), CASES)
def test_what_no_longer_comes_nearer_ends_and_says_why(
    method: Method, options: dict[str, Any], points: str
) -> None:
    goals = replace(GOALS, tol=1e-13)
    count, outcome = drive(method, options, points, goals, [1.0, 0.1, 5e-5], 0)
    assert (count, outcome.converged) == (6, False)
    assert outcome.message == (
        "rounding lets neither objective nor violation fall below 5e-05: "
        "give a larger tol than 1e-13"
    )


@pytest.mark.parametrize(("method", "options", "points"), CASES)
def test_a_raised_tolerance_goes_on_to_the_point_whose_arrays_there_are(
    method: Method, options: dict[str, Any], points: str
) -> None:
    count, outcome = drive(method, options, points, GOALS, [1.0, 1e-4, 1e-5], 3)
    assert (count, outcome) == (4, replace(outcome, converged=True, message=""))
