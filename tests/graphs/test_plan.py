"""The plan: what it foretells of stages, memory, work and disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from dcsvm_dask.diagnostics.status import status
from dcsvm_dask.graphs.dcsvm import Goals, Shape
from dcsvm_dask.graphs.plan import PROCESS_BYTES, plan
from dcsvm_dask.graphs.sizes import level_slots
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.runtime.session import Execution
from dcsvm_dask.steps.settings import Settings

SETTINGS = Settings(
    kernel=Kernel("rbf", 32.0),
    C=32.0,
    fit_intercept=False,
    clusters=(256, 64, 16, 4),
    levels_forced=False,
    n_samples_clustering=1000,
    block_cap=8192,
    set_cap=8192,
    level_tol=1e-2,
    alone_tol=3e-4,
    seed=0,
    chunk_rows=65536,
)
GOALS = Goals(tol=1e-3, stop_at=0, max_rounds=1000)
COVTYPE = Shape(n_rows=464_810, n_variables=464_810, n_bytes=464_810 * 54 * 4)


def test_the_stages_are_those_of_the_tree_and_a_round_of_each_kind() -> None:
    found = [stage.stage.name for stage in plan(SETTINGS, GOALS, COVTYPE).stages]
    assert found == [
        *("probe", "arrange"),
        *(f"level-{number}" for number in (4, 3, 2, 1)),
        *("refine-000", "refine-001", "conquer-000", "conquer-001"),
    ]


def test_rows_that_are_one_working_set_are_planned_as_that() -> None:
    few = replace(COVTYPE, n_rows=2000, n_variables=2000, n_bytes=2000 * 216)
    found = plan(replace(SETTINGS, clusters=()), GOALS, few)
    assert [stage.stage.name for stage in found.stages] == ["arrange", "conquer-001"]
    assert sum(stage.stage.n_nodes for stage in found.stages) == 4
    assert found.kernel_values == 2000**2


def test_an_early_end_plans_no_more_than_its_level() -> None:
    early = plan(SETTINGS, replace(GOALS, stop_at=3), COVTYPE)
    assert [stage.stage.name for stage in early.stages] == [
        *("probe", "arrange", "level-4", "level-3")
    ]
    assert early.kernel_values < plan(SETTINGS, GOALS, COVTYPE).kernel_values


def test_the_memory_of_a_worker_is_the_process_and_its_largest_task() -> None:
    found = plan(SETTINGS, GOALS, COVTYPE)
    largest = max(stage.task_bytes for stage in found.stages)
    assert found.worker_bytes == PROCESS_BYTES + largest
    assert found.largest.task_bytes == largest
    # A kernel matrix at the cap must be in it, and all of it must fit a small machine.
    assert 4 * SETTINGS.block_cap**2 < largest < 2 << 30


def test_a_smaller_cap_needs_less_memory_and_small_data_less_than_the_cap() -> None:
    def of_a_round(settings: Settings, shape: Shape) -> int:
        stages = plan(settings, GOALS, shape).stages
        return next(s.task_bytes for s in stages if s.stage.name == "conquer-001")

    small = replace(SETTINGS, block_cap=1024, set_cap=1024)
    assert of_a_round(small, COVTYPE) < of_a_round(SETTINGS, COVTYPE)
    few = replace(COVTYPE, n_rows=2000, n_variables=2000, n_bytes=2000 * 216)
    assert of_a_round(replace(SETTINGS, clusters=()), few) < 4 * 8192**2


def test_more_rows_need_more_of_everything() -> None:
    half = replace(COVTYPE, n_rows=232_405, n_variables=232_405, n_bytes=COVTYPE.n_bytes // 2)
    whole, part = plan(SETTINGS, GOALS, COVTYPE), plan(SETTINGS, GOALS, half)
    assert whole.kernel_values > 2 * part.kernel_values
    assert whole.disk_bytes > part.disk_bytes
    assert whole.disk_bytes > COVTYPE.n_bytes  # the arranged copy


@pytest.mark.long
def test_what_a_run_takes_stays_below_its_plan(
    shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    file = shared_data("ijcnn1")
    data = tmp_path / "data.zarr"
    api.ingest((file["X_train"][:12_000], file["y_train"][:12_000]), data)
    how: dict[str, Any] = {"gamma": 2.0, "C": 32.0, "clusters": (16, 4)}
    planned = api.plan(data, **how)
    run = api.train(data, tmp_path / "run", execution=Execution(workers=2), quiet=True, **how)
    found = status(run.folder)
    assert len(found["peak_bytes"]) == 2
    assert max(found["peak_bytes"].values()) < planned.worker_bytes
    on_disk = sum(path.stat().st_size for path in Path(run.url).rglob("*") if path.is_file())
    assert on_disk < planned.disk_bytes
    stages = {stage.stage.name: stage.stage.n_nodes for stage in planned.stages}
    for name in ("arrange", "level-2", "level-1"):
        assert sum(found["tasks"][name].values()) == stages[name]


def test_small_blocks_share_a_task_and_large_ones_have_one_each() -> None:
    assert level_slots(8, 464_810) == 8
    assert level_slots(64, 50_000) == 25
    assert level_slots(512, 464_810) == 128
    assert level_slots(4, 10) == 1
