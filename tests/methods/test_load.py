"""Times of layers on many workers: each with its largest task."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcsvm_dask.methods.cascade.graph import Cascade
from dcsvm_dask.methods.graph import STEP
from dcsvm_dask.methods.load import HELPS, helping, makespan
from dcsvm_dask.methods.measured import Measured, usual_value_seconds
from dcsvm_dask.methods.plan import Plan, plan
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.stage_plan import StagePlan
from tests.typical import COVTYPE, GOALS, SETTINGS

LOCAL = Measured(smooth=False, value_seconds=2e-9)


@pytest.fixture(scope="module")
def planned() -> Plan:
    return plan(replace(SETTINGS, clusters=(512, 64, 8)), GOALS, COVTYPE, LOCAL)


def named(planned: Plan, name: str) -> StagePlan:
    return next(stage for stage in planned.stages if stage.stage.name == name)


def in_order(tasks: list[float], workers: int) -> float:
    """Return when the last of some tasks ends that are begun in their order."""
    ends = [0.0] * workers
    for task in tasks:
        first = ends.index(min(ends))
        ends[first] += task
    return max(ends)


@given(st.floats(0.01, 0.99), st.integers(2, 40), st.integers(1, 50))
def test_a_layer_takes_about_what_its_tasks_do_from_the_largest_on(
    share: float, tasks: int, workers: int
) -> None:
    share = max(share, 1.0 / tasks)
    other = (1.0 - share) / (tasks - 1)
    took = in_order([share, *[other] * (tasks - 1)], workers)
    reported = makespan(1.0, share, tasks, workers)
    assert reported <= took + 1e-9
    assert took <= reported + other + 1e-9


def test_equal_tasks_take_whole_turns() -> None:
    assert makespan(16.0, 0.0, 16, 1) == 16.0
    assert makespan(16.0, 0.0, 16, 10) == 2.0
    assert makespan(16.0, 0.0, 16, 1000) == 1.0
    assert makespan(16.0, 9.0, 16, 1000) == 9.0


def test_a_level_takes_no_less_than_its_largest_block(planned: Plan) -> None:
    level = named(planned, "level-1")
    # Of eight clusters the largest has twice the mean: four times the mean block's work.
    blocks = level.kernel_values * LOCAL.value_seconds
    assert planned.stage_seconds(level, 1000) > 0.4 * blocks
    assert planned.stage_seconds(level, 1000) > 0.8 * planned.stage_seconds(level, 8)
    assert planned.helping(level) <= 8
    assert planned.helping(named(planned, "level-3")) > 20


def test_more_workers_never_take_longer_and_soon_gain_nothing(planned: Plan) -> None:
    times = [planned.seconds(workers) for workers in range(1, 200)]
    assert times == sorted(times, reverse=True)
    most = planned.most_helping()
    assert planned.seconds(most) <= (1 + HELPS) * planned.seconds(10**6)
    assert planned.seconds(most - 1) > (1 + HELPS) * planned.seconds(10**6)
    assert all(planned.helping(stage) <= 128 for stage in planned.stages)


def test_the_least_number_that_is_enough_is_found() -> None:
    assert helping(lambda workers: 10.0 / min(workers, 7), 100) == 7
    assert helping(lambda _: 1.0, 100) == 1


def test_loads_are_all_of_a_stage(planned: Plan) -> None:
    for measured in (LOCAL, Measured(smooth=True, set_share=0.1)):
        for stage in plan(SETTINGS, GOALS, COVTYPE, measured).stages:
            loads = [load for _, load in stage.layer_loads()]
            for of in ("kernel_values", "core_seconds", "written_bytes"):
                together = sum(getattr(load, of) for load in loads)
                assert together == pytest.approx(getattr(stage, of))
            names = {layer.name for layer in stage.stage.layers}
            names |= {STEP} if stage.stage.loop else set()
            assert {load.layer for load in stage.loads} <= names


def test_nodes_of_a_cascade_near_its_top_run_one_after_the_other() -> None:
    settings = replace(SETTINGS, clusters=(), method="cascade", options=Cascade().to_json())
    found = plan(settings, GOALS, COVTYPE, LOCAL)
    climbing = named(found, "pass-000")
    top = climbing.loads[-2].kernel_values * LOCAL.value_seconds
    assert found.stage_seconds(climbing, 1000) > top


def test_threads_help_a_task_that_runs_alone() -> None:
    few = replace(COVTYPE, n_rows=40_000, n_variables=40_000, n_bytes=40_000 * 216)
    found = plan(replace(SETTINGS, clusters=(), set_cap=40_000), GOALS, few, LOCAL)
    solve = named(found, "conquer-001")
    assert found.stage_seconds(solve, 4) == found.stage_seconds(solve, 1)
    assert found.stage_seconds(solve, 4, 4) < 0.3 * found.stage_seconds(solve, 4)


def test_a_kernel_value_of_wide_rows_takes_longer_where_none_is_measured() -> None:
    assert usual_value_seconds(784, 784) > 10 * usual_value_seconds(22, 22)
    assert usual_value_seconds(8000, 60) < usual_value_seconds(8000, 8000)
    assert usual_value_seconds(123, 119) <= usual_value_seconds(123, 123)  # sparse, as if dense
    few, wide = (
        plan(replace(SETTINGS, clusters=()), GOALS, Shape(9000, 9000, 9000 * 4 * width, False))
        for width in (22, 784)
    )
    assert wide.measured.value_seconds > 10 * few.measured.value_seconds
    assert wide.seconds(1) > 5 * few.seconds(1)


def test_levels_of_many_classes_take_longer_for_their_svms() -> None:
    many = replace(COVTYPE, class_rows=(COVTYPE.n_rows // 10,) * 10)
    two, ten = (plan(SETTINGS, GOALS, shape, LOCAL) for shape in (COVTYPE, many))
    for name in ("level-3", "level-1"):
        one, other = named(two, name), named(ten, name)
        assert other.core_seconds > one.core_seconds
        assert other.kernel_values > one.kernel_values  # of the estimate of the objective
        loads = {load.layer: load for load in other.loads}
        assert sum(load.core_seconds for load in loads.values()) == other.core_seconds
