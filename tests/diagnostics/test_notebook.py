"""A run in a notebook, and its history as a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
import pytest

from dcsvm_dask.api import Run
from dcsvm_dask.diagnostics.frames import to_frame
from dcsvm_dask.diagnostics.notebook import links, run_html
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.journal import Journal, read_journal
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.diagnostics.test_status import HEADER, leave, whole_run
from tests.left import latest

BEGIN = {"kind": "begin", "where": "w", "workers": 2, "memory": None, "about": {}}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(Location.of(tmp_path / "run & <more>"), HEADER)


def html(run: RunFolder) -> str:
    text = Run(run)._repr_html_()
    ET.fromstring(text.replace("<br>", "<br/>").replace("&nbsp;", " "))  # well-formed
    return text


def test_a_run_shows_what_its_commits_measured(run: RunFolder) -> None:
    assert "interrupted" in html(run)
    whole_run(run)
    leave(run, "complete", converged=True, stage="model-conquer-000", run_seconds=26.0)
    text = html(run)
    for shown in (
        "run &amp; &lt;more&gt;",
        "complete",
        "the exact model, in 26 s",
        "0.7500",
        "-45",
    ):
        assert shown in text
    assert "href" not in text


def test_a_run_links_to_its_live_page_while_it_goes_on_and_to_its_report(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Announcer(run.place.url, [Journal(run)])
    journal.send({**BEGIN, "dashboard": "http://h:8787/status"})
    journal.drain()
    assert "8787" not in html(run)
    leave(run, "running")
    monkeypatch.setattr("dcsvm_dask.diagnostics.status.read_owner", lambda place: {"pid": 1})
    assert 'href="http://h:8787/dcsvm"' in html(run)
    (run.place / "report.html").write_bytes(b"x")
    assert "report.html" in html(run)
    journal_file = latest(run.place, "journal")
    journal_file.write_bytes(journal_file.read_bytes().replace(b"8787", b"8788"))
    with pytest.raises(ValueError, match=r"journal/.*json: damaged.*delete it"):
        read_journal(run)
    assert "dcsvm" not in html(run).replace("dcsvm-", "")


def test_the_history_becomes_a_frame(run: RunFolder) -> None:
    whole_run(run)
    frame = Run(run).frame()
    assert list(frame["stage"]) == ["level-1", "conquer-000"]
    assert list(frame["accuracy"]) == [0.75, 0.8]
    assert list(frame["elapsed"]) == [6.0, 13.0]  # with the scoring in between
    assert frame["level"].iloc[0] == 1
    assert frame["round"].iloc[1] == 0
    assert frame["time"].iloc[0] == pd.Timestamp(24.0, unit="s", tz="UTC")


def test_without_pandas_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    records: list[dict[str, Any]] = [{"time": 1.0}]
    with pytest.raises(ValueError, match=r"pip install pandas"):
        to_frame(records)


def test_names_of_a_foreign_run_are_text_and_no_html(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_run(run)
    script = "<script>alert(1)</script>"
    found = Run(run).status()
    stages = {**found["stages"], script: found["stages"]["level-1"]}
    found["stage_seconds"][script] = 1.0
    for change in (
        {"state": "running"},
        {"state": script, "message": script},
        {"state": "complete", "stage": f"level-1{script}", "approximates": False},
        {"state": "complete", "stage": script, "approximates": True, "method": script},
    ):
        text = run_html({**found, "stages": stages, **change}, {script: f'"{script}'})
        assert "&lt;script&gt;" in text
        assert "<script" not in text
        ET.fromstring(text.replace("<br>", "<br/>").replace("&nbsp;", " "))
    journal = Announcer(run.place.url, [Journal(run)])
    journal.send({**BEGIN, "dashboard": "javascript:alert(1)//status"})
    journal.drain()
    leave(run, "running")
    assert "live page" not in links(run, running=True)
