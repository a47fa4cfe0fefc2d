"""What the curves of the page show."""

from __future__ import annotations

import math

from dcsvm_dask.diagnostics.dashboard import curves
from tests.diagnostics.teller import (
    LEVEL,
    Teller,
    point,
)


def test_curves_tell_estimates_from_exact_figures(tell: Teller) -> None:
    begun = tell.run.progress.beginning
    assert begun is not None
    tell.commit("level-1", **LEVEL)
    at = tell.now - begun.time
    tell.stages("refine-000")
    tell.commit("refine-000", **point(-940.0, gap=1.0))
    tell.stages("conquer-000")
    tell.commit("conquer-000", **point(-950.0))
    tell.stages("conquer-001")
    tell.commit("conquer-001", **point(-951.0, gap=0.5, violation=1e-4, moved=17))
    progress = tell.run.progress
    estimates, exact = curves.objective_columns(progress)
    assert (estimates["seconds"], estimates["stage"]) == ([at], ["level-1"])
    assert (estimates["lower"], estimates["upper"]) == ([-920.0], [-880.0])
    assert estimates["text"] == ["-900 ± 20"]
    assert exact["objective"] == [-940.0, -950.0, -951.0]
    gap = curves.gap_columns(progress)
    # Refinement's bounds another problem; an error as large as the gap has its end on the scale.
    assert gap["stage"] == ["level-1", "conquer-000", "conquer-001"]
    assert (gap["lower"][0], gap["upper"][0]) == (50.0, 1100.0)
    above = curves.above_columns(progress)
    assert (above["stage"], above["above"]) == (["refine-000", "conquer-000"], [11.0, 1.0])
    rounds = curves.round_columns(progress)
    assert rounds["violation"] == [0.5, 0.5, 1e-4]
    assert math.isnan(rounds["moved"][0])
    assert rounds["moved"][2] == 17
    support = curves.support_columns(progress)
    assert support["name"] == ["level 1", "refine", "conquer"]
    assert (support["free"], support["bounded"]) == ([250, 210, 210], [50, 40, 40])


def test_rounds_are_numbered_and_few_of_many_have_labels() -> None:
    few = curves.round_labels(["refine-000", "refine-001", "conquer-000", "conquer-001"])
    assert few == {0: "0\nrefine", 1: "1", 2: "0\nconquer", 3: "1"}
    many = curves.round_labels([f"conquer-{number:03d}" for number in range(200)])
    assert len(many) == 10
    assert many[180] == "180"


def test_ranges_hold_what_they_show() -> None:
    for values, low, high in (([3e-4, 2.0], 1e-4, 10.0), ([], 0.1, 10.0), ([100.0], 100.0, 1e3)):
        start, end = curves.log_range(values)
        assert 0.5 * low < start < low
        assert high < end < 2.0 * high
    low, high = curves.linear_range([-5.0, 5.0])
    assert low < -5.0
    assert high > 5.0
