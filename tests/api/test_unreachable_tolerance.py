"""A tolerance below what rounding allows ends a run with the reason, not after the most rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning
from tests.marks import long

pytestmark = pytest.mark.usefixtures("few_rows_a_task")


@pytest.mark.parametrize(
    "how",
    [
        {"levels": 0, "set_cap": 300},
        *map(long, ({}, {"levels": 0, "set_cap": 300, "fit_intercept": True})),
    ],
)
def test_rounds_end_where_rounding_lets_nothing_fall(
    train: Callable[..., api.Run], how: dict[str, Any]
) -> None:
    with pytest.warns(DcsvmWarning, match=r"ended before its violation .*give a larger tol"):
        run = train(tol=1e-16, **how)
    found = run.status()
    assert (found["state"], found["converged"]) == ("complete", False)
    assert "give a larger tol than 1e-16" in found["message"]
    assert found["violation"] < 1e-9
    assert len(found["stages"]) < 500
