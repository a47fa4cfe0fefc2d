"""Run folders: what is committed is visible and whole, everything else does not exist."""

from __future__ import annotations

import itertools
import json
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from dcsvm_dask.errors import InputError, OwnershipLostError, RunError
from dcsvm_dask.methods.node import run_node
from dcsvm_dask.storage import claims
from dcsvm_dask.storage import node as node_module
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.lock import FolderLock
from dcsvm_dask.storage.node import Attempt
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.state import write_state
from dcsvm_dask.versions import RESULT_VERSION
from tests.left import damaged, take_over
from tests.run_folder import HEADER, VALUES, commit, nothing


@pytest.fixture
def zarr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no array be small: each is one of Zarr."""
    monkeypatch.setattr(node_module, "ARRAY_BYTES", -1)


@pytest.fixture(params=["one object", "zarr"])
def form(request: pytest.FixtureRequest) -> str:
    """Give either form in which arrays are stored."""
    if request.param == "zarr":
        request.getfixturevalue("zarr")
    return str(request.param)


def test_a_new_run_is_what_was_written(place: Location, run: RunFolder) -> None:
    found = RunFolder.open(place)
    own = {"format": "dcsvm-run-4", "result_version": RESULT_VERSION, "digest": run.digest}
    assert found.header == {**HEADER, **own}
    assert found.digest == run.digest
    assert found.stages() == []


def test_nothing_is_visible_before_the_commit(run: RunFolder) -> None:
    attempt = run.attempt("level-1", "solve-0000")
    attempt.write("values", VALUES)
    assert run.find("level-1", "solve-0000") is None
    assert run.nodes("level-1") == []
    with pytest.raises(RunError, match="solve-0000 has not been committed"):
        run.node("level-1", "solve-0000")
    attempt.commit({"rows": 3})
    node = run.node("level-1", "solve-0000")
    np.testing.assert_array_equal(node.read("values"), VALUES)
    np.testing.assert_array_equal(node.read("values", slice(1, 2)), VALUES[1:2])
    assert node.record == {"rows": 3}
    assert run.nodes("level-1") == ["solve-0000"]


def test_of_two_attempts_the_one_committed_first_is_the_node(run: RunFolder) -> None:
    first, second = run.attempt("s", "n"), run.attempt("s", "n")
    second.write("values", VALUES)
    first.write("values", VALUES)
    assert second.commit({"rows": 2})
    assert not first.commit({"rows": 1})
    assert run.node("s", "n").attempt == second.place.name
    run.settle("s", run.nodes("s"))
    assert run.node("s", "n").verify()
    assert not first.place.exists()


def test_two_commits_at_once_leave_the_first(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = run.attempt("s", "n"), run.attempt("s", "n")
    first.write("values", VALUES)
    second.write("values", VALUES)
    checksums = node_module._checksums

    def another_ends_meanwhile(place: Location) -> Any:
        monkeypatch.setattr(node_module, "_checksums", checksums)
        assert second.commit({})
        return checksums(place)

    monkeypatch.setattr(node_module, "_checksums", another_ends_meanwhile)
    assert not first.commit({})
    assert run.node("s", "n").attempt == second.place.name


def test_a_commit_whose_answer_was_lost_is_the_own_one(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = run.attempt("s", "n")
    attempt.write("values", VALUES)
    write = Location.write_new
    monkeypatch.setattr(Location, "write_new", lambda self, data: write(self, data) and False)
    assert attempt.commit({})


def test_a_store_without_conditional_writes_keeps_the_last_attempt_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such stores take the condition for none, and have no error."""
    write = MemoryFileSystem.pipe_file
    monkeypatch.setattr(
        MemoryFileSystem, "pipe_file", lambda fs, path, data, **_: write(fs, path, data)
    )
    run = RunFolder.create(Location(f"memory://{uuid.uuid4().hex}/run"), HEADER)
    first, second = run.attempt("s", "n"), run.attempt("s", "n")
    for attempt in (first, second):
        attempt.write("values", VALUES)
        assert attempt.commit({"rows": 3})
    assert run.node("s", "n").attempt == second.place.name
    run.settle("s", run.nodes("s"))
    assert run.node("s", "n").verify()
    run.place.delete()


@pytest.mark.usefixtures("zarr")
def test_an_attempt_that_was_swept_does_not_commit_what_is_left(run: RunFolder) -> None:
    attempt = run.attempt("s", "n")
    attempt.write("alpha", VALUES)
    run.settle("s", run.nodes("s"))
    attempt.write("f", VALUES)
    with pytest.raises(RunError, match="alpha was deleted while the step ran"):
        attempt.commit({})
    assert run.find("s", "n") is None


