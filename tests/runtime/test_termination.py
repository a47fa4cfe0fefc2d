"""SIGTERM, which queues, Kubernetes and Docker send: as Ctrl-C, with a status of its own."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.errors import Terminated
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.cluster.connect import uninterrupted
from dcsvm_dask.runtime.events import StageDone
from dcsvm_dask.runtime.execution import Execution
from tests.small_run import WORDS


class TerminatedAt(Callback):
    """Sends this process SIGTERM when a stage is committed."""

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def on_commit(self, event: StageDone) -> None:
        if event.stage == self._stage:
            signal.raise_signal(signal.SIGTERM)


def test_sigterm_leaves_a_run_that_is_resumed(
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    undisturbed: api.Run,
    look: Any,
) -> None:
    before, place, whole = signal.getsignal(signal.SIGTERM), tmp_path / "run", api.train

    def train(*places: Any, **words: Any) -> api.Run:
        return whole(*places, **{**words, "callbacks": [TerminatedAt("level-2")]})

    monkeypatch.setattr(api, "train", train)
    arguments = ["train", str(small), "--run", str(place), "--workers", "0", *WORDS]
    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == 143, found.output
    assert f"{place}: interrupted; continue with `dcsvm resume {place}`" in found.output
    assert signal.getsignal(signal.SIGTERM) == before
    status = api.open_run(place).status()
    assert status["state"] == "interrupted"
    assert status["message"] == "ended by SIGTERM"
    run = api.resume(place, execution=Execution(workers=0), quiet=True)
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))


def test_sigterm_while_a_cluster_starts_comes_when_it_has_started() -> None:
    def end(*_: object) -> None:
        raise Terminated

    def start() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGTERM)
            steps.append("started")

    before, steps = signal.signal(signal.SIGTERM, end), list[str]()
    try:
        with pytest.raises(Terminated):
            start()
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)
    assert steps == ["started"]


@pytest.mark.long
def test_sigterm_ends_local_workers_at_once(
    command: Callable[..., Any], small: Path, tmp_path: Path, faults: Any
) -> None:
    faults.hold("level-1")
    place = tmp_path / "run"
    train = command("train", small, "--run", place, "--workers", 2, *WORDS)
    train.wait_for(lambda: faults.begun_at("level-1") > 0)
    workers = train.workers()
    train.terminate()
    assert train.wait() == 143, train.said
    assert "Traceback" not in train.said
    assert not any(worker.is_running() for worker in workers)
    assert api.open_run(place).status()["state"] == "interrupted"
