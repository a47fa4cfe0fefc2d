"""What the page of the dashboard shows of a run: rectangles, curves, rates, its head."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask.diagnostics.colours import BLUE, ORANGE, share_colour
from dcsvm_dask.diagnostics.dashboard import blocks, curves, header
from dcsvm_dask.diagnostics.dashboard.blocks import WAITING_COLOUR
from dcsvm_dask.diagnostics.dashboard.runs import FollowedRun
from tests.diagnostics.teller import (
    BEGIN,
    LEVEL,
    ROWS,
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
    for said, html in zip(found, block_columns(run)["text"], strict=True):
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
    assert "objective -950.00, gap 5, violation 0.5" in bars["text"][0]
