"""What a level says of the whole problem from a sample of rows, beside the dense answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dcsvm_dask.methods.block_table import read_table
from dcsvm_dask.methods.dcsvm import estimate as estimating
from dcsvm_dask.methods.dcsvm.estimate import estimate
from dcsvm_dask.methods.problem import read_problem

DRAWS, ROWS = 60, 240


@pytest.mark.one_quick
@pytest.mark.parametrize("level", [2, 1])
def test_estimates_lie_within_their_errors_which_are_those_of_other_blocks_alone(
    level: int, watched: Any, under_way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, stages = under_way
    monkeypatch.setattr(estimating, "ESTIMATE_ROWS", ROWS)
    seen = stages[f"level-{level}"]
    beta, table = seen.arrays["beta"][0], read_table(folder, f"level-{level}")
    alpha = np.abs(beta)
    problem = read_problem(folder)
    assert problem.n > 2 * ROWS
    assert np.count_nonzero(alpha) > ROWS // 2
    g = watched.gradient(alpha)
    exact = {
        "objective": watched.objective(alpha),
        "gap": alpha @ g + watched.C @ np.maximum(0.0, -g),
    }
    found = [
        estimate(
            replace(problem, settings=replace(problem.settings, seed=seed)),
            table,
            beta,
            seen.record,
            0.0,
        )
        for seed in range(DRAWS)
    ]
    for name, truth in exact.items():
        values = np.array([one[f"{name}_estimate"] for one in found])
        errors = np.array([one[f"{name}_error"] for one in found])
        assert abs(values.mean() - truth) < 4.0 * errors.mean() / np.sqrt(DRAWS)
        assert 0.7 < values.std() / errors.mean() < 1.4
        assert np.mean(np.abs(values - truth) < 2.0 * errors) > 0.85
    # Without what is known of rows' own blocks, the mean over a sample is far less sure.
    whole = 0.5 * alpha * (g + 1.0)
    plain = problem.n * whole.std() / np.sqrt(ROWS) * np.sqrt(1.0 - ROWS / problem.n)
    assert np.mean([one["objective_error"] for one in found]) < 0.7 * plain
