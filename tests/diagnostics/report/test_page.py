"""The page of a report: whole in every state of a run, and without a network."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.diagnostics.report import page, reporting
from dcsvm_dask.diagnostics.report.report import compare, report
from dcsvm_dask.diagnostics.report.reporting import Reporting
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.errors import InputError
from dcsvm_dask.prediction.export import read_expansion
from dcsvm_dask.runtime.events import RunEnds
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.callbacks import Heard, StopAt
from tests.diagnostics.report.conftest import SETTINGS, blobs, train
from tests.left import latest
from tests.marks import long

SECTIONS = [
    "summary",
    "tree",
    "progress",
    "prediction",
    "plane",
    "quality",
    "blocks",
    "workers",
    "work",
    "plan",
    "faults",
    "repeat",
]
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """A page, taken apart; fails where an element is closed that is not open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.data: dict[str, Any] = {}
        self._id: str | None = None
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "section":
            self.sections.append(str(found["id"]))
        self.addresses += [str(found[key]) for key in ("src", "href") if key in found]
        self._id = found.get("id") if tag == "script" else None
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._id is not None:
            self.data[self._id] = json.loads(data)
            self._id = None
        elif self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data.strip())

    @property
    def words(self) -> str:
        """All that one can read."""
        return " ".join(filter(None, self.texts))


def looked_at(text: str) -> Page:
    """Take a page apart; it must need no network."""
    found = Page(text)
    assert all(address.startswith("#") for address in found.addresses)
    style = re.search(r"<style>(.*?)</style>", text, re.S)
    assert style is not None
    assert not re.search(r"@import|url\(", style.group(1))
    return found


def copied(run: api.Run, place: Path) -> RunFolder:
    """Copy a run, so that it may be changed."""
    shutil.copytree(run.url, place)
    return RunFolder.open(str(place))


@pytest.fixture
def states(
    trained: api.Run,
    stopped: api.Run,
    data: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Callable[[str], RunFolder]:
    """Give a maker of runs in some state."""

    def make(state: str) -> RunFolder:
        place = tmp_path / "run"
        if state == "just begun":
            header = stopped.folder.header
            kept = {key: header[key] for key in header if key not in ("format", "digest")}
            return RunFolder.create(Location.of(place), kept)
        if state == "interrupted":
            return stopped.folder
        if state == "resumed":
            copied(stopped, place)
            return api.resume(place, execution=api.Execution(workers=0), quiet=True).folder
        if state == "failed":
            stop = StopAt("arrange", ValueError("broken <b>"))
            with pytest.raises(ValueError, match="broken <b>"):
                train(data, place, callbacks=[stop], **SETTINGS)
            return RunFolder.open(str(place))
        if state == "early":
            return train(data, place, gamma=8.0, clusters=(4,), stop_at=1).folder
        if state == "few rows":
            return train(data, place, gamma=8.0, holdout=data / "test").folder
        if state == "biased":
            run: api.Run = request.getfixturevalue("biased")
            return run.folder
        return trained.folder

    return make


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("state", "badge", "words"),
    [
        ("just begun", "interrupted", "No task has been committed yet"),
        long("interrupted", "interrupted", "No rows were held out"),
        long("failed", "failed", "broken <b>"),
        long("resumed", "complete, converged", "Processes that carried the run"),
        ("few rows", "complete, converged", "its rows are one working set"),
        long("early", "complete at level-1", "The difference needs the exact model"),
        long("biased", "complete, converged", "The theorem is about the problem without a bias"),
        long("finished", "complete, converged", "dcsvm train"),
    ],
)
def test_every_state_of_a_run_has_a_whole_page(
    state: str, badge: str, words: str, states: Callable[[str], RunFolder]
) -> None:
    text, tables = report(states(state), compute=False)
    found = looked_at(text)
    assert found.sections == SECTIONS
    assert badge in found.words
    assert words in found.words
    assert len(tables["processes"]["state"]) == {"just begun": 0, "resumed": 2}.get(state, 1)


def test_a_finished_run_shows_its_figures(trained: api.Run) -> None:
    text, tables = report(trained.folder, compute=True)
    found, status = looked_at(text), trained.status()
    assert found.sections == SECTIONS
    assert f"{status['n_support']:,}" in found.words
    assert "on demand" not in found.words
    assert "Naive prediction (5)" in found.words
    shown = found.data["report-tables"]
    assert shown["history"] == tables["history"]
    assert shown["blocks"]["rows"] == tables["blocks"]["rows"]
    roots = found.data["report-figures"]["document"]["roots"]
    places = found.data["report-figures"]["item"]["roots"]
    assert len(roots) == len(places) >= 20
    assert all(f'id="{place}"' in text for place in places.values())


