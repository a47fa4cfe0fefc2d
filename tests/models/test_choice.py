"""Which committed model predicts, and models that are not what was committed."""

from __future__ import annotations

import json
import os
import pickle
from typing import Any

import numpy as np
import pytest
import zarr

from dcsvm_dask.errors import InputError
from dcsvm_dask.methods import predict as step
from dcsvm_dask.methods.choice import choose_model
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.location import Location, seal
from dcsvm_dask.storage.preparation import NAME
from dcsvm_dask.storage.run import RunFolder
from dcsvm_dask.storage.state import write_state
from tests.left import forget_state

HERE = Execution(workers=0)


@pytest.fixture(autouse=True)
def _forget() -> None:
    step._cache.clear()


def test_the_default_is_exact_else_early_of_the_lowest_level(make_run: Any) -> None:
    folder = make_run().run.folder
    assert chosen(folder) == ("exact", 0, "model-conquer-003")
    assert chosen(folder, level=2) == ("early", 2, "level-2")
    assert chosen(folder, mode="naive") == ("naive", 2, "level-2")
    assert chosen(folder, mode="exact", level=0) == ("exact", 0, "model-conquer-003")
    (folder.stage("model-conquer-003") / "commit.json").delete()
    copy_level(folder, 1)
    assert chosen(folder) == ("early", 1, "level-1")
    assert chosen(folder, mode="early", level=2) == ("early", 2, "level-2")


def test_of_several_models_the_one_counts_that_the_run_ended_with(make_run: Any) -> None:
    folder = make_run().run.folder
    forget_state(folder.place)
    commit = (folder.stage("model-conquer-003") / "commit.json").read_json()
    (folder.stage("model-conquer-001") / "commit.json").write_json(seal(commit))
    write_state(folder, "running")
    assert chosen(folder) == ("exact", 0, "model-conquer-003")
    write_state(folder, "complete", stage="model-conquer-001")
    assert chosen(folder) == ("exact", 0, "model-conquer-001")
    write_state(folder, "complete", stage="level-2")
    assert chosen(folder) == ("early", 2, "level-2")
    assert chosen(folder, mode="exact") == ("exact", 0, "model-conquer-003")


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"mode": "exact", "level": 2}, "mode early, naive or committee"),
        ({"mode": "early", "level": 1}, r"level 1 of .* is not committed; committed level\(s\): 2"),
        ({"level": 7}, "level 7"),
        ({"level": -1}, "level -1"),
        ({"mode": "fast"}, "exact, early, naive"),
        ({"precision": "float16"}, "float32, float64"),
    ],
)
def test_what_is_not_there_is_refused(make_run: Any, how: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_model(make_run().run.folder, **how)


def test_a_run_that_has_reached_no_model_is_refused(make_run: Any) -> None:
    folder = make_run(exact=False, level=False).run.folder
    with pytest.raises(InputError, match="no level is committed"):
        choose_model(folder)
    level_only = make_run(exact=False, place=folder.place.parent / "b").run.folder
    with pytest.raises(InputError, match="--stop-at 0"):
        choose_model(level_only, "exact")
    exact_only = make_run(level=False, place=folder.place.parent / "c").run.folder
    with pytest.raises(InputError, match="without levels"):
        choose_model(exact_only, "early")


def test_an_approximation_predicts_under_its_methods_name(make_run: Any) -> None:
    folder = make_run(level=False).run.folder
    assert chosen(folder, approximation="nystrom") == ("nystrom", 0, "model-conquer-003")
    assert chosen(folder, level=0, approximation="nystrom")[0] == "nystrom"
    for how in ({"mode": "exact"}, {"mode": "early"}, {"mode": "naive"}, {"level": 2}):
        with pytest.raises(InputError, match=r"its model is that of nystrom; leave mode and level"):
            choose_model(folder, approximation="nystrom", **how)
    # Of a sample's run the levels are what they are.
    tree = make_run(place=folder.place.parent / "tree").run.folder
    assert chosen(tree, approximation="subsample")[0] == "subsample"
    assert chosen(tree, level=2, approximation="subsample") == ("early", 2, "level-2")
    with pytest.raises(InputError, match="no exact prediction: its model is that of subsample"):
        choose_model(tree, "exact", approximation="subsample")


def test_every_flipped_byte_of_a_model_is_found(make_run: Any) -> None:
    made = make_run(n=100)
    folder = made.run.folder
    model = folder.find("model-conquer-003", "commit").place / "model"
    for key in model.keys():  # noqa: SIM118 - no dict
        data = (model / key).read_bytes()
        (model / key).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(InputError, match="damaged"):
            fresh(made)
        (model / key).delete()
        with pytest.raises(InputError, match="missing"):
            fresh(made)
        (model / key).write_bytes(data)
    fresh(made)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"record": {}}, "cannot be read"),
        ({"record": {"model": 7}}, "cannot be read"),
        ({"record": {"model": {"rule": {"meta": {}, "arrays": []}}}}, "cannot be read"),
        ({"keys": {}}, "damaged commit object"),
        ({"keys": {}, "small": []}, "no model"),
        ({"keys": {"model/coef/zarr.json": "x"}}, "damaged"),
        ({"attempt": "other"}, "missing|damaged"),
    ],
)
def test_a_commit_that_is_not_a_models_is_refused(
    make_run: Any, changes: dict[str, Any], message: str
) -> None:
    made = make_run(n=100)
    place = made.run.folder.stage("model-conquer-003") / "commit.json"
    place.write_json(seal({**place.read_json(), **changes}))
    with pytest.raises(InputError, match=message):
        fresh(made)


