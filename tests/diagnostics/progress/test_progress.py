"""How far a run is: shares that never fall, estimates that are never negative."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcsvm_dask.diagnostics.progress.estimate import correction
from dcsvm_dask.diagnostics.progress.progress import DONE, RUNNING, WAITING, Progress, StageProgress
from dcsvm_dask.diagnostics.progress.rounds import proof_left, rounds_left
from dcsvm_dask.diagnostics.progress.stage import layer_of
from dcsvm_dask.diagnostics.terminal.table import rows, table
from dcsvm_dask.runtime.events import (
    Advanced,
    BlocksBegin,
    BlockSolved,
    Planned,
    RunBegins,
    RunEnds,
    SetSolved,
    StageBegins,
    StageDone,
    TaskDone,
    WorkerLost,
)

R = "run"
ABOUT = {"block_cap": 100, "stop_at": 0}
LEVEL = {"cluster": 1, "assign": 3, "order": 1, "solve": 2, "commit": 1}
SECONDS = st.floats(0.0, 1e4)
PLANNED = st.floats(0.02, 1e4)


def begun(workers: int = 2) -> Progress:
    progress = Progress()
    progress.on_begin(RunBegins(R, 0.0, "here", workers, None, None, ABOUT))
    return progress


def level(progress: Progress, block_rows: list[int], now: float = 0.0) -> StageProgress:
    """Begin a level whose blocks are known and that is about to solve them."""
    progress.on_stage(StageBegins(R, now, "level-1", "l1", dict(LEVEL), {}))
    for layer in ("cluster", "assign", "assign", "assign", "order"):
        record = {"blocks": len(block_rows), "block_rows": block_rows} if layer == "order" else {}
        progress.on_task(TaskDone(R, now, "level-1", layer, layer, "w", record))
    return progress.stages["level-1"]


def solved(node: str, block: int, now: float, seconds: float = 1.0) -> BlockSolved:
    return BlockSolved(R, now, "level-1", node, "w", block, {"seconds": seconds})


def test_the_block_under_way_is_the_one_that_is_marked() -> None:
    progress = begun()
    stage = level(progress, [50, 40, 30, 20])
    progress.on_blocks(BlocksBegin(R, 1.0, "level-1", "solve-0000", "a", [0, 2]))
    progress.on_blocks(BlocksBegin(R, 1.0, "level-1", "solve-0001", "b", [1, 3]))
    assert [block.state for block in stage.blocks] == [RUNNING, RUNNING, WAITING, WAITING]
    progress.on_block(solved("solve-0000", 0, 5.0, seconds=3.0))
    assert [block.state for block in stage.blocks] == [DONE, RUNNING, RUNNING, WAITING]
    assert stage.blocks[2].began == 4.0
    # A worker is lost with what it did; another one takes its task from the beginning.
    progress.on_fault(WorkerLost(R, 6.0, "w"))
    assert [block.state for block in stage.blocks] == [DONE, RUNNING, WAITING, WAITING]
    progress.on_blocks(BlocksBegin(R, 7.0, "level-1", "solve-0000", "c", [0, 2]))
    assert [block.state for block in stage.blocks] == [DONE, RUNNING, RUNNING, WAITING]
    assert (stage.blocks[2].worker, stage.blocks[1].worker) == ("c", "b")


@st.composite
def runs(draw: st.DrawFn) -> list[Any]:
    """Draw the events of a level and of some rounds, at times that need not be in order."""
    sizes = draw(st.lists(st.integers(1, 500), min_size=1, max_size=8))
    slots = draw(st.integers(1, 3))
    planned = {
        name: {"seconds": draw(PLANNED), "times": draw(st.integers(0, 3)), "layers": {"commit": 1}}
        for name in ("level-1", "refine-000", "refine-001", "conquer-000", "conquer-001")
    }
    events: list[Any] = [Planned(R, 0.0, {"stages": planned})] if draw(st.booleans()) else []
    layers = {**LEVEL, "solve": slots}
    done = {"assign": draw(st.integers(0, 3))}
    events.append(StageBegins(R, draw(SECONDS), "level-1", "l1", layers, done))
    for layer in ("cluster", *["assign"] * (3 - done["assign"]), "order"):
        record = {"blocks": len(sizes), "block_rows": sizes} if layer == "order" else {}
        events.append(TaskDone(R, draw(SECONDS), "level-1", layer, layer, "w", record))
    for slot in range(slots):
        mine = list(range(slot, len(sizes), slots))
        node = f"solve-{slot:04d}"
        events.append(BlocksBegin(R, draw(SECONDS), "level-1", node, f"w{slot}", mine))
        events += [solved(node, block, draw(SECONDS), draw(SECONDS)) for block in mine]
        if draw(st.booleans()):
            events.append(WorkerLost(R, draw(SECONDS), f"w{slot}"))
            events.append(BlocksBegin(R, draw(SECONDS), "level-1", node, "new", mine))
        events.append(TaskDone(R, draw(SECONDS), "level-1", "solve", node, "w", {}))
    events.append(StageDone(R, draw(SECONDS), "level-1", {"support": 3}, False))
    for number in range(draw(st.integers(0, 4))):
        name = f"conquer-{number:03d}"
        kinds = ({"improve": 2, "product": 2, "commit": 1}, {"solve": 1, "commit": 1})
        round_layers = draw(st.sampled_from(kinds))
        events.append(StageBegins(R, draw(SECONDS), name, "conquer", round_layers, {}))
        record = {"violation": draw(st.floats(0.0, 1e3)), "tol": 1e-3, "support": 3}
        for violation in draw(st.lists(st.floats(0.0, 1e3), max_size=3)):
            reached = {"start": 1.0, "violation": violation, "tol": 1e-3}
            events.append(SetSolved(R, draw(SECONDS), name, "solve-0000", "w", 1, reached))
        for layer in round_layers:
            node = layer if layer == "commit" else f"{layer}-0000"
            for share in draw(st.lists(st.floats(0.0, 1.0), max_size=3)):
                reported = (
                    share,
                    int(100 * share),
                    draw(st.sampled_from([0, 100])),
                    "rows",
                    record,
                )
                events.append(Advanced(R, draw(SECONDS), name, node, "w", *reported))
            events.append(TaskDone(R, draw(SECONDS), name, layer, node, "w", {}))
        events.append(StageDone(R, draw(SECONDS), name, record, draw(st.booleans())))
    return events


def watched(events: list[Any]) -> Iterator[tuple[Progress, float]]:
    progress, now = begun(), 0.0
    for event in events:
        progress.on_event(event)
        now = max(now, event.time)
        yield progress, now


@settings(max_examples=40, deadline=None)
@given(runs(), SECONDS)
def test_shares_never_fall_and_estimates_are_never_negative(
    events: list[Any], later: float
) -> None:
    shares: dict[str, float] = {}
    for progress, now in watched(events):
        for name, stage in progress.stages.items():
            assert 0.0 <= stage.share <= 1.0
            assert stage.share >= shares.get(name, 0.0)
            shares[name] = stage.share
            left = progress.stage_left(stage, now + later)
            assert left is None or left >= 0.0
        whole = progress.left(now + later)
        assert whole is None or whole >= 0.0
        for row in rows(progress, now + later):
            assert 0.0 <= row.share <= 1.0
    progress.on_end(RunEnds(R, now, "complete", "", True))
    assert progress.left(now + later) == 0.0
    assert all(stage.state != WAITING for stage in progress.stages.values())


def test_a_level_takes_as_long_as_its_blocks_are_large() -> None:
    progress = begun(workers=1)
    progress.on_plan(
        Planned(R, 0.0, {"stages": {"level-1": {"seconds": 9.0, "times": 1, "layers": LEVEL}}})
    )
    stage = level(progress, [100, 100, 10, 10])
    stage.blocks[0].work, stage.blocks[1].work = 100.0, 100.0
    stage.blocks[2].work, stage.blocks[3].work = 1.0, 1.0
    stage.work = 202.0
    progress.on_blocks(BlocksBegin(R, 0.0, "level-1", "solve-0000", "w", [0, 1, 2, 3]))
    progress.on_block(solved("solve-0000", 0, 50.0, seconds=50.0))
    # As much work as was done is left, give or take what the plan had said.
    left = progress.stage_left(stage, 50.0)
    assert left is not None
    assert 40.0 < left < 55.0
    assert 0.4 < stage.share < 0.6


def test_a_long_task_that_tells_how_far_it_is_moves_its_bar() -> None:
    name = "model-online"
    progress = begun()
    planned = {"seconds": 10.0, "times": 1, "layers": {"commit": 1}}
    progress.on_plan(Planned(R, 0.0, {"stages": {name: planned}}))
    progress.on_stage(StageBegins(R, 0.0, name, "online", {"commit": 1}, {}))
    standing = {"support": 1234, "objective": -5678.9}
    for now, share in ((10.0, 0.25), (30.0, 0.75)):
        said = (share, int(share * 4000), 4000, "rows", standing)
        progress.on_advance(Advanced(R, now, name, "commit", "w", *said))
        assert progress.stages[name].share == pytest.approx(share)
        row = rows(progress, now)[-1]
        assert row.share == pytest.approx(share)
        assert row.count == f"{int(share * 4000):,}/4,000 rows"
        # The plan was four times too low: the pace so far counts.
        assert row.left is not None
        assert row.left > 0.8 * now * (1.0 - share) / share
    shown = table(progress, 30.0, 80, 20, ascii_only=True).plain
    assert "support vectors 1,234 | objective -5,679" in shown
    assert "0:10 left" in shown
    progress.on_task(TaskDone(R, 40.0, name, "commit", "commit", "w", {}))
    assert progress.stages[name].share == 1.0


@pytest.mark.parametrize("node", ["solve-0001", "solve-0001-0002", "solve"])
def test_a_node_belongs_to_the_layer_that_its_name_begins_with(node: str) -> None:
    assert layer_of(node, ["solve", "solved", "commit"]) == "solve"
    assert layer_of("commit", ["solve", "commit"]) == "commit"


def test_tasks_whose_names_have_several_parts_move_the_bar() -> None:
    name = "model-pairs"
    progress = begun()
    progress.on_stage(StageBegins(R, 0.0, name, "pairs", {"solve": 4, "commit": 1}, {}))
    before = progress.stages[name].share
    for node in ("solve-0000-0001", "solve-0000-0002"):
        said = (0.5, 1, 0, "looks at the violation", {"violation": 0.1})
        progress.on_advance(Advanced(R, 1.0, name, node, "w", *said))
        now = progress.stages[name].share
        assert now > before
        before = now
    progress.on_task(TaskDone(R, 2.0, name, "solve", "solve-0000-0001", "w", {}))
    assert progress.stages[name].share > before


def test_what_went_slower_is_likely_to_go_on_so() -> None:
    slow = StageProgress("level-2", planned=10.0, state=DONE, began=0.0, ended=30.0)
    ahead = StageProgress("level-1", planned=10.0)
    other = StageProgress("conquer-000", planned=10.0)
    stages = [slow, ahead, other]
    assert 2.0 < correction(stages, ahead.kind, 30.0) < 3.0
    assert 1.0 < correction(stages, other.kind, 30.0) < correction(stages, ahead.kind, 30.0)


def chain_of(*violations: float, kind: str = "conquer") -> list[StageProgress]:
    """Return a start from scratch, of 10 seconds, and rounds of one second, with their records."""
    found = []
    for i, violation in enumerate(violations):
        layers = {"improve": 4} if i else {"recompute": 4}
        record: dict[str, Any] = {"violation": violation, "from_scratch": not i}
        if not i:
            record["tol"] = 1e-3
        times = {"began": 0.0, "ended": 1.0 if i else 10.0}
        name = f"{kind}-{i:03d}"
        found.append(StageProgress(name, layers=layers, state=DONE, record=record, **times))
    return found


def test_rounds_are_estimated_by_how_their_violation_falls() -> None:
    left = partial(rounds_left, improves=True)
    assert left([], 2) == 2
    assert left(chain_of(1.0), 2) == 7  # as it falls typically
    assert left(chain_of(1.0, 0.1), 2) == 4
    assert left(chain_of(1.0, 0.5), 2) == 7
    assert left(chain_of(1.0, 0.5), 2, before=chain_of(1.0, 0.001, kind="refine")) == 2
    assert left(chain_of(1.0, 2.0), 2) == 18
    assert left(chain_of(1.0, 1e-4), 2) == 0
    begun = StageProgress("conquer-002", layers={"improve": 4}, state=RUNNING)
    assert left([*chain_of(1.0, 0.1), begun], 2) == 3
    # The tolerance is that of the latest start from scratch, which a resume may have made smaller.
    resumed = chain_of(1e-3)[0]
    resumed.record["tol"] = 1e-5
    assert left([*chain_of(1.0, 0.1), resumed], 2) > 1
    for unknown in (math.nan, math.inf):
        assert left(chain_of(unknown), 2) == 2
    assert left([StageProgress("conquer-000", state=DONE)], 2) == 2


def test_steps_that_improve_no_blocks_are_as_many_as_are_planned() -> None:
    """Until two of them have shown how the violation falls: as of one task, or of descent."""
    left = partial(rounds_left, improves=False)
    assert left(chain_of(1.0), 1) == 1
    begun = StageProgress("conquer-001", layers={"solve": 1}, state=RUNNING)
    assert left([*chain_of(1.0), begun], 1) == 0
    assert left(chain_of(1.0), 30) == 30
    assert left(chain_of(1.0, 0.1), 30) == 2
    assert left(chain_of(1.0, 1.0), 30) == 29
    assert left(chain_of(1.0, 2.0), 1) == 1


def test_a_chain_of_rounds_ends_with_f_from_scratch() -> None:
    assert proof_left(chain_of(1e-4), 0, 20.0) == 0.0
    assert proof_left(chain_of(1.0), 3, 20.0) == 10.0
    assert proof_left(chain_of(1.0, 1e-4), 0, 20.0) == 10.0
    proof = StageProgress("conquer-002", layers={"recompute": 4}, state=RUNNING)
    assert proof_left([*chain_of(1.0, 1e-4), proof], 0, 20.0) == 0.0
    start = StageProgress("conquer-000", state=RUNNING, planned=10.0, began=0.0)
    assert proof_left([start], 2, 4.0) == 5.0
    # Refinement needs none.
    assert proof_left(chain_of(1.0, 1e-4, kind="refine"), 0, 20.0) == 0.0


def test_the_end_of_a_run_by_rounds_is_known_from_the_falls_and_the_proof() -> None:
    progress, of_all, of_round = begun(), {"recompute": 4}, {"improve": 4}
    plan = {
        "conquer-000": {"layers": of_all, "seconds": 10.0, "times": 1},
        "conquer-001": {"layers": of_round, "seconds": 1.0, "times": 2},
    }
    progress.on_plan(Planned(R, 0.0, {"stages": plan}))
    now = 0.0
    for stage in chain_of(1.0, 0.3, 0.1, 0.03):
        progress.on_stage(StageBegins(R, now, stage.name, "x", stage.layers, {}))
        assert progress.stages[stage.name].planned == (1.0 if stage.improves else 10.0)
        now += stage.seconds(0.0)
        progress.on_commit(StageDone(R, now, stage.name, stage.record, resumed=False))
    assert progress.left(now) == pytest.approx(3.0 + 10.0)


def test_what_is_left_of_working_sets_goes_at_the_pace_of_those_that_are_committed() -> None:
    progress, layers = begun(), {"step": 4, "commit": 1}
    stage = {"layers": layers, "seconds": 1.0, "kernel_values": 250.0, "times": 4}
    proof = {"layers": {"recompute": 4}, "seconds": 1.0, "kernel_values": 100.0, "times": 1}
    plan = {"decomposition-001": stage, "decomposition-002": proof}
    progress.on_plan(Planned(R, 0.0, {"stages": plan}))
    assert progress.left(0.0) == pytest.approx(5.0)
    progress.on_stage(StageBegins(R, 0.0, "decomposition-001", "x", layers, {}))
    record = {"kernel_values": 200, "violation": 1.0, "from_scratch": False}
    progress.on_commit(StageDone(R, 10.0, "decomposition-001", record, resumed=False))
    assert progress.left(10.0) == pytest.approx(40.0 + 1.0)


def test_who_tells_nothing_for_a_while_has_perhaps_gone_on() -> None:
    name, progress = "model-online", begun()
    planned = {"seconds": 10.0, "times": 1, "layers": {"commit": 1}}
    progress.on_plan(Planned(R, 0.0, {"stages": {name: planned}}))
    progress.on_stage(StageBegins(R, 0.0, name, "online", {"commit": 1}, {}))
    progress.on_advance(Advanced(R, 10.0, name, "commit", "w", 0.5, 1, 2, "rows", {}))
    at_once, later, late = (progress.left(now) for now in (10.0, 15.0, 60.0))
    assert at_once is not None
    assert later is not None
    assert late is not None
    assert at_once == pytest.approx(10.0)
    assert 5.0 < later < 10.0
    assert 15.0 < late < 50.0


def test_steps_that_were_planned_and_not_needed_are_gone() -> None:
    progress, layers = begun(), {"sums": 2, "commit": 1}
    names = ("grow-00", "fit-00-00", "fit-00-01", "grow-01", "fit-01-00", "model-greedy")
    one = {"layers": layers, "seconds": 10.0, "times": 1}
    progress.on_plan(Planned(R, 0.0, {"stages": dict.fromkeys(names, one)}))
    for name in ("grow-00", "fit-00-00"):
        progress.on_stage(StageBegins(R, 1.0, name, "x", layers, {}))
        progress.on_commit(StageDone(R, 11.0, name, {}, resumed=False))
    assert progress.left(11.0) == pytest.approx(40.0)
    progress.on_stage(StageBegins(R, 11.0, "grow-01", "x", layers, {}))
    assert list(progress.stages) == [name for name in names if name != "fit-00-01"]
    assert progress.left(11.0) == pytest.approx(30.0)
    progress.on_commit(StageDone(R, 21.0, "grow-01", {}, resumed=False))
    progress.on_stage(StageBegins(R, 21.0, "model-greedy", "x", {"commit": 1}, {}))
    assert "fit-01-00" not in progress.stages


@pytest.mark.parametrize("between", [0.0, 0.5])
@pytest.mark.parametrize(
    ("stage", "layer"), [("level-1", "cluster"), ("partition-level-1", "commit")]
)
def test_blocks_of_their_own_have_only_to_be_proved(stage: str, layer: str, between: float) -> None:
    """One task is planned to solve the whole problem from the last level, if they are not."""
    progress, solving = begun(), {"solve": 1, "close": 2, "commit": 1}
    plan = {
        "level-1": {"layers": dict(LEVEL), "seconds": 5.0, "times": 1},
        "conquer-001": {"layers": solving, "seconds": 10.0, "times": 1},
    }
    progress.on_plan(Planned(R, 0.0, {"stages": plan}))
    before = progress.left(0.0)
    assert before is not None
    progress.on_stage(StageBegins(R, 0.0, stage, "x", {layer: 1}, {}))
    candidates = [{"name": "two steps", "share_between": between}]
    record = {"choice": {"chosen": "two steps", "candidates": candidates}}
    progress.on_task(TaskDone(R, 0.0, stage, layer, layer, "w", record))
    conquer = progress.stages["conquer-001"]
    assert conquer.planned == (2.0 if between == 0.0 else 10.0)
    progress.on_stage(StageBegins(R, 1.0, "conquer-000", "x", {"recompute": 2, "commit": 1}, {}))
    assert progress.stages["conquer-000"].planned == conquer.planned
