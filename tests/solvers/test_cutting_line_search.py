"""The line search of cutting planes against a dense search, and in parts against the whole."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcsvm_dask.solvers.cutting.line_search import (
    Events,
    bracket,
    edges_between,
    edges_to,
    search,
    search_line,
)
from dcsvm_dask.solvers.cutting.losses import Losses
from dcsvm_dask.solvers.linear.problem import SignedProblem
from dcsvm_dask.tasks import Classification, Dual, Quantile, Regression
from tests.marks import long

TASKS: dict[str, Any] = {
    "hinge": Classification(),
    "squared hinge": Classification(squared=True),
    "tube": Regression(epsilon=0.1),
    "squared tube": Regression(epsilon=0.1, squared=True),
    "quantile": Quantile(quantile=0.3),
}


def line(task: str, n: int, seed: int, *, ties: bool = False) -> tuple[Dual, Any, Any]:
    """Return a problem, and outputs at the start and at the end of a line."""
    random = np.random.default_rng(seed)
    y = random.choice([-1.0, 1.0], n) if "hinge" in task else random.normal(size=n)
    start = random.normal(size=n)
    end = start - 0.5 * start + 0.3 * y + random.normal(size=n)
    if ties:
        y, start, end = np.round(y), np.round(start), np.round(end)
    C = random.uniform(0.0, 2.0, n) * (random.random(n) < 0.9)
    with np.errstate(divide="ignore"):  # the ridge of rows without weight
        return TASKS[task].dual(y, C), start, end


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(list(TASKS)), st.integers(1, 40), st.integers(0, 2**32 - 1), st.booleans())
def test_the_search_finds_the_least_value_of_a_dense_search(
    task: str, n: int, seed: int, ties: bool
) -> None:
    dual, start, end = line(task, n, seed, ties=ties)
    losses = Losses(SignedProblem.of(dual, 0.0, None))
    slope, bend = -0.3, 0.7  # of the regularizer

    def value(k: float) -> float:
        # p + o is the gradient of the dual, of which `Dual.losses` makes losses.
        risk = float(weighty.losses((start + k * (end - start) + dual.p)[takes_part]).sum())
        return slope * k + 0.5 * bend * k * k + risk

    takes_part = dual.upper > dual.lower
    if dual.ridge is not None:
        takes_part &= np.isfinite(dual.ridge)
    weighty = dual[takes_part]
    found = search(Events.of(losses, start, end), slope, bend)
    assert found >= 0.0
    least = min(value(float(k)) for k in np.linspace(0.0, 5.0, 501))
    nearby = min(value(max(0.0, found + step)) for step in (-1e-4, 1e-4))
    assert value(found) <= min(least, nearby) + 1e-12 * (1.0 + abs(least))


@pytest.mark.parametrize("task", ["hinge", *map(long, list(TASKS)[1:])])
@pytest.mark.parametrize("ties", [False, long(True)])
def test_parts_find_what_all_rows_find(task: str, ties: bool) -> None:
    dual, start, end = line(task, 30_000, 1, ties=ties)
    losses = Losses(problem := SignedProblem.of(dual, 0.0, None))
    slope, bend = -3e3, 1e2
    whole = search(Events.of(losses, start, end), slope, bend)
    parts = []
    for first, last in itertools.pairwise([0, 5_000, 5_001, 5_001, 17_000, 30_000]):
        rows = slice(first, last)
        parts.append((Losses(problem, rows), start[rows], end[rows]))
    assert whole > 0.0
    stretches = search_line(partial(Events.of, losses, start, end), slope, bend)
    assert stretches == pytest.approx(whole, rel=1e-12)
    assert in_parts(parts, slope, bend, 50.0) == pytest.approx(whole, rel=1e-5)


def test_nowhere_to_fall() -> None:
    dual, start, end = line("hinge", 100, 0)
    losses = Losses(SignedProblem.of(dual, 0.0, None))
    assert search(Events.of(losses, start, end), 1e4, 1.0) == 0.0
    assert search_line(partial(Events.of, losses, start, end), 1e4, 1.0) == 0.0
    assert in_parts([(losses, start, end)], 1e4, 1.0, 10.0) == 0.0


def in_parts(
    parts: list[tuple[Losses, Any, Any]], slope: float, bend: float, farthest: float
) -> float:
    """Search as rows in parts do: by their histograms, then by those of one bin."""
    edges = edges_to(farthest)
    near = [Events.of(*part, low=0.0, high=farthest) for part in parts]
    histogram = np.sum([events.histogram(edges) for events in near], axis=0)
    low, high, k = bracket(histogram, edges, slope, bend)
    if high == 0.0:
        return k
    edges = edges_between(low, high)
    few = [Events.of(*part, low=low, high=high) for part in parts]
    histogram = np.sum([events.histogram(edges - low) for events in few], axis=0)
    return bracket(histogram, edges, slope, bend)[2]