def test_arrays_that_contradict_each_other_are_refused(make_run: Any) -> None:
    made = make_run(n=100)
    node = made.run.folder.find("model-conquer-003", "commit")
    coef = zarr.open_array(f"{node.place}/model/coef", mode="r+")
    coef.resize((1, 3))
    commit = Location(f"{node.place.parent}/commit.json")
    value = commit.read_json()
    value["keys"] = checksums(node.place)
    commit.write_json(seal(value))
    with pytest.raises(InputError, match=r"not a model: .* coefficients of shape"):
        fresh(made)


def test_loading_never_runs_code(make_run: Any, tmp_path: Any) -> None:
    made = make_run(n=100)
    node = made.run.folder.find("model-conquer-003", "commit")
    coef = node.place / "model" / "coef"
    coef.delete()
    bomb = pickle.dumps(Bomb(str(tmp_path / "ran")))
    pickle.loads(bomb)
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").rmdir()
    metadata = {
        "zarr_format": 2,
        "shape": [2],
        "chunks": [2],
        "dtype": "|O",
        "fill_value": None,
        "order": "C",
        "filters": [{"id": "vlen-utf8"}],
        "compressor": {"id": "pickle", "protocol": 5},
    }
    (coef / ".zarray").write_bytes(json.dumps(metadata).encode())
    (coef / "0").write_bytes(bomb)
    commit = Location(f"{node.place.parent}/commit.json")
    commit.write_json(seal({**commit.read_json(), "keys": checksums(node.place)}))
    with pytest.raises(InputError, match="no part of a model"):
        fresh(made)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "not a JSON object"),
        (b"{}", "damaged"),
        (b'{"format": "other"}', "damaged"),
        (b'{"format": "dcsvm-preparation-1", "classes": 3}', "damaged"),
    ],
)
def test_a_damaged_preparation_is_refused(make_run: Any, text: bytes, message: str) -> None:
    made = make_run(n=100)
    (made.run.folder.place / NAME).write_bytes(text)
    with pytest.raises(InputError, match=message):
        fresh(made)


class Bomb:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def fresh(made: Any) -> np.ndarray:
    step._cache.clear()
    values: np.ndarray = made.run.decision_function(made.X_test, execution=HERE)
    return values


def chosen(folder: RunFolder, **how: Any) -> tuple[str, int, str]:
    choice = choose_model(folder, **how)
    return choice.mode, choice.level, choice.stage


def copy_level(folder: RunFolder, number: int) -> None:
    commit = (folder.stage("level-2") / "commit.json").read_json()
    (folder.stage(f"level-{number}") / "commit.json").write_json(seal(commit))


def checksums(place: Location) -> dict[str, Any]:
    import zlib

    return {
        key: (size, zlib.crc32((place / key).read_bytes())) for key, size in place.keys().items()
    }