@pytest.mark.long
def test_the_figures_keep_bokehs_rules(trained: api.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from bokeh.core.validation import check_integrity, process_validation_issues
    from bokeh.document import Document

    kept = []
    to_json = Document.to_json

    def spied(document: Any, **more: Any) -> Any:
        kept.append(document)
        return to_json(document, **more)

    monkeypatch.setattr(Document, "to_json", spied)
    report(trained.folder, compute=True)
    compare([trained.folder, trained.folder])
    assert len(kept) == 2
    for document in kept:
        issues = check_integrity([ref for root in document.roots for ref in root.references()])
        process_validation_issues(issues)
        assert not issues.error
        assert not issues.warning


def test_a_damaged_journal_or_plan_is_reported(stopped: api.Run, tmp_path: Path) -> None:
    run = copied(stopped, tmp_path / "run")
    for place in (latest(run.place, "journal"), run.place / "plan.json"):
        place.write_bytes(place.read_bytes().replace(b"1", b"2"))
    found = looked_at(report(run, compute=False)[0])
    assert found.sections == SECTIONS
    assert found.words.count("damaged") >= 2
    assert "This run has no journal" in found.words


@pytest.mark.long
def test_words_of_users_are_not_markup(tmp_path: Path) -> None:
    X, y = blobs(200, 3)
    place = tmp_path / "<script>alert(1)<" / "data.zarr"
    api.ingest((X, y), place)
    text = report(train(place, tmp_path / "run", gamma=8.0).folder, compute=False)[0]
    assert "<script>alert" not in text
    assert "<script>alert(1)<" in looked_at(text).words


def test_runs_side_by_side(trained: api.Run, data: Path, tmp_path: Path) -> None:
    loose = train(data, tmp_path / "loose", tol=0.1, gamma=8.0, C=8.0, holdout=data / "test")
    other = train(data, tmp_path / "other", gamma=1.0)
    text, tables = compare([trained.folder, loose.folder, other.folder])
    found, rows = looked_at(text), tables["comparison"]
    assert found.sections == ["figures", "accuracy", "objective", "support"]
    assert "2 problems" in found.words
    assert rows["run"] == ["tree", "loose", "other"]
    assert rows["problem"] == [1, 1, 2]
    a, b = trained.status()["objective"], loose.status()["objective"]
    assert rows["relative_error"] == pytest.approx([0.0, (b - a) / abs(a), 0.0])
    assert rows["accuracy"][2] is None
    assert set(tables["accuracies"]["run"]) == {"tree", "loose"}


def test_support_vectors_of_several_runs_are_compared_with_the_best(
    trained: api.Run, data: Path, tmp_path: Path
) -> None:
    words: dict[str, Any] = {"gamma": 8.0, "C": 8.0}
    once = train(data, tmp_path / "once", method="cascade", leaves=4, passes=1, **words)
    bag = train(data, tmp_path / "bag", method="bagging", members=4, **words)
    rows = list(rows_of(compare([trained.folder, once.folder, bag.folder])[1]["support"]))
    assert [row["run"] for row in rows] == ["tree", "tree", "tree", "once"]
    exact, found = (set(read_expansion(run.folder).rows.tolist()) for run in (trained, once))
    assert rows[2]["precision"] == rows[2]["recall"] == 1.0
    assert rows[3]["n_support"] == len(found)
    assert rows[3]["precision"] == len(found & exact) / len(found)
    assert rows[3]["recall"] == len(found & exact) / len(exact) < 1.0


@pytest.mark.long
def test_the_command_writes_html_and_csv(
    trained: api.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["report", trained.url, "--fast", "--out", "r.html", "--csv", "numbers"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(tmp_path / "r.html")
    looked_at((tmp_path / "r.html").read_text())
    assert (tmp_path / "numbers" / "levels.csv").read_text().startswith("level,clusters,")
    assert CliRunner().invoke(main, ["report", trained.url, trained.url]).exit_code == 0
    assert looked_at((tmp_path / "comparison.html").read_text()).sections[0] == "figures"
    (tmp_path / "thesis.html").write_text("mine")
    done = CliRunner().invoke(main, ["report", trained.url, "--fast", "--out", "thesis.html"])
    assert done.exit_code == 2
    assert "is no report" in done.output
    assert (tmp_path / "thesis.html").read_text() == "mine"


def test_without_bokeh_it_is_said_what_to_install(
    trained: api.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "available", lambda: False)
    with pytest.raises(InputError, match=r"pip install bokeh jinja2"):
        trained.report()


def test_a_run_ends_with_its_report(data: Path, tmp_path: Path, reports: None) -> None:
    place, hears = tmp_path / "run", Heard()
    run = train(data, place, callbacks=[hears], holdout=data / "test", gamma=8.0)
    found = looked_at((place / "report.html").read_text())
    train(data, tmp_path / "bare", report=False, gamma=8.0)
    assert "complete, converged" in found.words
    assert f"dcsvm report {place}" in found.words
    assert [text for text in hears.said if "report" in text] == ["writing the report"]
    assert not (tmp_path / "bare" / "report.html").exists()
    assert run.status()["state"] == "complete"


def test_what_keeps_a_report_from_being_written_is_one_sentence(
    stopped: api.Run, tmp_path: Path, reports: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, hears = copied(stopped, tmp_path / "run"), Heard()
    event = RunEnds(run.place.url, 0.0, "complete", "", converged=True)
    (tmp_path / "run" / "report.html").write_text("mine")
    Reporting(run, [hears]).on_end(event)
    monkeypatch.setattr(reporting, "available", lambda: False)
    Reporting(run, [hears]).on_end(event)
    assert hears.said[0] == "writing the report"
    assert "is no report" in hears.said[1]
    assert "it needs bokeh" in hears.said[2]
    assert (tmp_path / "run" / "report.html").read_text() == "mine"


@pytest.mark.long
def test_a_run_in_memory_has_a_report() -> None:
    place = "memory://report-of-a-run"
    url = "memory://report-data.zarr"
    api.ingest(blobs(200, 0), url)
    run = api.train(url, place, execution=api.Execution(workers=0), quiet=True, gamma=8.0)
    assert run.report() == f"{place}/report.html"
    text = (run.folder.place / "report.html").read_bytes().decode()
    assert looked_at(text).sections == SECTIONS
