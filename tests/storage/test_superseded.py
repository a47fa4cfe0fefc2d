"""Records of superseded stages lie in one object: nothing is lost, whoever stops or comes when."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage import superseded
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.left import damaged
from tests.run_folder import HEADER, commit

ROUNDS = [f"conquer-{number:03d}" for number in range(6)]


@pytest.fixture(params=["folder", "memory"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunFolder]:
    """Give a run with rounds of which all but the last one are superseded."""
    memory = f"memory://{uuid.uuid4().hex}/run"
    place = Location(memory) if request.param == "memory" else Location.of(tmp_path / "run")
    run = RunFolder.create(place, HEADER)
    for number, stage in enumerate(ROUNDS):
        for node in ("improve-0000", "improve-0001", "commit"):
            commit(run, stage, node, {"rows": number, "node": node})
        run.settle(stage, ["commit"])
        if number:
            run.release(ROUNDS[number - 1], "commit")
    yield run
    place.delete()


def records(run: RunFolder) -> dict[tuple[str, str], tuple[dict[str, Any], bool]]:
    return {
        (stage, node): (found.record, found.released)
        for stage, nodes in run.read_all().items()
        for node, found in nodes.items()
    }


def looks(run: RunFolder) -> list[Any]:
    """Return what each way to look at a run finds."""
    return [
        run.stages(),
        {stage: run.nodes(stage) for stage in run.stages()},
        {stage: run.released(stage) for stage in run.stages()},
        {stage: list(run.read(stage, but=["commit"])) for stage in run.stages()},
        {key: run.find(*key) for key in records(run)},
        records(run),
    ]


@pytest.mark.one_quick
@pytest.mark.parametrize("carried", [False, True])
def test_what_was_moved_is_found_in_every_way(run: RunFolder, carried: bool) -> None:
    before = looks(run)
    assert len(before[-1]) == 3 * len(ROUNDS)
    writer = run.carried() if carried else run
    writer.fold(ROUNDS[:3])
    writer.fold(ROUNDS[2:5])
    assert run.stage(ROUNDS[4]).list() == []
    assert len(run.place.keys()) == 5  # run.json, one object; last round: commit, values, released
    for folder in (run, writer, RunFolder.open(run.place), run.carried()):
        assert looks(folder) == before
    assert damaged(run) == []
    writer.fold(ROUNDS[:5])  # as a resume does
    assert looks(writer) == before


def test_a_stage_with_nodes_that_are_kept_is_moved_without_them(run: RunFolder) -> None:
    attempt = commit(run, ROUNDS[0], "scope")
    before = looks(run)
    run.fold(ROUNDS[:2])
    assert looks(run) == before
    assert run.node(ROUNDS[0], "scope").verify()
    assert run.stage(ROUNDS[0]).list() == [attempt, "scope.json"]
    run.release(ROUNDS[0], "scope")  # when the run is complete
    assert run.released(ROUNDS[0]) == {"scope", "improve-0000", "improve-0001", "commit"}
    run.fold(ROUNDS[:1])
    assert run.released(ROUNDS[0]) == {"scope", "improve-0000", "improve-0001", "commit"}


@pytest.mark.parametrize("moment", ["copied", "midway"])
def test_a_move_that_was_killed_loses_nothing(
    run: RunFolder, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = looks(run)
    whole = Location.delete_objects

    def stop(place: Location, keys: list[str]) -> None:
        whole(place, keys[:2] if moment == "midway" else [])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Location, "delete_objects", stop)
        with pytest.raises(KeyboardInterrupt):
            run.carried().fold(ROUNDS[:4])
    assert looks(run) == before
    run.carried().fold(ROUNDS[:5])
    assert looks(run) == before
    assert not [key for key in run.place.keys() if "conquer-00[0-4]" in key]  # noqa: SIM118


def test_what_a_later_owner_says_counts(run: RunFolder) -> None:
    """A former owner that wakes up between its check and its write harms nobody."""
    first, second = (f"{number:06d}-0123456789ab" for number in (1, 2))
    before = records(run)
    packed = superseded.pack(run._released(ROUNDS[1]))
    superseded.write_superseded(run.place, second, {ROUNDS[0]: "", ROUNDS[1]: packed})
    run.stage(ROUNDS[0]).delete()
    run.stage(ROUNDS[1]).delete()
    stale = superseded.pack({"commit": {}})
    superseded.write_superseded(run.place, first, {ROUNDS[0]: stale, ROUNDS[1]: stale})
    assert records(run) == {key: found for key, found in before.items() if key[0] != ROUNDS[0]}


@pytest.mark.parametrize("carried", [False, True])
def test_stages_that_were_moved_can_be_deleted_and_done_again(
    run: RunFolder, carried: bool
) -> None:
    writer = run.carried() if carried else run
    writer.fold(ROUNDS[:5])
    writer.discard(*ROUNDS[:2], ROUNDS[5])
    for folder in (run, writer):
        assert folder.stages() == ROUNDS[2:5]
        assert folder.find(ROUNDS[0], "commit") is None
    commit(run, ROUNDS[0], "commit", {"rows": 7})
    writer.release(ROUNDS[0], "commit")
    writer.fold(ROUNDS[:1])
    assert list(run.read(ROUNDS[0])) == ["commit"]
    assert records(run)[ROUNDS[0], "commit"] == ({"rows": 7}, True)


@pytest.mark.parametrize("carried", [False, True])
def test_a_stage_that_was_moved_can_run_again(run: RunFolder, carried: bool) -> None:
    run.attempt(ROUNDS[0], "score").commit({"accuracy": 0.5})
    writer = run.carried() if carried else run
    writer.release(ROUNDS[0], "score")
    writer.fold(ROUNDS[:2])
    writer.reopen(ROUNDS[0])
    for folder in (run, writer):
        assert folder.nodes(ROUNDS[0]) == ["score"]  # it has no arrays that are gone
        assert folder.released(ROUNDS[0]) == set()
        assert folder.nodes(ROUNDS[1]) == ["commit", "improve-0000", "improve-0001"]


@pytest.mark.one_quick
def test_a_damaged_object_is_refused_with_its_name(run: RunFolder) -> None:
    run.fold(ROUNDS[:5])
    place = run.place / "superseded" / "000000-000000000000.json"
    whole = place.read_bytes()
    for at in range(0, len(whole), 7):
        place.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InputError, match=r"000000000000\.json: damaged.*; delete it"):
            run.read_all()
    place.write_bytes(whole)
    assert len(run.read_all()) == len(ROUNDS)


def test_many_rounds_take_little_space(run: RunFolder) -> None:
    """A round of 64 blocks has some 100 nodes, whose records are much alike."""
    record = {"seconds": 0.123456789, "host": "worker:4711", "rows": 12345, "objective": -1.5}
    nodes = {f"improve-{n:04d}": {"record": {**record, "block": n}} for n in range(100)}
    packed = superseded.pack(nodes)
    assert superseded.unpack(packed) == nodes
    assert len(packed) < 4000
