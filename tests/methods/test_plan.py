"""The plan: what it foretells of stages, memory, work and disk."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dcsvm_dask import api, kernels, solvers
from dcsvm_dask.diagnostics.status import status
from dcsvm_dask.methods.conquer.point import MOST_BLOCKS
from dcsvm_dask.methods.dcsvm import conquering
from dcsvm_dask.methods.dcsvm.stages import arrange_stage
from dcsvm_dask.methods.forecast import Forecast
from dcsvm_dask.methods.goals import Goals
from dcsvm_dask.methods.measured import TYPICAL, Measured, support_share
from dcsvm_dask.methods.plan import disk_bytes, plan
from dcsvm_dask.methods.probe import expected_working_set, near_share
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.methods.shape import Shape
from dcsvm_dask.methods.sizes import arrange_parts, level_slots, row_parts, shuffle_shares
from dcsvm_dask.methods.stage_plan import StagePlan
from dcsvm_dask.runtime.compilation import parts_of_run, warm_up
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.solvers.set_choice import SMALL_SET
from dcsvm_dask.tasks import svc_dual
from tests.typical import COVTYPE, GOALS, SETTINGS


def test_the_stages_are_those_of_the_tree_and_a_round_of_each_kind() -> None:
    for measured in (TYPICAL, Measured(smooth=False)):
        found = [stage.stage.name for stage in plan(SETTINGS, GOALS, COVTYPE, measured).stages]
        assert found == [
            *("probe", "arrange"),
            *(f"level-{number}" for number in (4, 3, 2, 1)),
            *("refine-000", "refine-001", "conquer-000", "conquer-001"),
        ]


def test_a_smooth_kernel_is_planned_by_working_sets_unless_levels_are_asked_for() -> None:
    smooth = Measured(smooth=True, set_share=0.1)
    found = [stage.stage.name for stage in plan(SETTINGS, GOALS, COVTYPE, smooth).stages]
    assert found == ["probe", "arrange", "decomposition-001", "decomposition-002"]
    for settings, goals in (
        (replace(SETTINGS, levels_forced=True), GOALS),
        (SETTINGS, replace(GOALS, stop_at=2)),
    ):
        names = [stage.stage.name for stage in plan(settings, goals, COVTYPE, smooth).stages]
        assert "level-2" in names


def test_a_plan_that_knows_the_kernel_needs_no_more_than_one_that_does_not() -> None:
    blind = plan(SETTINGS, GOALS, COVTYPE)
    for measured in (Measured(smooth=False), Measured(smooth=True, set_share=0.01)):
        assert plan(SETTINGS, GOALS, COVTYPE, measured).most_bytes() <= blind.most_bytes()


def test_time_falls_with_workers_and_rises_with_the_measured_rate() -> None:
    found = plan(SETTINGS, GOALS, COVTYPE, Measured(smooth=False))
    assert found.seconds(8) < found.seconds(2) < found.seconds(1)
    assert found.seconds(2) > found.seconds(1) / 2  # commits have one worker
    slow = plan(SETTINGS, GOALS, COVTYPE, Measured(smooth=False, value_seconds=2e-8))
    assert slow.seconds(2) > 5 * found.seconds(2)


def test_far_rows_are_planned_by_the_share_that_a_sample_has_of_them() -> None:
    """As a product with the rows in block order leaves them out."""
    near, far = (
        plan(SETTINGS, GOALS, COVTYPE, Measured(smooth=False, near_share=share))
        for share in (1.0, 1e-3)
    )
    for one, other in zip(near.stages, far.stages, strict=True):
        assert other.kernel_values <= one.kernel_values
    assert far.kernel_values < 0.1 * near.kernel_values


@pytest.mark.long
def test_the_share_of_near_pairs_is_about_that_of_a_product(shared_data: Any) -> None:
    X = shared_data("covtype")["X_train"].astype(np.float32)
    X = (X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1)
    X = X[np.random.default_rng(0).permutation(len(X))[:20_000]]
    for gamma in (2.0, 32.0, 128.0):
        kernel = kernels.Kernel("rbf", gamma)
        found = near_share(replace(SETTINGS, kernel=kernel), X)
        Z = X[kernels.kd_order(X)]
        _, values = kernels.kernel_product(kernel, Z, Z, np.ones(len(Z)), budget=1e-5)
        assert found == pytest.approx(values / len(Z) ** 2, rel=0.8)
        assert near_share(replace(SETTINGS, kernel=kernel), csr_array(X)) == 1.0


@pytest.mark.parametrize("name", ["bank_marketing", "cod-rna", "magic"])
def test_the_support_vectors_that_are_expected_are_about_those_of_libsvm(
    name: str, shared_data: Any
) -> None:
    found = shared_data(name)
    rows = np.random.default_rng(0).permutation(len(found["y_train"]))[:6000]
    X, y = (np.asarray(found[key][rows], np.float32) for key in ("X_train", "y_train"))
    X, y = StandardScaler().fit_transform(X), np.where(y == y.max(), 1.0, -1.0)
    kernel, C = kernels.Kernel("rbf", 1 / X.shape[1]), 10.0
    settings = replace(SETTINGS, kernel=kernel, C=C, fit_intercept=True)
    share, free = expected_working_set(settings, X, y, len(X))
    alpha = np.abs(SVC(C=C, gamma=kernel.gamma).fit(X, y).dual_coef_[0])
    assert support_share(share) == pytest.approx(len(alpha) / len(X), rel=0.3)
    assert free == pytest.approx(np.count_nonzero(alpha < (1 - 1e-6) * C), rel=0.5)


def test_free_support_vectors_beyond_a_set_are_planned_to_move_again_and_again() -> None:
    few, many = (
        plan(SETTINGS, GOALS, COVTYPE, Measured(smooth=True, set_share=0.5, free_support=free))
        for free in (1000.0, 6000.0)
    )
    assert many.kernel_values > 1.2 * few.kernel_values
    assert many.seconds(2) > 1.2 * few.seconds(2)


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


@pytest.mark.long
def test_coefficients_of_many_classes_are_planned() -> None:
    few, many = (
        plan(replace(SETTINGS, clusters=()), GOALS, replace(COVTYPE, class_rows=rows)).stages[-1]
        for rows in ((COVTYPE.n_rows // 3,) * 3, (COVTYPE.n_rows // 500,) * 500)
    )
    assert few.remedy == "lower --block-cap and --set-cap"
    # The commit holds those of variables, of rows and of what is written: no cap changes that.
    assert many.need.most > 3 * 499 * 8 * COVTYPE.n_rows
    assert many.remedy is None


def test_the_memory_of_a_worker_is_the_process_and_its_largest_task() -> None:
    found = plan(SETTINGS, GOALS, COVTYPE)
    largest = max(stage.task_bytes for stage in found.stages)
    assert found.worker_bytes == TYPICAL.process_bytes + largest
    assert found.most_bytes() == TYPICAL.process_bytes + found.largest().need.most
    # A kernel matrix at the cap must be in it, and all of it must fit a small machine.
    assert 4 * SETTINGS.block_cap**2 < largest < 2 << 30
    assert all(stage.task_bytes <= stage.need.most for stage in found.stages)


def test_a_block_above_the_cap_is_planned_as_large_as_its_arrays(
    shared_data: Callable[[str], Any],
) -> None:
    cap, n = 2048, 3300
    X = shared_data("covtype")["X_train"].astype(np.float32)
    rows = np.sort(np.random.default_rng(0).permutation(len(X))[:n])
    y = np.where(shared_data("covtype")["y_train"][rows] == 1, 1.0, -1.0)
    X = ((X - X.min(axis=0)) / np.maximum(np.ptp(X, axis=0), 1))[rows]
    warm_up(parts_of_run(sparse=False, bias=False, kinks=False))  # whose memory is the process's
    tracemalloc.start()
    solvers.solve_decomposition(
        kernels.Kernel("rbf", 32.0), X, svc_dual(y, 32.0), tol=0.1, working_size=cap, verify=False
    )
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sizes = Forecast(replace(SETTINGS, block_cap=cap), COVTYPE, TYPICAL)
    assert sizes.solving(n, n).n_bytes == pytest.approx(taken, rel=0.2)


def test_sets_are_planned_as_large_as_small_ones_are_filled_up() -> None:
    smooth = Measured(smooth=True, set_share=0.002)
    sizes = Forecast(replace(SETTINGS, clusters=()), COVTYPE, smooth)
    assert sizes.set_rows == SMALL_SET
    assert sizes.working_set().n_bytes > 4 * SMALL_SET**2
    few = replace(COVTYPE, n_rows=1000, n_variables=1000, n_bytes=1000 * 216)
    assert Forecast(SETTINGS, few, smooth).set_rows == 1000


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
def test_a_run_by_working_sets_takes_the_memory_that_was_planned(
    shared_data: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conquering, "MOST_WORK", 0.0)  # over shares of the rows
    file = shared_data("a9a")
    data = tmp_path / "data.zarr"
    api.ingest((csr_array(file["X_train"].astype(np.float32)), file["y_train"]), data)
    run = api.train(
        data,
        tmp_path / "run",
        execution=Execution(workers=2),
        quiet=True,
        gamma=2.0**-7,
        C=32.0,
    )
    both = run.status()["plan"]["worker_bytes"]
    assert both["planned"] == pytest.approx(both["actual"], rel=0.2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "rows", "C", "gamma"),
    [
        ("bank_marketing", 20_000, 10.0, 1.0),
        ("cod-rna", 50_000, 10.0, 16.0),
        ("covtype", 12_000, 32.0, 64.0),  # one working set, as the next
        ("bank_marketing", 12_000, 1.0, 1.0),
    ],
)
def test_one_task_takes_the_memory_that_was_planned(
    name: str,
    rows: int,
    C: float,
    gamma: float,
    shared_data: Callable[[str], Any],
    tmp_path: Path,
) -> None:
    file = shared_data(name)
    X = StandardScaler().fit_transform(file["X_train"])[:rows].astype(np.float32)
    data = tmp_path / "data.zarr"
    api.ingest((X, file["y_train"][:rows]), data, scale="none")
    how: dict[str, Any] = {"execution": Execution(workers=1), "quiet": True, "C": C}
    how["gamma"] = gamma / (X.shape[1] * float(X.var()))
    api.train(data, tmp_path / "compiling", **how)  # takes more memory
    both = api.train(data, tmp_path / "run", **how).status()["plan"]["worker_bytes"]
    assert both["planned"] == pytest.approx(both["actual"], rel=0.2)


@pytest.mark.long
def test_what_a_run_takes_stays_below_its_plan(
    shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    file = shared_data("ijcnn1")
    data = tmp_path / "data.zarr"
    api.ingest((file["X_train"][:12_000], file["y_train"][:12_000]), data)
    how: dict[str, Any] = {"gamma": 2.0, "C": 32.0, "clusters": (16, 4)}
    planned = api.plan(data, execution=Execution(workers=2), **how)
    run = api.train(data, tmp_path / "run", execution=Execution(workers=2), quiet=True, **how)
    found = status(run.folder)
    assert len(found["peak_bytes"]) == 2
    kept = planned.data_bytes
    assert max(found["peak_bytes"].values()) < planned.most_bytes() + kept
    both = found["plan"]["worker_bytes"]
    assert both["actual"] == max(found["peak_bytes"].values())
    assert both["planned"] == pytest.approx(both["actual"], rel=0.2)
    on_disk = sum(path.stat().st_size for path in Path(run.url).rglob("*") if path.is_file())
    assert on_disk < planned.disk_bytes
    stages = {stage.stage.name: stage.stage.n_nodes for stage in planned.stages}
    for name in ("arrange", "level-2", "level-1"):
        assert sum(found["tasks"][name].values()) == stages[name]


def test_arranging_many_bytes_is_by_shares_whose_number_follows_from_the_data() -> None:
    def layers(gigabytes: float) -> dict[str, int]:
        n = int(gigabytes * 1e9 / 216)
        shape = replace(COVTYPE, n_rows=n, n_variables=n, n_bytes=216 * n)
        stage = arrange_stage(replace(SETTINGS, chunk_rows=16_384), shape)
        return {layer.name: len(layer.nodes) for layer in stage.layers}

    once = {"cluster": 1, "order": 1, "commit": 1}
    assert layers(0.016) == {**once, "assign": 5, "part": 1}  # rows are read from the data set
    assert layers(0.2) == {**once, "assign": 48, "pieces": 1, "part": 12}
    assert layers(2.0) == {**once, "assign": 64, "pieces": 1, "part": 16}
    assert layers(100.0) == {**once, "assign": 746, "pieces": 1, "part": 373}


@pytest.mark.parametrize("gigabytes", [0.2, 2.0, 100.0])
def test_a_share_of_the_rows_takes_no_more_memory_than_a_part_of_the_blocks(
    gigabytes: float,
) -> None:
    n = int(gigabytes * 1e9 / 216)
    shape = replace(COVTYPE, n_rows=n, n_variables=n, n_bytes=216 * n)
    sizes = Forecast(SETTINGS, shape, TYPICAL)
    parts = arrange_parts(shape.n_bytes)
    share = 2 * shape.n_bytes / shuffle_shares(shape.n_bytes, parts)
    assert share <= 2.5 * shape.n_bytes / parts
    assert sizes.arranging().most < 16 * n + (1 << 30)


def test_the_copy_sorted_by_block_counts_while_rows_are_arranged() -> None:
    stages = plan(SETTINGS, GOALS, COVTYPE).stages
    arrange = next(stage for stage in stages if stage.stage.name == "arrange")
    assert COVTYPE.n_bytes < arrange.passing_bytes < 1.1 * COVTYPE.n_bytes
    assert arrange.written_bytes > 2 * COVTYPE.n_bytes  # in blocks, too
    kept = sum((s.written_bytes - s.passing_bytes) * min(s.times, 2) for s in stages)
    kept += stages[-1].passing_bytes  # while the last round goes on
    assert disk_bytes([arrange]) == int(arrange.written_bytes)
    assert disk_bytes(list(stages)) == pytest.approx(max(kept, arrange.written_bytes), rel=1e-6)
    few = replace(COVTYPE, n_rows=2000, n_variables=2000, n_bytes=2000 * 216)
    alone = [s for s in plan(replace(SETTINGS, clusters=(8,)), GOALS, few).stages if s.times == 1]
    assert alone
    assert all(stage.passing_bytes == 0.0 for stage in alone)


def test_the_products_of_a_round_count_in_memory_and_on_disk() -> None:
    many = Shape(n_rows=5_000_000, n_variables=5_000_000, n_bytes=5_000_000 * 40)
    small = replace(SETTINGS, block_cap=512, set_cap=512, chunk_rows=262_144)

    def step_of(chunk_rows: int) -> StagePlan:
        stages = plan(replace(small, chunk_rows=chunk_rows), GOALS, many).stages
        return next(s for s in stages if s.stage.name == "conquer-001")

    step, half = step_of(262_144), step_of(131_072)
    assert len(step.stage.layers[0].nodes) == MOST_BLOCKS
    assert step.passing_bytes == 8 * MOST_BLOCKS * many.n_rows
    assert step.need.most - half.need.most >= 8 * MOST_BLOCKS * 131_072


def test_small_blocks_share_a_task_and_large_ones_have_one_each() -> None:
    assert level_slots(8, 464_810) == 8
    assert level_slots(64, 50_000) == 25
    assert level_slots(512, 464_810) == 128
    assert level_slots(4, 10) == 1
    assert row_parts(10, 8192) == 1
    assert row_parts(464_810, 16_384) == 29
    assert row_parts(5_000_000, 16_384) == 128  # each reads all support vectors, too
    assert row_parts(100_000_000, 16_384) == 763  # of eight chunks each


def few_rows(n: int, width: int, **changes: Any) -> tuple[Settings, Shape]:
    """Return settings without levels, and the sizes of few dense rows."""
    settings = replace(SETTINGS, clusters=(), set_cap=12_288, **changes)
    return settings, Shape(n_rows=n, n_variables=n, n_bytes=4 * n * width, n_features=width)


def test_small_sets_are_planned_where_the_solver_takes_them() -> None:
    measured = Measured(smooth=True, set_share=0.5)
    sizes = {
        width: Forecast(*few_rows(15_000, width), measured).whole().n_bytes for width in (10, 200)
    }
    assert 4 * 2048**2 < sizes[10] < 30 << 20  # as used of magic, electricity and covtype
    assert sizes[200] > 4 * 6144**2  # kernel values of wide rows are kept
    few = Forecast(*few_rows(15_000, 10), replace(measured, set_share=0.1)).whole().n_bytes
    assert few < sizes[10]
    start = Forecast(*few_rows(15_000, 10), measured).whole(local=True).n_bytes
    assert start > 2 * sizes[10]  # what goes on from levels has large ones


def test_larger_sets_are_planned_where_many_support_vectors_of_blocks_are_free() -> None:
    measured = Measured(smooth=True, set_share=0.5)
    rows = few_rows(40_000, 10)
    sizes = [
        Forecast(*rows, replace(measured, free_support=free)).whole().n_bytes
        for free in (1_000.0, 3_400.0, 8_000.0)
    ]
    assert sizes[0] < 30 << 20  # small sets
    assert sizes[1] > 4 * 4096**2
    assert sizes[2] > 4 * 8192**2


def test_the_set_of_predicted_support_vectors_is_planned_from_the_rows_that_are_predicted() -> None:
    sizes = {}
    for n in (6000, 6001, 12_000):
        [*_, solve] = plan(*few_rows_to_plan(n)).stages
        sizes[n] = solve.task_bytes
        assert solve.need.most > 4 * n**2
    assert sizes[6000] > 4 * 6000**2  # one set of all rows
    assert 4 * (0.4 * 12_000) ** 2 < sizes[12_000] < 4 * (0.5 * 12_000) ** 2 + (4 << 20)
    assert sizes[6001] < sizes[6000] / 3


def test_the_set_of_few_rows_is_planned_from_what_the_probe_has_found() -> None:
    for n, names in ((6000, ["arrange"]), (12_000, ["probe", "arrange"])):
        stages = plan(*few_rows_to_plan(n)).stages
        assert [one.stage.name for one in stages[:-1]] == names
    for share in (0.3, 0.8):
        probed = Measured(set_share=share)
        solve = plan(*few_rows_to_plan(12_000), probed).stages[-1]
        rows = share * 12_000
        assert 4 * rows**2 < solve.task_bytes < 4.4 * rows**2 + (4 << 20)


def few_rows_to_plan(n: int) -> tuple[Settings, Goals, Shape]:
    settings, shape = few_rows(n, 10)
    return settings, GOALS, shape


def test_pairs_of_classes_that_one_process_solves_side_by_side_are_planned_together() -> None:
    settings, shape = few_rows(6000, 10)
    found = plan(settings, GOALS, replace(shape, class_rows=(1000,) * 6))
    one = found.stages[-1].task_bytes
    assert one > 8 * 2000**2  # in float64
    process = found.measured.process_bytes
    assert [found.likely_bytes(threads) for threads in (1, 2)] == [process + one, process + 2 * one]
    larger = plan(settings, GOALS, replace(shape, class_rows=(1100,) * 6))
    assert larger.stages[-1].task_bytes < one  # in float32
    settings, shape = few_rows(6000, 10)
    alone = plan(settings, GOALS, shape)
    assert alone.likely_bytes(2) == alone.likely_bytes(1) == alone.worker_bytes
