"""Every stage of a run against the dense problem in float64."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dcsvm_dask.methods import resources
from dcsvm_dask.methods.problem import chunks_in_data_order, read_problem
from dcsvm_dask.methods.registry import kind_of
from dcsvm_dask.methods.run_data import settings_of
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.model import read_model
from dcsvm_dask.storage.rows.read import RowArray

CAP = 64
WITH_BIAS = {"fit_intercept": True, "clusters": (8,), "block_cap": 256, "tol": 1e-3}


def test_rows_equal_in_x_and_y_become_one_variable(watched: Any) -> None:
    part = watched.nodes["arrange", "part-0000"].arrays
    X, codes = watched.data.rows.read(0, 600), watched.data.read_codes(0, 600)
    _, group = np.unique(np.column_stack([X, codes]), axis=0, return_inverse=True)
    group = group.ravel()
    assert watched.stages["arrange"].record["variables"] == group.max() + 1 <= 500
    representative = watched.stages["arrange"].arrays["representative"]
    np.testing.assert_array_equal(group[representative], group)
    for name in range(group.max() + 1):  # the first row of a group stands for it
        members = np.flatnonzero(group == name)
        assert set(representative[members]) == {members[0]}
    assert part["weight"].sum() == 600
    np.testing.assert_array_equal(
        part["weight"], np.bincount(representative, minlength=600)[part["rows"]]
    )
    listed = watched.nodes["arrange", "order"].arrays["rows"]
    np.testing.assert_array_equal(part["rows"][part["variable"]], representative[listed])


def test_arranged_rows_are_the_data_set_s_block_by_block(watched: Any) -> None:
    part = watched.nodes["arrange", "part-0000"].arrays
    order = watched.nodes["arrange", "order"].arrays
    representative = watched.stages["arrange"].arrays["representative"]
    offsets = watched.stages["arrange"].arrays["offsets"]
    np.testing.assert_array_equal(np.sort(order["rows"]), np.arange(600))
    listed = pairwise(order["offsets"])
    for (start, stop), (first, last) in zip(pairwise(offsets), listed, strict=True):
        members = order["rows"][first:last]
        assert (np.diff(members) > 0).all()
        assert set(part["rows"][start:stop]) == set(representative[members])
    codes = watched.data.read_codes(0, 600)
    np.testing.assert_array_equal(part["targets"], np.where(codes[part["rows"]] == 1, 1, -1))
    record = watched.stages["arrange"].record
    assert record["blocks"] == len(offsets) - 1
    assert record["largest_block"] == np.diff(offsets).max()


@pytest.mark.parametrize("level", [2, 1])
def test_a_level_solves_the_problem_of_its_blocks(level: int, watched: Any) -> None:
    seen = watched.stages[f"level-{level}"]
    alpha = np.abs(seen.arrays["beta"][0])
    block = blocks_of(watched, level)
    inside = block[:, None] == block[None, :]
    Q = np.where(inside, watched.K, 0.0) * np.outer(watched.y, watched.y)
    g = Q @ alpha - 1.0
    projected = np.where(
        alpha <= 0, np.minimum(g, 0), np.where(alpha >= watched.C, np.maximum(g, 0), g)
    )
    assert np.abs(projected).max() <= 1.1 * settings_of(watched.folder).level_tol
    record = seen.record
    assert record["objective"] == pytest.approx(0.5 * alpha @ (g - 1.0), rel=1e-5)
    assert record["support"] == np.count_nonzero(alpha)
    assert record["bounded"] == np.count_nonzero(alpha >= watched.C)


@pytest.mark.parametrize("level", [2, 1])
def test_what_a_level_says_of_the_whole_problem_is_exact_on_few_rows(
    level: int, watched: Any
) -> None:
    # With fewer rows than the samples hold, nothing is left to estimate.
    seen = watched.stages[f"level-{level}"]
    alpha, record = np.abs(seen.arrays["beta"][0]), seen.record
    g = watched.gradient(alpha)
    gap = alpha @ g + watched.C @ np.maximum(0.0, -g)
    assert record["objective_estimate"] == pytest.approx(watched.objective(alpha), rel=1e-5)
    assert record["gap_estimate"] == pytest.approx(gap, rel=1e-4)
    block = blocks_of(watched, level)
    between = np.abs(watched.K)[block[:, None] != block[None, :]].sum()
    assert record["D"] == pytest.approx(between, rel=1e-4)


@pytest.mark.parametrize("level", [2, 1])
def test_a_level_keeps_the_bound_of_theorem_1(level: int, watched: Any) -> None:
    alpha = np.abs(watched.stages[f"level-{level}"].arrays["beta"][0])
    best = watched.stages[watched.outcome.stage].record["objective"]
    block = blocks_of(watched, level)
    between = np.where(block[:, None] != block[None, :], watched.K, 0.0)
    bound = 0.5 * watched.C @ between @ watched.C
    # The theorem is about blocks that are solved exactly; these lie within their gap of that.
    inside = np.where(block[:, None] == block[None, :], watched.K, 0.0)
    g = watched.y * (inside @ (watched.y * alpha)) - 1.0
    gap = alpha @ g + watched.C @ np.maximum(0.0, -g)
    assert best - 1e-6 <= watched.objective(alpha) <= best + bound + gap


def test_upper_levels_start_where_the_level_below_ended(watched: Any) -> None:
    # Cut down to one iteration's worth of work, a warm start shows: support vectors stay.
    below = np.abs(watched.stages["level-2"].arrays["beta"][0]) > 0
    above = np.abs(watched.stages["level-1"].arrays["beta"][0]) > 0
    assert (below & above).sum() > 0.9 * below.sum()


def test_rounds_keep_f_and_what_they_say_of_it_right(watched: Any) -> None:
    rounds = [s for name, s in watched.stages.items() if name.startswith("conquer")]
    assert len(rounds) >= 4
    assert max(seen.record["blocks"] for seen in rounds) >= 3
    for seen in rounds:
        alpha, record = np.abs(seen.arrays["beta"][0]), seen.record
        g = watched.gradient(alpha)
        np.testing.assert_allclose(seen.arrays["f"], watched.y * (g + 1.0), atol=2e-5)
        assert record["objective"] == pytest.approx(watched.objective(alpha), rel=1e-6)
        reach = np.maximum(
            np.where(alpha < watched.C, -g, -np.inf), np.where(alpha > 0, g, -np.inf)
        )
        assert record["violation"] == pytest.approx(reach.max(), abs=3e-5)
        gap = alpha @ g + watched.C @ np.maximum(0.0, -g)
        assert record["gap"] == pytest.approx(gap, abs=0.01)
        sizes = np.diff(seen.arrays["block_offsets"])
        assert record["blocks"] == len(sizes)
        if len(sizes):
            assert sizes.max() <= CAP
        chosen = seen.arrays["block_rows"]
        assert len(np.unique(chosen)) == len(chosen)
        np.testing.assert_array_equal(np.abs(seen.arrays["block_beta"]), alpha[chosen])
        if record["violation"] > 1e-4:
            assert reach.argmax() in chosen


def test_rounds_only_descend_and_say_by_how_much(watched: Any) -> None:
    names = [name for name in watched.stages if name.startswith("conquer")]
    for before, after in pairwise(names):
        old, new = watched.stages[before].record, watched.stages[after].record
        fallen = old["objective"] - new["objective"]
        assert fallen >= -1e-6 * abs(old["objective"])
        if not new["from_scratch"]:
            assert fallen == pytest.approx(new["decrease"], rel=1e-3, abs=1e-6)
            assert 0.0 <= new["beta_min"] <= 1.0
    last = watched.stages[names[-1]].record
    assert last["from_scratch"]
    assert last["violation"] <= 1e-4


def test_what_blocks_found_apart_is_scaled_to_the_minimum_towards_zero(
    watch: Callable[..., Any],
) -> None:
    one = watch(**WITH_BIAS)
    start = np.abs(one.nodes["refine-000", "scope"].arrays["beta"][0])
    first = one.stages["refine-000"]
    s = first.record["scale"]
    assert s < 0.9
    np.testing.assert_allclose(np.abs(first.arrays["beta"][0]), s * start, rtol=1e-12)
    for other in (0.99 * s, 1.01 * s):
        assert one.objective(s * start) < one.objective(other * start)


def test_the_model_is_the_point_that_was_reached(watched: Any) -> None:
    name = watched.outcome.stage
    point = watched.stages[name.removeprefix("model-")]
    rows = watched.nodes["arrange", "part-0000"].arrays["rows"]
    representative = watched.stages["arrange"].arrays["representative"]
    weight = np.bincount(representative, minlength=600)
    by_row = np.zeros(600)
    by_row[rows] = np.abs(point.arrays["beta"][0]) / weight[rows]
    alpha = watched.stages[name].arrays["alpha"][0]
    np.testing.assert_allclose(alpha, by_row[representative], rtol=1e-12)
    assert alpha.max() <= settings_of(watched.folder).C
    model = read_model(watched.folder.node(name, "commit"), settings_of(watched.folder).kernel)
    f = point.arrays["f"][np.argsort(rows)]
    X = watched.data.rows.read(0, 600)[np.sort(rows)]
    np.testing.assert_allclose(decide(model, X), f, atol=2e-5)


def test_scores_are_the_accuracy_on_held_out_rows(watched: Any) -> None:
    test = DataSet.open(watched.data.place / "test")
    X, positive = test.rows.read(0, 200), test.read_codes(0, 200) == 1
    kernel = settings_of(watched.folder).kernel
    for level in (2, 1):
        model = read_model(watched.folder.node(f"level-{level}", "commit"), kernel)
        accuracy = np.mean((decide(model, X, "early") > 0) == positive)
        assert watched.stages[f"score-level-{level}"].record["accuracy"] == accuracy
    # These rows were trained on, most labels without a fault.
    assert watched.stages[f"score-{watched.outcome.stage}"].record["accuracy"] > 0.9


def test_with_a_bias_every_point_of_conquer_keeps_y_alpha_at_zero(
    watch: Callable[..., Any],
) -> None:
    one = watch(**WITH_BIAS)
    level = np.abs(one.stages["level-1"].arrays["beta"][0])
    start = np.abs(one.nodes["refine-000", "scope"].arrays["beta"][0])
    heavier = 1.0 if one.y @ level > 0 else -1.0
    scaled = (one.y == heavier) & (level > 0) & (level < one.C)
    assert start[~scaled] == pytest.approx(level[~scaled])
    assert np.ptp(start[scaled] / level[scaled]) < 1e-12
    for name, seen in one.stages.items():
        if name.startswith(("refine", "conquer")):
            alpha = np.abs(seen.arrays["beta"][0])
            assert abs(one.y @ alpha) <= 1e-9 * alpha.sum()
            assert alpha.min() >= 0.0
            assert (alpha <= one.C).all()
    last = one.stages[one.outcome.stage.removeprefix("model-")]
    alpha, b = np.abs(last.arrays["beta"][0]), last.record["bias"]
    pull = -one.y * one.gradient(alpha)
    up = np.where(one.y > 0, alpha < one.C, alpha > 0)
    low = np.where(one.y > 0, alpha > 0, alpha < one.C)
    assert pull[up].max() - pull[low].min() <= 1.2e-3
    assert pull[up].max() - 1.2e-3 <= b <= pull[low].min() + 1.2e-3


def test_blocks_that_are_alone_find_the_bias_that_balances_them(watch: Callable[..., Any]) -> None:
    one = watch(fit_intercept=True, clusters=(4, 2), block_cap=256, gamma=32.0, tol=1e-3)
    assert one.stages["level-1"].record["alone"]
    bottom, top = one.stages["level-2"], one.stages["level-1"]
    assert top.record["offset"] == bottom.record["next_bias"] != 0.0
    sums = [abs(one.y @ np.abs(stage.arrays["beta"][0])) for stage in (bottom, top)]
    assert sums[1] < 0.5 * sums[0]
    alpha, offset = np.abs(top.arrays["beta"][0]), top.record["offset"]
    pull = one.gradient(alpha) + offset * one.y
    np.testing.assert_allclose(one.y * top.arrays["gradient"], pull, atol=1e-3)
    names = sorted(name for name in one.stages if name.startswith("balance"))
    last = one.stages[names[-1]]
    alpha, offset = np.abs(last.arrays["beta"][0]), last.record["offset"]
    assert abs(one.y @ alpha) <= 0.1 * sums[1]
    assert last.record["balance"] == pytest.approx(one.y @ alpha, abs=1e-9)
    np.testing.assert_allclose(
        one.y * last.arrays["gradient"], one.gradient(alpha) + offset * one.y, atol=1e-3
    )
    assert one.stages["conquer-000"].record["violation"] <= 1e-3
    end = one.stages[one.outcome.stage.removeprefix("model-")]
    assert end.record["bias"] == pytest.approx(offset, abs=2e-3)
    said = {name: kind_of(name).describe(stage.record) for name, stage in one.stages.items()}
    assert f"for the bias {offset:.6g}" in said[names[-1]]
    assert "support vectors" in said["conquer-000"]


def blocks_of(watched: Any, level: int) -> np.ndarray:
    """Return the block of every variable at a level."""
    block = np.empty(len(watched.y), dtype=np.int64)
    if level == 2:
        offsets, index = watched.stages["arrange"].arrays["offsets"], np.arange(len(block))
    else:
        order = watched.nodes[f"level-{level}", "order"].arrays
        offsets, index = order["offsets"], order["index"]
    block[index] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return block


def test_rows_in_data_order_are_read_once_where_they_do_not_stay_in_memory(
    watched: Any, under_way: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = under_way
    problem = read_problem(run)
    index = np.argsort(problem.rows)[::2]
    expected = problem.take(index)
    monkeypatch.setattr(resources, "_cache_bytes", 0)
    monkeypatch.setattr("dcsvm_dask.methods.problem.CHUNK_ROWS", 40)
    reads: list[tuple[int, int]] = []
    read = RowArray.read

    def watching(rows: RowArray, start: int, stop: int) -> Any:
        reads.append((start, stop))
        return read(rows, start, stop)

    monkeypatch.setattr(RowArray, "read", watching)
    found = np.concatenate(list(chunks_in_data_order(run, problem, index)))
    np.testing.assert_array_equal(found, expected)
    # Each chunk of the data set once, or twice where a piece ends inside of it.
    pieces = -(-len(index) // 40)
    assert len(reads) <= -(-600 // watched.data.chunk_rows) + pieces
    assert sum(stop - start for start, stop in reads) <= 600
