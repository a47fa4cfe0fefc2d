"""What steps report of how far they are."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from dcsvm_dask.methods import progress
from dcsvm_dask.methods.progress import MOST_REPORTED, reporting_to, violation_reporter
from dcsvm_dask.storage.node import Record

TOL = 1e-3
Moment = tuple[float, float]


def shares(patched: pytest.MonkeyPatch, *moments: Moment) -> list[float]:
    """Return the shares that are reported, given times in seconds and a solver's violations."""
    heard: list[Record] = []
    now = 0.0
    patched.setattr(progress, "EVERY_SECONDS", -math.inf)
    patched.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now))
    with reporting_to(heard.append):
        tell = violation_reporter(TOL)
        for steps, (at, violation) in enumerate(moments):
            now = at
            tell(steps, violation)
    assert [one["done"] for one in heard] == list(range(1, len(heard) + 1))
    return [one["share"] for one in heard]


def test_the_share_is_that_of_the_time_where_the_violation_falls_steadily(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = shares(monkeypatch, (1.0, 1.0), (2.0, 10**-1.5), (3.0, 0.001))
    assert found == pytest.approx([MOST_REPORTED / 3, MOST_REPORTED * 2 / 3, MOST_REPORTED])
    # Where a violation is known early, its way alone counts, a little less at first.
    found = shares(monkeypatch, (0.01, 1.0), (10.0, 0.1), (20.0, 0.01), (30.0, 0.001))
    assert found[1:] == pytest.approx([0.35, 0.66, MOST_REPORTED], abs=0.03)


def test_the_share_does_not_fall_where_the_violation_rises(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shares(monkeypatch, (1.0, 1.0), (2.0, 0.01), (3.0, 0.1), (4.0, 10.0))
    assert found == sorted(found)
    assert found[-1] < MOST_REPORTED


def test_a_violation_that_is_not_known_yet_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    found = shares(monkeypatch, (1.0, math.inf), (2.0, 1.0), (3.0, math.nan), (9.0, TOL))
    assert found == pytest.approx([MOST_REPORTED / 3, MOST_REPORTED])
