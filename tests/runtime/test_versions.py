"""Versions that differ: refused where results would be others, reported where they would round."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import Callback, api
from dcsvm_dask.diagnostics.progress.replay import Replay
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime import session
from dcsvm_dask.runtime.events import OtherVersions, StageBegins
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.runtime.journal import read_journal
from dcsvm_dask.storage import run as storage
from dcsvm_dask.versions import RESULT_VERSION, versions

HERE = Execution(workers=0)
SECONDS = 120.0


class Others(Callback):
    """Keeps the other versions that a run met."""

    def __init__(self) -> None:
        self.events: list[OtherVersions] = []

    def on_versions(self, event: OtherVersions) -> None:
        self.events.append(event)


class AddsWorker(Others):
    """Starts a worker when a run begins, and lets the run wait until it is ready or has ended."""

    def __init__(self, cluster: Any, *words: str) -> None:
        super().__init__()
        self._cluster, self._words = cluster, words
        self._client: Any = None
        self.worker: subprocess.Popen[bytes] | None = None

    def on_client(self, client: Any) -> None:
        self._client = client

    def on_stage(self, event: StageBegins) -> None:
        if self.worker is not None:
            return
        self.worker = self._cluster.add_worker(*self._words)
        end = time.monotonic() + SECONDS
        while self.worker.poll() is None and not self._is_ready():
            assert time.monotonic() < end
            time.sleep(0.3)

    def _is_ready(self) -> bool:
        found = self._client.run(lambda dask_worker: list(dask_worker.plugins), on_error="ignore")
        prepared = [any("dcsvm" in name for name in names) for names in found.values()]
        return len(prepared) == 2 and all(prepared)


def preload(folder: Path, text: str) -> tuple[str, str]:
    """Return the words by which a worker runs some lines before anything else."""
    file = folder / "other_versions.py"
    file.write_text(f"import dcsvm_dask.versions as package\n{text}\n")
    return "--preload", str(file)


def journal(run: api.Run) -> list[dict[str, Any]]:
    return [
        entry
        for entries in read_journal(run.folder)
        for entry in entries
        if entry["event"] == "OtherVersions"
    ]


@pytest.mark.long
def test_a_worker_that_joins_later_with_other_results_takes_no_part(
    dask_cluster: Any,
    train: Callable[..., api.Run],
    undisturbed: api.Run,
    look: Any,
    tmp_path: Path,
) -> None:
    address, _ = dask_cluster.start(1)
    follow = AddsWorker(dask_cluster, *preload(tmp_path, "package.RESULT_VERSION = -1"))
    run = train(execution=Execution(scheduler=address), callbacks=[follow])
    assert run.status()["state"] == "complete"
    np.testing.assert_array_equal(look.alpha(run), look.alpha(undisturbed))
    assert len(run.status()["peak_bytes"]) == 1  # one process has done all
    assert follow.worker is not None
    assert follow.worker.wait(SECONDS) == 0  # it left by itself
    (event,) = follow.events
    assert event.refused
    assert event.differing == {"result_version": [str(RESULT_VERSION), "-1"]}
    (entry,) = journal(run)
    assert (entry["refused"], entry["worker"]) == (True, event.worker)


@pytest.mark.long
def test_a_worker_that_joins_later_with_other_libraries_is_reported(
    dask_cluster: Any, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    address, _ = dask_cluster.start(1)
    text = "found = {**package.versions(), 'numpy': '0.1'}; package.versions = lambda: found"
    follow = AddsWorker(dask_cluster, *preload(tmp_path, text))
    run = train(execution=Execution(scheduler=address), callbacks=[follow])
    (event,) = follow.events
    assert not event.refused
    assert event.differing == {"numpy": [versions()["numpy"], "0.1"]}
    assert len(journal(run)) == 1


@pytest.mark.long
def test_a_resume_with_other_versions_is_reported_and_kept_in_the_journal(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    run = train(stop_at=2)
    assert journal(run) == []
    other = {**versions(), "blas": "openblas 0.1 Haswell", "python": "3.0"}
    monkeypatch.setattr(session, "versions", lambda: other)
    follow = Others()
    resumed = api.resume(
        run.url, stop_at=0, execution=HERE, callbacks=[follow], progress="lines", report=False
    )
    (event,) = follow.events
    assert event.differing == {"blas": [versions()["blas"], "openblas 0.1 Haswell"]}
    said = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    assert len(said) == 1
    assert "this process has blas openblas 0.1 Haswell (the run was begun with" in said[0]
    (entry,) = journal(resumed)
    assert entry["differing"] == event.differing
    words = "Some workers had other versions: blas openblas 0.1 Haswell instead of"
    assert words in Path(resumed.report()).read_text()
    again = Others()
    Replay(resumed.folder, [again]).look()
    assert [one.differing for one in again.events] == [event.differing]


def test_a_run_of_another_result_version_can_be_used_but_not_gone_on_with(
    train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch, small: Path
) -> None:
    monkeypatch.setattr(storage, "RESULT_VERSION", RESULT_VERSION - 1)
    run = train(stop_at=2)
    monkeypatch.undo()
    assert api.open_run(run.url).evaluate(small)["accuracy"] > 0.5
    with pytest.raises(
        InputError,
        match=rf"was begun by dcsvm_dask .*, whose results have the version {RESULT_VERSION - 1}; "
        rf"those of this dcsvm_dask .* have {RESULT_VERSION} .*: continue with dcsvm_dask",
    ):
        api.resume(run.url, stop_at=0, execution=HERE, quiet=True)
