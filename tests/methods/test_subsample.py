"""A random share of real rows, solved exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.run_data import data_of
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.dataset_sample import SampledDataSet
from tests.exported import svm_of

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

ROWS, C = 900, 8.0
HERE = Execution(workers=0)


@pytest.fixture
def subsample(data: DataSet, tmp_path: Path) -> Callable[..., api.Run]:
    def call(name: str = "run", execution: Execution = HERE, **how: Any) -> api.Run:
        words = {"C": C, "tol": 1e-6, "fraction": 0.4, "quiet": True, **how}
        words |= {"method": "subsample", "execution": execution}
        return api.train(data.place, tmp_path / name, **words)

    return call


# A local kernel has rounds over blocks, a smooth one working sets; few rows are one of these.
@pytest.mark.parametrize(
    ("gamma", "block_cap"),
    [pytest.param(8.0, 128, marks=pytest.mark.long), (0.1, 128), (8.0, None)],
)
def test_it_is_the_machine_of_the_rows_that_were_drawn(
    gamma: float, block_cap: int | None, data: DataSet, subsample: Callable[..., api.Run]
) -> None:
    run = subsample(fit_intercept=True, gamma=gamma, block_cap=block_cap)
    seen = data_of(run.folder)
    assert isinstance(seen, SampledDataSet)
    assert len(seen.index) == 0.4 * ROWS
    X = data.rows.read(0, ROWS)
    y = np.where(data.read_codes(0, ROWS) == 1, 1, -1)
    svc = SVC(C=C, gamma=gamma, tol=1e-7).fit(X[seen.index], y[seen.index])
    found = run.decision_function(data.place.url)  # which knows how its rows are scaled
    np.testing.assert_allclose(found, svc.decision_function(X), atol=1e-3)
    # In another program's form, support vectors have their numbers in the whole data set.
    exported = svm_of(run)
    assert set(exported.support_) <= set(seen.index.tolist())
    np.testing.assert_allclose(exported.decision_function(X), svc.decision_function(X), atol=1e-3)


@pytest.mark.long
def test_workers_and_a_resume_change_nothing(
    subsample: Callable[..., api.Run], two_workers: Execution
) -> None:
    here, there = subsample("here", gamma=8.0), subsample("there", two_workers, gamma=8.0)
    again = api.resume(
        there.url, execution=Execution(workers=0), tol=1e-7, quiet=True, report=False
    )
    assert there.status()["approximates"]
    assert again.status()["objective"] == pytest.approx(here.status()["objective"], rel=1e-6)


def test_its_plan_is_that_of_its_rows(data: DataSet) -> None:
    whole = api.plan(data.place, gamma=8.0)
    part = api.plan(data.place, method="subsample", fraction=0.1, gamma=8.0)
    assert part.kernel_values < 0.05 * whole.kernel_values


@pytest.mark.parametrize("fraction", [0.0, 1.5, float("nan"), "half", True])
def test_shares_that_are_none_are_refused(fraction: Any, data: DataSet, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"fraction must be a number"):
        api.train(data.place, tmp_path / "run", method="subsample", fraction=fraction)
    assert not (tmp_path / "run").exists()