def test_who_loses_cleans_up_and_hands_on_what_stands(run: RunFolder) -> None:
    def step(folder: RunFolder, attempt: Attempt) -> dict[str, Any]:
        attempt.write("values", VALUES)
        commit(folder, "s", "n", {"rows": 7})  # another carrier was faster
        return {"rows": 8}

    assert run_node(run.place.url, "s", "n", step, {}) == {"rows": 7}
    found = run.node("s", "n")
    assert run.stage("s").list() == [found.attempt, "n.json"]
    assert found.verify()


def test_what_to_delete_is_what_there_is(run: RunFolder) -> None:
    commit(run, "s", "n")
    run.node("s", "n").place.delete()
    for what in ("n.json", "s"):
        with pytest.raises(RunError, match="is missing or cut short") as caught:
            run.node("s", "n")
        named = str(caught.value).split("delete ")[1].split(" and resume")[0]
        assert Location(named).name == what
        assert Location(named).exists()
        commit(run, "s", "commit")


def test_sweeping_deletes_attempts_and_nothing_else(run: RunFolder) -> None:
    kept = commit(run, "s", "n")
    died = run.attempt("s", "n")
    died.write("values", VALUES)
    other = run.attempt("s", "m")
    other.write("values", VALUES)
    commit(run, "t", "n")
    run.settle("s", run.nodes("s"))
    assert run.stage("s").list() == [kept, "n.json"]
    assert run.node("t", "n").verify()
    assert damaged(run) == []


def test_what_was_released_keeps_its_record_and_is_no_damage(run: RunFolder) -> None:
    attempt = commit(run, "s", "n")
    commit(run, "s", "m")
    run.release("s", "n")
    run.release("s", "absent")
    found = run.find("s", "n")
    assert found is not None
    assert found.released
    assert found.record == {"rows": 3}
    assert found.attempt == attempt
    assert not found.place.exists()
    assert damaged(run) == []
    with pytest.raises(RunError, match="arrays of n were released"):
        run.node("s", "n")


