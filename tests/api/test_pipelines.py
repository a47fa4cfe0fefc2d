"""Pipelines of several methods and grids: read, named, carried, gone on with."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError, RunError
from dcsvm_dask.pipeline.file import read_pipeline
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import StageDone
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.command_line import invoke

HERE = Execution(workers=0)
TEXT = """
[data]
source = "covtype.csv.xz"
label = "lodgepole_pine"
scale = "minmax"
test_fraction = 0.05
train_rows = 500

[every]
gamma = 8.0
C = 4.0
tol = 1e-3
loss = "squared_hinge"

[[method]]
name = "dcsvm"

[[method]]
name = "bagging"
members = [2, 4]
vote = "sign"

[[method]]
name = "dcsvm"
as = "early"
clusters = [4]
stop_at = 1

[[method]]
name = "nystrom"
rank = 20
C = [0.5, 1.0]

[output]
run = "{0}/runs"
data = "{0}/d.zarr"
"""
NAMES = [
    "dcsvm",
    "bagging-members=2",
    "bagging-members=4",
    "early",
    "nystrom-C=0.5",
    "nystrom-C=1.0",
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    csv = resources.files("dcsvm_dask.demo") / "covtype.csv.xz"
    (tmp_path / "covtype.csv.xz").write_bytes(csv.read_bytes())
    file = tmp_path / "p.toml"
    file.write_text(TEXT.format(tmp_path))
    return file


def test_grids_and_options_of_every_method(file: Path) -> None:
    found = read_pipeline(file)
    assert [planned.name for planned in found.trainings] == NAMES
    assert found.trainings[0].run == f"{file.parent}/runs/dcsvm"
    words = {planned.name: planned.training.words() for planned in found.trainings}
    assert {one["gamma"] for one in words.values()} == {8.0}
    assert words["bagging-members=4"]["members"] == 4
    assert words["bagging-members=4"]["C"] == 4.0
    assert words["nystrom-C=0.5"]["C"] == 0.5
    assert {one["loss"] for one in words.values()} == {"squared_hinge"}
    bag = 'name = "bagging"\nmembers = [2, 4]\nvote = "sign"'
    file.write_text(file.read_text().replace(bag, 'name = "online"'))
    with pytest.raises(InputError, match=r"\[every\] loss: online has no squared_hinge"):
        read_pipeline(file)
    assert words["early"]["clusters"] == (4,)


def test_words_of_the_command_stand_instead_of_the_files(file: Path) -> None:
    changes = (
        "data.train_rows=100",
        "every.gamma=2.0",
        "method.tol=0.5",
        "early.stop_at=0",
        "bagging.members=[3]",
        "bagging.vote=mean",
    )
    found = read_pipeline(file, changes)
    words = {planned.name: planned.training.words() for planned in found.trainings}
    assert found.data["train_rows"] == 100
    assert {one["gamma"] for one in words.values()} == {2.0}
    assert {one["tol"] for one in words.values()} == {0.5}
    assert words["early"]["stop_at"] == 0
    assert words["bagging-members=3"]["vote"] == "mean"


def test_all_are_carried_and_none_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begun: list[str] = []

    def begin(planned: Any) -> None:
        begun.append(planned.name)

    runs = api.run_pipeline(file, execution=HERE, quiet=True, report=False, begin=begin)
    assert begun == NAMES
    assert [run.folder.place.name for run in runs] == NAMES
    assert {run.status()["state"] for run in runs} == {"complete"}
    data = DataSet.open(file.parent / "d.zarr")
    assert (data.n_rows, data.open_part("test").n_rows) == (500, 1000)
    models = [run.folder.find(run.status()["model"], "commit") for run in runs]
    done = invoke("run", file, "--workers", 0, "--no-report")
    assert done.exit_code == 0, done.output
    assert [run.folder.find(run.status()["model"], "commit") for run in runs] == models
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0][:4] == ["run", "method", "seconds", "accuracy"]
    assert [line[0] for line in lines[1:]] == NAMES
    assert all(0.5 < float(line[4]) < 1.0 for line in lines[1:])  # after seconds and their unit
    assert {" ".join(line[7:]) for line in lines[1:]} == {"complete, converged", "complete"}


def test_every_way_to_predict_is_tested_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = file.read_text().replace("stop_at = 1", "stop_at = 1\ncommittee = true")
    file.write_text(text + "[test]\nmodes = ['early', 'naive', 'committee']\n")
    words = (
        "--set",
        "bagging.members=[2]",
        "--set",
        "nystrom.C=1.0",
        "--workers",
        0,
        "--no-report",
    )
    done = invoke("run", file, *words)
    assert done.exit_code == 0, done.output
    table = done.stdout[done.stdout.index("run  ", 10) :]
    found = [line.split() for line in table.splitlines()[1:]]
    levels = [line[:3] for line in found if line[1] != "0"]
    assert levels == [["early", "1", mode] for mode in ("early", "naive", "committee")]
    assert len(found) == len(levels) + 3
    run = api.open_run(file.parent / "runs/early")
    for _, _, mode, accuracy, rows, _ in (line for line in found if line[1] != "0"):
        reported = run.evaluate(file.parent / "d.zarr/test", mode=mode)
        assert accuracy == f"{reported['accuracy']:.4f}"
        assert rows == "1,000"
    # What was tested is kept: a second call computes nothing.
    monkeypatch.setattr("dcsvm_dask.prediction.run_prediction.evaluate", None)
    assert invoke("run", file, *words).stdout == done.stdout


def test_a_test_needs_rows_held_out(file: Path) -> None:
    text = file.read_text().replace("test_fraction = 0.05", "shuffle = true")
    file.write_text(text)
    with pytest.raises(InputError, match=r"\[test\] needs rows held out, .*d.zarr.* has none"):
        api.run_pipeline(file, changes=["test.modes=['early']"], execution=HERE, quiet=True)
    assert not (file.parent / "runs").exists()


class Stop(Callback):
    """Ends the third training in its middle, as Ctrl-C does."""

    def __init__(self, folder: Path) -> None:
        self._run = str(folder / "runs/early")

    def on_commit(self, event: StageDone) -> None:
        if event.run == self._run:
            raise KeyboardInterrupt


@pytest.mark.long
def test_what_was_interrupted_goes_on_method_by_method(file: Path) -> None:
    how: dict[str, Any] = {"execution": HERE, "quiet": True, "report": False}
    with pytest.raises(KeyboardInterrupt):
        api.run_pipeline(file, callbacks=[Stop(file.parent)], **how)
    states = {name: state_of(file.parent / "runs" / name) for name in NAMES}
    assert states == {
        **dict.fromkeys(NAMES[:3], "complete"),
        "early": "interrupted",
        **dict.fromkeys(NAMES[4:]),
    }
    runs = api.run_pipeline(file, **how)
    assert {run.status()["state"] for run in runs} == {"complete"}


def state_of(run: Path) -> str | None:
    return str(api.open_run(run).status()["state"]) if run.exists() else None


class Break(Callback):
    """Makes one training fail."""

    def on_commit(self, event: StageDone) -> None:
        if event.run.endswith("members=2"):
            raise InputError("broken")


@pytest.mark.long
def test_one_that_fails_keeps_no_other_from_its_end(file: Path) -> None:
    how: dict[str, Any] = {"execution": HERE, "quiet": True, "report": False}
    with pytest.raises(RunError, match="1 of 6 trainings failed: bagging-members=2: broken"):
        api.run_pipeline(file, callbacks=[Break()], **how)
    states = [state_of(file.parent / "runs" / name) for name in NAMES]
    assert states == ["complete", "failed", *["complete"] * 4]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("members = [2, 4]", "members = [2, 'x']", "p.toml:20: [method] members = 'x' must be of"),
        (
            "members = [2, 4]",
            "members = [2, 0]",
            "p.toml:20: [method] members must be at least 1, got 0",
        ),
        ("members = [2, 4]", "members = []", "p.toml:18: [method] its lists make 0 trainings"),
        ("rank = 20", "rang = 20", "p.toml:31: [method] rang is unknown; known: name, as, kernel"),
        ("gamma = 8.0", "gamma = -8.0", "p.toml:10: [every] gamma"),
        ("gamma = 8.0", "gamma = 'x'", "p.toml:10: [every] gamma is 'x'; give "),
        ("gamma = 8.0", "gama = 8.0", "p.toml:10: [every] gama is unknown; known: kernel, gamma"),
        ('as = "early"', 'as = "../x"', "p.toml:25: [method] as = '../x' is no name of a folder"),
        ("[data]", "method = []\n[data]", "is not TOML"),
        ('as = "early"', "", "two methods are called dcsvm; give one of them `as`"),
        ("[output]", "[test]\nmodes = ['x']\n[output]", "p.toml:35: [test] modes: 'x' is unknown"),
        ("[output]", "[test]\nmode = ['x']\n[output]", "p.toml:35: [test] mode is unknown"),
        (
            "[output]",
            "[test]\nmodes = ['committee']\n[output]",
            "p.toml:35: [test] modes: committee needs levels that are calibrated",
        ),
        ("[output]", "[test]\n[output]", "[test] modes is missing"),
        ("scale = ", "skale = ", "p.toml:5: [data] skale is unknown"),
        ("train_rows = 500", "train_rows = 'x'", "p.toml:7: [data] train_rows = 'x' must be of"),
    ],
)
def test_what_is_impossible_is_named_with_its_line(
    old: str, new: str, said: str, file: Path
) -> None:
    file.write_text(file.read_text().replace(old, new, 1))
    done = invoke("run", file, "--workers", 0)
    assert done.exit_code == 2
    assert said in done.output
    assert not (file.parent / "runs").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("gamma=3", "set must be TABLE.KEY=VALUE, got 'gamma=3'"),
        ("svm.gamma=3", "set: 'svm' is no table; there are data, every, test, output"),
        ("bagging.rank=3", "[method] rank is unknown"),
    ],
)
def test_changes_that_are_none(change: str, said: str, file: Path) -> None:
    done = invoke("run", file, "--set", change)
    assert done.exit_code == 2
    assert said in done.output
