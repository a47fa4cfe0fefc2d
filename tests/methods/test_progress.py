"""What steps report of how far they are."""

from __future__ import annotations

import math

import pytest

from dcsvm_dask.methods import progress
from dcsvm_dask.methods.progress import reporting_to, violation_reporter
from dcsvm_dask.storage.node import Record

TOL = 1e-3


@pytest.fixture(autouse=True)
def every_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report at once, however short the time since the last report."""
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.0)


def shares(*violations: float) -> list[float]:
    """Return the shares that are reported for a solver's violations."""
    told: list[Record] = []
    with reporting_to(told.append):
        tell = violation_reporter(TOL)
        for steps, violation in enumerate(violations):
            tell(steps, violation)
    assert [one["done"] for one in told] == list(range(1, len(told) + 1))
    return [one["share"] for one in told]


def test_the_share_is_the_way_of_the_violation_on_a_log_scale() -> None:
    assert shares(1.0, 0.1, 0.01, 0.001, 0.0001) == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0, 1.0])


def test_the_share_does_not_fall_where_the_violation_rises() -> None:
    assert shares(1.0, 0.01, 0.1, 10.0) == pytest.approx([0.0, 2 / 3, 2 / 3, 2 / 3])


def test_a_violation_that_is_not_known_yet_is_not_reported() -> None:
    assert shares(math.inf, 1.0, math.nan, 0.001) == pytest.approx([0.0, 1.0])
