"""The work of tasks in a report, against that of the run."""

from __future__ import annotations

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from tests.diagnostics.report.conftest import N


def test_work_of_tasks_is_that_of_the_run(trained: api.Run) -> None:
    found, status = tables(trained.folder), trained.status()
    estimates = sum(commit.get("estimate_kernel_values", 0) for commit in status["stages"].values())
    values = sum(v for v in found["tasks"]["kernel_values"] if v)
    assert values == status["kernel_values"] + estimates
    assert sum(found["work"]["kernel_values"]) == values
    assert sum(found["workers"]["kernel_values"]) == values
    nodes = [n for stage in trained.folder.stages() for n in trained.folder.nodes(stage)]
    assert len(found["tasks"]["task"]) == len(nodes)
    assert found["floor"]["floor"] == [N * status["n_support"]]
    assert min(found["tasks"]["began"]) >= 0
