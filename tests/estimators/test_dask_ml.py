"""DCSVC in dask-ml's wrapper: fitted in memory, rows of Dask arrays decided chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

wrappers = pytest.importorskip("dask_ml.wrappers", exc_type=ImportError)

import dask.array as da  # noqa: E402
from distributed import Client  # noqa: E402

from dcsvm_dask.estimators import DCSVC  # noqa: E402


@pytest.fixture
def digits(problem: Callable[[str], Any]) -> Any:
    X, y = problem("digits")
    return X, y, da.from_array(X, chunks=(300, 64)), da.from_array(y, chunks=300)


def test_chunks_are_decided_as_all_rows_are(digits: Any) -> None:
    X, y, rows, labels = digits
    alone = DCSVC(C=10.0, gamma=0.001).fit(X, y)
    for fitted_to in ((X, y), (rows, labels)):
        wrapped = wrappers.ParallelPostFit(DCSVC(C=10.0, gamma=0.001)).fit(*fitted_to)
        found = wrapped.predict(rows)
        assert isinstance(found, da.Array)
        np.testing.assert_array_equal(found.compute(), alone.predict(X))
        assert wrapped.score(rows, labels) == alone.score(X, y)


@pytest.mark.long
def test_workers_decide(digits: Any) -> None:
    X, y, rows, _ = digits
    wrapped = wrappers.ParallelPostFit(DCSVC(C=10.0, gamma=0.001)).fit(X, y)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0"):
        found = wrapped.predict(rows).compute()
    np.testing.assert_array_equal(found, DCSVC(C=10.0, gamma=0.001).fit(X, y).predict(X))
