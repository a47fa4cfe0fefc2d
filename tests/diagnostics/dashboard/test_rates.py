"""How fast workers are, as the page shows it."""

from __future__ import annotations

import pytest

from dcsvm_dask.diagnostics.dashboard import rates
from tests.diagnostics.teller import (
    WORKER,
    Teller,
    solved,
)


def test_the_rate_of_a_worker_counts_each_kernel_value_once(tell: Teller) -> None:
    task = {"stage": "level-1", "node": "solve-0000", "worker": WORKER}
    tell(kind="blocks", blocks=[0, 1], **task)
    tell(kind="solve", solved=[solved(0, 600, 150)], **task)
    work = tell.run.rates.work
    assert (work[WORKER].values, work[WORKER].seconds) == (40_000, 2.0)
    tell.task("level-1", "solve", "solve-0000", kernel_values=100_000, seconds=5.0)
    assert (work[WORKER].values, work[WORKER].seconds) == (100_000, 5.0)
    calibrated = rates.calibrated_rate(tell.run.progress)
    assert calibrated == pytest.approx(2e8)
    found = rates.rate_columns(work, calibrated, {WORKER: "dcsvm_l1_solve"})
    assert (found["worker"], found["rate"]) == (["10.0.0.1:4000"], [0.02])
    assert (found["share"], found["doing"]) == (["0%"], ["dcsvm_l1_solve"])


def test_of_many_workers_the_slowest_are_shown() -> None:
    work = {f"tcp://h:{i}": rates.Work(values=1000 - i, seconds=1.0) for i in range(100)}
    found = rates.rate_columns(work, None, {})
    assert len(found["worker"]) == rates.MOST_WORKERS
    assert found["worker"][0] == "h:99"
