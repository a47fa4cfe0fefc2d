"""A Dask cluster that tests share whose subject is not how workers start, which takes ten seconds.

`tests/conftest.py` makes the fixture known everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import LocalCluster

from dcsvm_dask.runtime.execution import Execution


@pytest.fixture(scope="session")
def two_workers(failed_tasks_file: Path) -> Iterator[Execution]:
    """Give two worker processes of a thread each, whose failed tasks are found as elsewhere.

    What a test sets in its own process is not set in them.
    """
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield Execution(scheduler=cluster.scheduler_address)
