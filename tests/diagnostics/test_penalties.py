"""What is said of C and of a task's own parameters."""

from __future__ import annotations

from typing import Any

import pytest

from dcsvm_dask.diagnostics.penalties import penalties


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({"C": 2.0}, {"C": "2"}),
        ({"C": 2.0, "task": "classification", "task_options": {}}, {"C": "2"}),
        (
            {"C": 2.0, "task": "regression", "task_options": {"epsilon": 0.5, "loss": "x"}},
            {"C": "2", "epsilon": "0.5"},
        ),
        (
            {"C": 2.0, "task": "quantile", "task_options": {"quantile": [0.1, 0.9]}},
            {"C": "2", "quantile": "0.1, 0.9"},
        ),
        ({"C": 1.0, "task": "one-class", "task_options": {"nu": 0.1}}, {"nu": "0.1"}),
        ({"C": 1.0, "task": "nu-classification", "task_options": {"nu": 0.1}}, {"nu": "0.1"}),
        (
            {"C": 2.0, "task": "nu-regression", "task_options": {"nu": 0.1}},
            {"C": "2", "nu": "0.1"},
        ),
    ],
)
def test_a_task_tells_its_own_parameters(settings: Any, reported: dict[str, str]) -> None:
    assert penalties(settings) == reported
