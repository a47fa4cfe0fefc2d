"""What the page of the dashboard shows of a run: rectangles, curves, rates, its head."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dcsvm_dask.diagnostics.colours import BLUE, ORANGE, share_colour
from dcsvm_dask.diagnostics.dashboard import blocks, curves, header, rates
from dcsvm_dask.diagnostics.dashboard.blocks import WAITING_COLOUR
from dcsvm_dask.diagnostics.dashboard.runs import CARRIER, MOST_RUNS, FollowedRun, Runs
from dcsvm_dask.diagnostics.dashboard.words import estimate_of, figure_of
from dcsvm_dask.runtime.topic import TOPIC
from tests.diagnostics.teller import (
    ABOUT,
    BEGIN,
    LEVEL,
    ROWS,
    RUN,
    WORKER,
    Teller,
    point,
    solved,
)


def block_columns(run: FollowedRun) -> dict[str, list[Any]]:
    return blocks.block_columns(blocks.bands(run.progress), 0.1)


def facts(run: FollowedRun) -> list[dict[str, str]]:
    """Return what is said of each block; the page shows it under the pointer."""
    bands = blocks.bands(run.progress)
    found = [blocks.facts(band.name, block) for band in bands for block in band.blocks]
    for said, html in zip(found, block_columns(run)["said"], strict=True):
        assert all(f"<b>{name}:</b> {value}" in html for name, value in said.items())
    return found


def test_blocks_are_as_large_as_their_rows_and_coloured_by_what_they_came_to(
    tell: Teller,
) -> None:
    task = {"stage": "level-1", "node": "solve-0000", "worker": WORKER}
    tell(kind="blocks", blocks=[0, 1], **task)
    found = block_columns(tell.run)
    areas = np.subtract(found["right"], found["left"]) * np.subtract(found["top"], found["bottom"])
    np.testing.assert_allclose(areas / areas.sum(), np.array(ROWS) / 1000, atol=0.02)
    assert found["colour"] == [ORANGE, WAITING_COLOUR, WAITING_COLOUR]
    assert [said["rows"] for said in facts(tell.run)] == ["600", "300", "100"]
    assert {said["support vectors"] for said in facts(tell.run)} == {"– (– bounded)"}
    tell(kind="solve", solved=[solved(0, 600, 150)], **task)
    found = block_columns(tell.run)
    assert found["colour"] == [share_colour(0.25), ORANGE, WAITING_COLOUR]
    assert [said["block"] for said in facts(tell.run)] == [
        "0 of level 1, done",
        "1 of level 1, running",
        "2 of level 1, waiting",
    ]
    assert facts(tell.run)[0] == {
        "block": "0 of level 1, done",
        "rows": "600",
        "support vectors": "150 (7 bounded)",
        "objective": "-1,234.50",
        "violation": "0.009",
        "iterations": "700",
        "kernel values": "40,000",
        "time": "2 s",
        "worker": "10.0.0.1:4000",
        "retries": "0",
    }


def test_a_block_that_is_done_again_says_so(tell: Teller) -> None:
    task = {"stage": "level-1", "node": "solve-0000"}
    tell(kind="blocks", blocks=[0, 1], worker=WORKER, **task)
    tell(kind="solve", solved=[solved(0, 600, 150)], worker=WORKER, **task)
    tell.runs.take(
        "all",
        {"action": "remove-worker", "worker": WORKER, "processing-tasks": {"a": 1}},
    )
    tell(kind="blocks", blocks=[0, 1], worker="tcp://10.0.0.2:1", **task)
    found = facts(tell.run)
    assert [said["retries"] for said in found] == ["1", "1", "0"]
    # What is known of a block stays; the next one is at work elsewhere.
    assert [said["block"].split()[-1] for said in found] == ["done", "running", "waiting"]
    assert found[1]["worker"] == "10.0.0.2:1"
    assert "worker tcp://10.0.0.1:4000 was lost" in header.faults(tell.run.progress)


def test_levels_of_an_earlier_process_are_done_though_nothing_is_known_of_their_blocks() -> None:
    tell = Teller()
    tell(**BEGIN)
    arranged = {"blocks": 3, "block_rows": ROWS}
    about = {"label": "x", "layers": {"solve": 2, "commit": 1}, "done": {}}
    records = {"arrange": arranged, "level-2": LEVEL, "level-1": LEVEL | {"support": 290}}
    stages = [{"stage": name, **about, "record": record} for name, record in records.items()]
    tell(kind="graph", stages=stages)
    found = block_columns(tell.run)
    assert {said["block"].split()[-1] for said in facts(tell.run)} == {"done"}
    assert set(found["colour"]) == {BLUE}
    # Of those points of the curves the last one is shown, at the beginning.
    estimates, _ = curves.objective_columns(tell.run.progress)
    assert estimates["stage"] == ["level-1"]
    assert estimates["seconds"] == [pytest.approx(1.0)]
    assert curves.support_columns(tell.run.progress)["support"] == [300, 290]


def test_a_level_of_too_many_blocks_is_a_bar_with_its_share(tell: Teller) -> None:
    tell.commit("level-1", **LEVEL)
    tell.stages("level-0", layers={"order": 1, "solve": 10, "commit": 1})
    tell.task("level-0", "order", "order", blocks=5000, block_rows=[])
    for node in range(5):
        tell.task("level-0", "solve", f"solve-{node:04d}")
    bands = blocks.bands(tell.run.progress)
    assert [band.name for band in bands] == ["level 1", "level 0"]
    assert bands[1].label == "level 0\n5,000 blocks"
    bars = blocks.bar_columns(bands)
    assert bars["stage"] == ["level-0", "level-0"]
    assert bars["colour"] == [ORANGE, WAITING_COLOUR]
    assert bars["right"][0] == pytest.approx(6 / 12, abs=1e-3)


def test_rounds_stand_above_the_levels_and_what_was_passed_over_is_gone(tell: Teller) -> None:
    layers = {"layers": {"commit": 1}, "seconds": 1.0, "times": 1}
    planned = dict.fromkeys(("level-1", "refine-000", "conquer-000"), layers)
    tell(kind="plan", plan={"stages": planned, "seconds": 3.0})
    assert [band.name for band in blocks.bands(tell.run.progress)] == [
        "level 1",
        "refine",
        "conquer",
    ]
    tell.commit("level-1", **LEVEL)
    tell.stages("conquer-000")
    tell.commit("conquer-000", **point(-950.0))
    tell.stages("conquer-001", layers={"improve": 3, "commit": 1})
    bands = blocks.bands(tell.run.progress)
    assert [band.name for band in bands] == ["level 1", "conquer"]
    assert bands[1].bottom > bands[0].top
    assert bands[1].label == "conquer, 2 rounds"
    bars = blocks.bar_columns(bands)
    assert bars["colour"] == [BLUE, WAITING_COLOUR]
    assert "objective -950.00, gap 5, violation 0.5" in bars["said"][0]


def test_curves_tell_estimates_from_exact_figures(tell: Teller) -> None:
    begun = tell.run.progress.beginning
    assert begun is not None
    tell.commit("level-1", **LEVEL)
    at = tell.now - begun.time
    tell.stages("refine-000")
    tell.commit("refine-000", **point(-940.0, gap=1.0))
    tell.stages("conquer-000")
    tell.commit("conquer-000", **point(-950.0))
    tell.stages("conquer-001")
    tell.commit("conquer-001", **point(-951.0, gap=0.5, violation=1e-4, moved=17))
    progress = tell.run.progress
    estimates, exact = curves.objective_columns(progress)
    assert (estimates["seconds"], estimates["stage"]) == ([at], ["level-1"])
    assert (estimates["lower"], estimates["upper"]) == ([-920.0], [-880.0])
    assert estimates["said"] == ["-900 ± 20"]
    assert exact["objective"] == [-940.0, -950.0, -951.0]
    gap = curves.gap_columns(progress)
    # Refinement's bounds another problem; an error as large as the gap has its end on the scale.
    assert gap["stage"] == ["level-1", "conquer-000", "conquer-001"]
    assert (gap["lower"][0], gap["upper"][0]) == (50.0, 1100.0)
    above = curves.above_columns(progress)
    assert (above["stage"], above["above"]) == (["refine-000", "conquer-000"], [11.0, 1.0])
    rounds = curves.round_columns(progress)
    assert rounds["violation"] == [0.5, 0.5, 1e-4]
    assert math.isnan(rounds["moved"][0])
    assert rounds["moved"][2] == 17
    support = curves.support_columns(progress)
    assert support["name"] == ["level 1", "refine", "conquer"]
    assert (support["free"], support["bounded"]) == ([250, 210, 210], [50, 40, 40])


def test_rounds_are_numbered_and_few_of_many_have_labels() -> None:
    few = curves.round_labels(["refine-000", "refine-001", "conquer-000", "conquer-001"])
    assert few == {0: "0\nrefine", 1: "1", 2: "0\nconquer", 3: "1"}
    many = curves.round_labels([f"conquer-{number:03d}" for number in range(200)])
    assert len(many) == 10
    assert many[180] == "180"


def test_ranges_hold_what_they_show() -> None:
    for values, low, high in (([3e-4, 2.0], 1e-4, 10.0), ([], 0.1, 10.0), ([100.0], 100.0, 1e3)):
        start, end = curves.log_range(values)
        assert 0.5 * low < start < low
        assert high < end < 2.0 * high
    low, high = curves.linear_range([-5.0, 5.0])
    assert low < -5.0
    assert high > 5.0


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


def test_the_head_says_what_is_trained_and_how_far_it_is(tell: Teller) -> None:
    text = header.head(tell.run, 2, tell.now)
    for said in ("Running", "cov.zarr/train, 1,000 rows", "rbf, gamma = 32, C = 32", "level-1"):
        assert said in text
    tell.commit("level-1", **LEVEL)
    assert "-900 ± 20" in header.head(tell.run, 2, tell.now)
    tell(kind="end", state="complete", message="", converged=True)
    assert "Complete: the exact model is reached" in header.head(tell.run, 2, tell.now)
    assert "No run is on." in header.no_run("tcp://h:1")


def test_what_users_name_is_no_markup() -> None:
    tell = Teller("/runs/<b>")
    tell(**BEGIN | {"about": ABOUT | {"data": "/<script>.zarr/<i>"}})
    tell(kind="failed", stage="level-1", node="n", worker="w", error="<img>")
    text = header.head(tell.run, 2, tell.now) + header.faults(tell.run.progress)
    for markup in ("<script>", "<i>", "<b>", "<img>"):
        assert markup not in text


def test_a_run_whose_process_has_gone_is_not_shown_as_running(tell: Teller) -> None:
    tell(kind=CARRIER, client="Client-1")
    tell.runs.take("all", {"action": "remove-client", "client": "Client-2"})
    assert tell.run.is_on
    tell.runs.take("all", {"action": "remove-client", "client": "Client-1"})
    assert not tell.run.is_on
    assert "Its process has left" in header.head(tell.run, 2, tell.now)


def test_runs_side_by_side_are_told_apart_and_the_oldest_forgotten() -> None:
    runs = Runs()
    for number in range(MOST_RUNS + 3):
        one = Teller(f"/runs/{number}", runs)
        one(**BEGIN)
        if number:  # the first goes on
            one(kind="end", state="complete", message="", converged=True)
    assert len(runs.followed) == MOST_RUNS
    assert "/runs/0" in runs.followed
    newest = runs.newest()
    assert newest is not None
    assert newest.url == f"/runs/{MOST_RUNS + 2}"
    # What comes of a run whose beginning was not heard is left out.
    Teller("/runs/unknown", runs)(kind="blocks", stage="s", node="n", worker="w", blocks=[0])
    assert "/runs/unknown" not in runs.followed


def test_messages_are_left_as_they_are(tell: Teller) -> None:
    # The scheduler sends them on to the run's own process.
    message = {
        "kind": "solve",
        "run": RUN,
        "time": tell.now,
        "stage": "level-1",
        "node": "solve-0000",
        "worker": WORKER,
        "solved": [solved(0, 600, 150)],
    }
    tell.runs.take(TOPIC, message)
    assert message["solved"] == [solved(0, 600, 150)]
    assert message["kind"] == "solve"


def test_figures_are_written_as_people_read_them() -> None:
    assert [figure_of(value) for value in (None, 12_345, 0.00123, -1064037.62)] == [
        "–",
        "12,345",
        "0.00123",
        "-1,064,037.62",
    ]
    assert estimate_of(-928_666.0, 234_567.0) == "-930,000 ± 230,000"
    assert estimate_of(1.23456, 0.0123) == "1.235 ± 0.012"
