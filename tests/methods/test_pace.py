"""The pace of rounds: what the last one did is expected of the next ones."""

from __future__ import annotations

import math

import pytest

from dcsvm_dask.methods.pace import Pace


def pace_of(*violations: float) -> Pace:
    pace = Pace()
    for violation in violations:
        pace.see(violation)
    return pace


def test_rounds_that_halve_the_violation_take_its_logarithm() -> None:
    assert pace_of(1.0, 0.5, 0.25).ahead(0.25 / 2**7) == pytest.approx(7.0)


def test_the_last_round_counts() -> None:
    assert pace_of(1.0, 0.9, 0.09).ahead(0.0009) == pytest.approx(2.0)


def test_nothing_is_said_of_a_start_or_of_one_round() -> None:
    assert pace_of(1.0).ahead(1e-3) == 0.0
    assert pace_of(1.0, 0.99).ahead(1e-3) == 0.0


@pytest.mark.parametrize("last", [0.5, 0.7])
def test_a_violation_that_does_not_fall_never_ends(last: float) -> None:
    assert pace_of(1.0, 0.5, last).ahead(1e-3) == math.inf


def test_at_the_tolerance_none_is_ahead() -> None:
    assert pace_of(1.0, 1e-3, 1e-3).ahead(1e-3) == 0.0