def test_a_node_without_arrays_is_never_released(run: RunFolder) -> None:
    run.attempt("s", "score").commit({"accuracy": 0.9})
    run.release("s", "score")
    found = run.find("s", "score")
    assert found is not None
    assert not found.released


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("deleted", [0, 1])
@pytest.mark.usefixtures("form")
def test_a_release_that_was_killed_is_no_damage_and_is_swept(
    call: int, deleted: int, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commit objects are deleted by the first call, arrays by the second one."""
    commit(run, "s", "n")
    commit(run, "s", "m")
    left = call
    whole = Location.delete_objects

    def stop_midway(place: Location, keys: list[str]) -> None:
        nonlocal left
        left -= 1
        whole(place, keys if left else keys[:deleted])
        if not left:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Location, "delete_objects", stop_midway)
        with pytest.raises(KeyboardInterrupt):
            run.release("s", "m", "n")
    assert run.nodes("s") == ["m", "n"]
    assert damaged(run) == []
    run.settle("s", [])
    assert run.stage("s").list() == ["released.json"]
    assert {name: found.record for name, found in run.read("s").items()} == {
        "m": {"rows": 3},
        "n": {"rows": 3},
    }
    assert run.released("s") == {"m", "n"}


def test_arrays_that_are_gone_without_a_release_are_damage(run: RunFolder) -> None:
    commit(run, "s", "n")
    found = run.node("s", "n")
    found.place.delete()
    assert damaged(run) == [found.place]
    with pytest.raises(RunError, match="is missing or cut short"):
        run.node("s", "n")


def test_reopening_forgets_the_commit_and_what_was_released(run: RunFolder) -> None:
    for node in ("part-0000", "part-0001", "order", "commit"):
        commit(run, "arrange", node)
    commit(run, "other", "commit")
    run.release("arrange", "part-0000")
    run.release("arrange", "part-0001")
    run.reopen("arrange")
    assert run.nodes("arrange") == ["order"]
    assert run.node("arrange", "order").verify()
    assert run.find("other", "commit") is not None


@pytest.mark.usefixtures("form")
def test_every_flipped_byte_is_found(run: RunFolder) -> None:
    commit(run, "s", "n")
    commit(run, "s", "m")
    place = run.node("s", "n").place
    for key, size in place.keys().items():
        for position in {0, size // 2, size - 1}:
            intact = (place / key).read_bytes()
            flipped = bytearray(intact)
            flipped[position] ^= 0x10
            (place / key).write_bytes(bytes(flipped))
            assert damaged(run) == [place], (key, position)
            (place / key).write_bytes(intact)
    assert damaged(run) == []


def test_a_flipped_byte_never_reaches_who_reads(run: RunFolder, form: str) -> None:
    named = "values" if form == "zarr" else "small"
    commit(run, "s", "whole")
    keys = run.node("s", "whole").place.keys()
    for number, (key, size) in enumerate(keys.items()):
        for position in {0, size // 3, size // 2, size - 1}:
            node = f"n{number}-{position}"
            commit(run, "s", node)
            found = run.find("s", node)
            assert found is not None
            flipped = bytearray((found.place / key).read_bytes())
            flipped[position] ^= 0x01
            (found.place / key).write_bytes(bytes(flipped))
            with pytest.raises((RunError, InputError), match=rf"{found.attempt}/{named}.*damaged"):
                run.node("s", node).read("values")
    np.testing.assert_array_equal(run.node("s", "whole").read("values"), VALUES)


@pytest.mark.usefixtures("form")
def test_an_object_cut_short_or_missing_is_refused_before_it_is_read(run: RunFolder) -> None:
    commit(run, "s", "n")
    place = run.node("s", "n").place
    key = next(key for key in list(place.keys()) if "/c/" in f"/{key}" or key == "small")
    (place / key).write_bytes((place / key).read_bytes()[:-1])
    with pytest.raises(RunError, match="is missing or cut short"):
        run.node("s", "n")
    (place / key).delete()
    with pytest.raises(RunError, match="is missing or cut short"):
        run.node("s", "n")
    assert damaged(run) == [place]


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        b"{}",
        b'{"attempt": "n.1"}',
        b'{"attempt": 1, "parameters": "x", "keys": {}, "record": {}}',
        b'{"attempt": "n.1", "parameters": "x", "keys": [1], "record": {}}',
        b'{"attempt": "n.1", "parameters": "x", "keys": {"a": 1}, "record": {}}',
        b'{"attempt": "n.1", "parameters": "x", "keys": {}, "record": 3}',
        b'{"attempt": "../../..", "parameters": "x", "keys": {}, "record": {}}',
        b'{"attempt": "n./../..", "parameters": "x", "keys": {}, "record": {}}',
        b'{"attempt": "m.1", "parameters": "x", "keys": {}, "record": {}}',
    ],
)
def test_damaged_commit_objects_are_refused_with_their_name(run: RunFolder, content: bytes) -> None:
    (run.stage("s") / "n.json").write_bytes(content)
    with pytest.raises(InputError, match=r"stages/s/n\.json: damaged"):
        run.find("s", "n")


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 400))
def test_a_commit_object_with_foreign_bytes_is_refused_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, at: int
) -> None:
    run = RunFolder.create(Location.of(tmp_path_factory.mktemp("r") / "run"), HEADER)
    commit(run, "s", "n")
    place = run.stage("s") / "n.json"
    intact = place.read_bytes()
    place.write_bytes(intact[:at] + noise + intact[at + len(noise) :])
    try:
        found = run.find("s", "n")
    except InputError:
        return
    assert found is not None
    # What cannot be known from a commit object still leads nowhere else.
    assert found.place.parent == run.stage("s")


def test_a_node_of_other_parameters_or_data_is_refused(place: Location, run: RunFolder) -> None:
    commit(run, "s", "n")
    changes = [
        {"settings": {"C": 2.0, "clusters": [4]}},
        {"settings": {"C": 1.0, "clusters": [5]}},
        {"data": {"url": "data.zarr/train", "fingerprint": "abd"}},
    ]
    for change in changes:
        (place / "run.json").write_json(seal({**run.header, **change}))
        with pytest.raises(InputError, match="other parameters or other data"):
            RunFolder.open(place).find("s", "n")


def test_other_goals_and_another_address_of_the_same_data_are_not_other_parameters(
    place: Location, run: RunFolder
) -> None:
    commit(run, "s", "n")
    run.changed(data_url="elsewhere/train")
    found = RunFolder.open(place).changed(goals={"tol": 1e-4})
    assert found.node("s", "n").verify()
    assert found.header["data"] == {"url": "elsewhere/train", "fingerprint": "abc"}
    assert RunFolder.open(place).header["goals"] == {"tol": 1e-4}


def test_a_name_that_a_dead_process_reserved_is_no_commit(tmp_path: Path) -> None:
    run = RunFolder.create(Location.of(tmp_path / "run"), HEADER)
    (run.stage("s") / "n.json").write_bytes(b"")
    assert run.find("s", "n") is None
    attempt = commit(run, "s", "n")
    assert run.node("s", "n").attempt == attempt


CHANGES = {
    "write": lambda run: run.write("plan.json", {}),
    "goals": lambda run: run.changed(goals={"tol": 1.0}),
    "state": lambda run: write_state(run, "failed"),
    "release": lambda run: run.release("s", "n"),
    "reopen": lambda run: run.reopen("s"),
    "discard": lambda run: run.discard("s"),
    "settle": lambda run: run.settle("s", []),
    "fold": lambda run: run.fold(["s"]),
    "commit": lambda run: run_node(run.place.url, "s", uuid.uuid4().hex, nothing, {}, run.owner),
}


def prepare(run: RunFolder, change: str) -> None:
    """Make a stage that a change finds something to do in."""
    run.discard("s")
    commit(run, "s", "n")
    if change in ("reopen", "fold"):
        run.release("s", "n")


@pytest.mark.parametrize("change", CHANGES)
def test_who_lost_a_run_changes_nothing(
    place: Location, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "LOOK_AGAIN_SECONDS", 0.01)
    with FolderLock(place) as held:
        run = RunFolder.create(place, HEADER, held.ownership)
        prepare(run, change)
        CHANGES[change](run)  # while it is owned
        prepare(run, change)
        run.attempt("s", "left").write("values", VALUES)
        take_over(place)
        before = {key: (place / key).read_bytes() for key in list(place.keys())}
        with pytest.raises(OwnershipLostError, match="has lost the run"):
            CHANGES[change](run)
        assert {key: (place / key).read_bytes() for key in list(place.keys())} == before


def test_the_order_of_keys_in_the_parameters_does_not_matter(place: Location) -> None:
    digests = set()
    for keys in itertools.permutations(HEADER["settings"]):
        settings = {key: HEADER["settings"][key] for key in keys}
        digests.add(RunFolder(place, {**HEADER, "settings": settings}).digest)
    assert len(digests) == 1


def test_a_second_run_in_the_same_place_is_refused(place: Location, run: RunFolder) -> None:
    with pytest.raises(InputError, match="dcsvm resume"):
        RunFolder.create(place, HEADER)


def test_a_folder_with_other_things_is_refused_and_left_alone(place: Location) -> None:
    (place / "thesis.tex").write_bytes(b"important")
    with pytest.raises(InputError, match="is neither empty nor a run"):
        RunFolder.create(place, HEADER)
    assert place.list() == ["thesis.tex"]


def test_what_a_process_killed_at_its_start_left_is_no_obstacle(place: Location) -> None:
    for name in ("lock/000001-0123456789ab.json", ".run.json.0123abcd"):
        (place / name).write_bytes(b"{")
    assert RunFolder.create(place, HEADER).stages() == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no run"),
        (b"{", "not a JSON object"),
        (b"{}", "has the format None"),
        (b'{"format": "dcsvm-run-0"}', "has the format 'dcsvm-run-0'"),
        (b'{"format": "dcsvm-run-2", "settings": {}}', "format 'dcsvm-run-2'.*train a new run"),
        (
            json.dumps(seal({"format": "dcsvm-run-3", "settings": {}})).encode(),
            "format 'dcsvm-run-3'.*train a new run",
        ),
        (b'{"format": "dcsvm-run-4", "settings": {}}', "its checksum does not match"),
        (
            json.dumps(seal({"format": "dcsvm-run-4", "settings": {}})).encode(),
            "'goals' is missing",
        ),
        (json.dumps(seal({"format": "dcsvm-run-4", "settings": 1})).encode(), "'settings' is miss"),
    ],
)
def test_what_is_no_run_is_not_opened(place: Location, content: bytes | None, message: str) -> None:
    if content is not None:
        (place / "run.json").write_bytes(content)
    else:
        (place / "other.json").write_bytes(b"{}")
    with pytest.raises(InputError, match=message):
        RunFolder.open(place)


@pytest.mark.parametrize("what", ["tol", "holdout", "shape", "versions"])
def test_a_flipped_bit_anywhere_in_the_header_is_refused(
    place: Location, run: RunFolder, what: str
) -> None:
    header = {**run.header, "holdout": "data.zarr/test", "shape": {"n_rows": 7}}
    (place / "run.json").write_json(seal(header))
    whole = (place / "run.json").read_bytes()
    at = whole.index(f'"{what}"'.encode()) + len(what) + 4
    at += next(i for i, byte in enumerate(whole[at:]) if chr(byte).isalnum() or byte == ord("}"))
    (place / "run.json").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(InputError, match="damaged"):
        RunFolder.open(place)


def test_a_file_where_a_run_should_be_is_not_opened(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(InputError, match="there is no run"):
        RunFolder.open(Location.of(file))


def test_a_commit_names_every_key_with_its_checksum(run: RunFolder, form: str) -> None:
    attempt = run.attempt("s", "n")
    attempt.write("a", VALUES)
    attempt.write("deep/b", np.array([], dtype=np.int64))
    attempt.commit({})
    stored = json.loads((run.stage("s") / "n.json").read_bytes())
    assert set(stored["keys"]) == set(attempt.place.keys())
    if form == "zarr":
        assert any(key.startswith("deep/b/") for key in stored["keys"])
    else:
        assert list(stored["keys"]) == ["small"]
        assert stored["small"] == ["a", "deep/b"]
    assert run.node("s", "n").read("deep/b").shape == (0,)
