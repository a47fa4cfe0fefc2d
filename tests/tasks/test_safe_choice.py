"""The choice among scored candidates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import sem

from dcsvm_dask.tasks.safe_choice import safest, standard_errors


@pytest.mark.parametrize(
    ("merits", "error", "solved", "chosen"),
    [
        ([0.7, 0.9, 0.8], 0.01, [True, True, True], 1),
        ([0.7, 0.9, 0.8], 0.01, [True, False, True], 1),  # none is near
        ([0.7, 0.9, 0.8], 0.15, [True, False, True], 2),
        ([0.7, 0.9, 0.8], 0.15, [True, False, False], 1),
        ([0.9, 0.9], 0.0, [False, True], 1),
        ([np.nan, -np.inf, -3.0], 0.0, [True, True, False], 2),
        ([-np.inf, -np.inf], 0.0, [False, True], 1),
        ([np.nan, np.nan], 0.0, [False, False], 0),
    ],
)
def test_a_solved_one_is_chosen_within_the_error_of_the_best(
    merits: list[float], error: float, solved: list[bool], chosen: int
) -> None:
    assert safest(merits, [error] * len(merits), solved) == chosen


def test_errors_are_those_of_the_mean_over_known_folds() -> None:
    scores = np.random.default_rng(0).random((3, 5))
    np.testing.assert_allclose(standard_errors(scores), sem(scores, axis=1))
    known = np.arange(5) < np.array([[5], [3], [1]])
    scores[~known] = np.nan
    found = standard_errors(scores, known)
    np.testing.assert_allclose(found, [sem(scores[0]), sem(scores[1, :3]), 0.0])
    assert standard_errors([[1.0, -np.inf, 2.0]]).tolist() == [0.0]
