"""How commands show progress: JSON lines, plain lines, watching."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask import api
from dcsvm_dask.diagnostics import watch as watching
from dcsvm_dask.diagnostics.dashboard.attach import DashboardPage
from dcsvm_dask.diagnostics.followers import followers, on_terminal, shielded
from dcsvm_dask.diagnostics.json_lines import json_line
from dcsvm_dask.diagnostics.lines import Lines
from dcsvm_dask.diagnostics.progress.stage import OF_BLOCKS
from dcsvm_dask.diagnostics.terminal.live import Terminal
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Notice, RunEnds
from dcsvm_dask.storage.run import RunFolder
from tests.command_line import invoke

WORDS = ["--gamma", "8", "-C", "8", "--clusters", "3", "--workers", "0"]


@pytest.fixture(scope="module")
def data(demo_rows: Callable[..., Path]) -> Path:
    return demo_rows(300)


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_log_json_is_objects_alone_and_ends_with_the_status(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = invoke("train", data, "--run", run, *WORDS, "--stop-at", 1, "--log-json")
    assert (done.exit_code, done.stderr) == (0, "")
    said = [json.loads(text) for text in done.stdout.splitlines()]
    assert all(one.keys() >= {"event", "time", "seconds"} for one in said)
    assert all(one["time"].endswith("+00:00") for one in said)
    names = [one["event"] for one in said]
    assert names[0] == "Notice"
    assert names[-2:] == ["RunEnds", "Status"]
    assert {"RunBegins", "Planned", "StageBegins", "BlocksBegin", "BlockSolved"} < set(names)
    tasks = [one["node"] for one in said if one["event"] == "TaskDone"]
    folder = RunFolder.open(run)
    assert len(tasks) == sum(len(folder.nodes(stage)) for stage in folder.stages())
    assert not keys(said) & set(OF_BLOCKS)
    assert said[-1]["status"]["state"] == "complete"
    # On to the exact model.
    done = invoke("resume", run, "--workers", 0, "--stop-at", 0, "--log-json", "--quiet")
    said = [json.loads(text) for text in done.stdout.splitlines()]
    resumed = {one["stage"]: one["resumed"] for one in said if one["event"] == "StageDone"}
    assert resumed["level-1"]
    assert not resumed["conquer-000"]
    assert said[-1]["status"]["converged"]


def test_log_json_leaves_errors_to_standard_error(tmp_path: Path) -> None:
    done = invoke("train", tmp_path / "no.zarr", "--run", tmp_path / "run", "--log-json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("dcsvm: ")


def test_a_line_of_json_holds_no_blocks_and_no_nan() -> None:
    fields = {"a": float("nan"), "each": {}, "b": [1, {"members": []}], "long": list(range(99))}
    assert json.loads(json_line("X", 0.0, fields)) == {
        "event": "X",
        "time": "1970-01-01T00:00:00.000+00:00",
        "seconds": 0.0,
        "a": None,
        "b": [1, {}],
    }


def test_who_follows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: Path) -> None:
    own = Callback()
    page, *others = followers([own], quiet=True)
    assert isinstance(page, DashboardPage)
    assert others == [own]
    assert isinstance(followers([own])[1], Lines)
    assert isinstance(followers([own], progress="bars")[1], Terminal)
    assert len(followers([own], quiet=True, progress="json")) == 3
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(followers([])[1], Terminal)
    monkeypatch.setenv("TERM", "dumb")
    assert not on_terminal()
    with pytest.raises(InputError, match=r"progress must be one of .*, got 'loud'"):
        api.train(data, tmp_path / "run", progress="loud")
    assert not (tmp_path / "run").exists()


def test_a_terminal_that_is_gone_ends_no_run() -> None:
    class Gone:
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

        def flush(self) -> None:
            raise OSError(5, "Input/output error")

    shown = shielded(Lines(Gone()))
    shown.on_notice(Notice("run", 0.0, "hello"))
    shown.on_end(RunEnds("run", 0.0, "complete", "", True))


def test_watching_a_run_that_has_ended(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert invoke("train", data, "--run", run, *WORDS, "--quiet").exit_code == 0
    done = invoke("status", run, "--watch")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "level-1" in done.stdout
    assert "state      complete, converged" in done.stdout
    assert invoke("status", run, "--watch", "--interval", 0).exit_code == 2


def test_ctrl_c_ends_the_watching(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(_: float) -> None:
        raise KeyboardInterrupt

    run = tmp_path / "run"
    assert invoke("train", data, "--run", run, *WORDS, "--quiet").exit_code == 0
    running = {"state": "running", "message": "", "converged": False, "stage": ""}
    monkeypatch.setattr(watching, "state_now", lambda _: running)
    monkeypatch.setattr("dcsvm_dask.diagnostics.watch.time.sleep", pressed)
    done = invoke("status", run, "--watch")
    assert (done.exit_code, done.stderr) == (130, "")
