"""The report of a search: the grid as it stands, half filled or whole."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.diagnostics.report.report import report
from dcsvm_dask.diagnostics.report.tables.about import command, parameters
from dcsvm_dask.diagnostics.report.tables.candidates import candidates
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.diagnostics.report.views.search import heat_map, short
from dcsvm_dask.runtime.execution import Execution
from tests.callbacks import StopAt

HERE = Execution(workers=0)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    place = tmp_path_factory.mktemp("cancer") / "d.zarr"
    api.ingest((X, y), place, scale="standard")
    return str(place)


@pytest.fixture(scope="module")
def run(data: str, tmp_path_factory: pytest.TempPathFactory) -> api.Run:
    place = tmp_path_factory.mktemp("searches") / "search"
    return api.search(
        data,
        place,
        C=(0.5, 4.0, 1e3),
        gamma=(2.0**-10, 0.1),
        exact=2,
        block_rows=128,
        fit_intercept=True,
        execution=HERE,
        quiet=True,
        class_weight={1: 0.5},
    )


def test_the_grid_is_drawn(run: api.Run) -> None:
    found = candidates(read_records(run.folder))
    assert found["best"].count(True) == 1
    early = heat_map(found, "early_accuracy", ["gamma"], log=False)
    assert list(early.x_range.factors) == ["0.5", "4", "1000"]
    assert list(early.y_range.factors) == ["2^-10", "0.1"]
    shown = early.renderers[0].data_source.data
    assert len(shown["colour"]) == 6
    exact = heat_map(found, "exact_seconds", ["gamma"], log=True)
    assert len(exact.renderers[0].data_source.data["C"]) == 2
    assert exact.renderers[0].data_source.data["edge_width"].count(3) == 1
    assert heat_map(found, "support", ["gamma"], log=False) is not None
    nothing = {name: [None] * 6 for name in found} | {"C": found["C"], "gamma": found["gamma"]}
    assert heat_map(nothing, "early_accuracy", ["gamma"], log=False) is None


def test_numbers_on_the_axes() -> None:
    forms = {-1.0: "-1", 0.0: "0", 1.0: "1", 0.5: "0.5", 2.0**-10: "2^-10", 1024.0: "2^10"}
    assert [short(value) for value in forms] == list(forms.values())


def test_the_report_shows_it(run: api.Run, tmp_path: Path) -> None:
    text, tables = report(run.folder)
    for title in ("Accuracy by blocks (%)", "Exact accuracy (%)", "Time of exact SVMs"):
        assert title in text
    assert "6 candidates of 6 scored" in text
    assert len(tables["candidates"]["rank"]) == 6
    place = run.report(tmp_path / "report.html", csv=tmp_path / "csv")
    assert Path(place).exists()
    assert (tmp_path / "csv" / "candidates.csv").read_text().startswith("rank,")


def test_the_report_of_a_training_has_no_candidates(data: str, tmp_path: Path) -> None:
    trained = api.train(data, tmp_path / "run", execution=HERE, quiet=True)
    assert report(trained.folder)[1]["candidates"]["rank"] == []


def test_what_is_known_while_it_goes_on(data: str, tmp_path: Path) -> None:
    half = api.search(
        data,
        tmp_path / "half",
        C=(0.5, 4.0),
        gamma=0.1,
        exact=1,
        block_rows=128,
        execution=HERE,
        quiet=True,
        callbacks=[StopAt("early-1")],
    )
    assert half.status()["state"] == "interrupted"
    assert all(row["early_accuracy"] is not None for row in half.results())
    assert all(row["exact_accuracy"] is None for row in half.results())
    assert "2 candidates of 2 scored" in report(half.folder)[0]
    shown = CliRunner().invoke(main, ["status", half.url])
    assert shown.exit_code == 0
    assert "~" in shown.output


def repeated(run: api.Run, place: Path) -> api.Run:
    """Carry out the command of a search's report."""
    words = shlex.split(command(read_records(run.folder)))[1:]
    words[words.index("AGAIN")] = str(place)
    done = CliRunner().invoke(main, [*words, "--workers", "0", "--quiet"])
    assert (done.exit_code, done.stdout) == (0, "")
    return api.open_run(place)


def test_machines_against_the_rest_are_shown_and_searched_again(tmp_path: Path) -> None:
    from sklearn.datasets import load_wine

    api.ingest(load_wine(return_X_y=True), tmp_path / "d.zarr", scale="standard")
    words: dict[str, Any] = {"C": (0.5, 4.0), "gamma": 0.1, "multiclass": "ovr", "quiet": True}
    run = api.search(tmp_path / "d.zarr", tmp_path / "run", execution=HERE, **words)
    shown = parameters(read_records(run.folder))
    assert dict(zip(shown["name"], shown["value"], strict=True))["multiclass"] == "ovr"
    assert repeated(run, tmp_path / "again").folder.digest == run.folder.digest


def test_the_command_makes_the_same_search_again(run: api.Run, tmp_path: Path) -> None:
    again = repeated(run, tmp_path / "again")
    for one, other in zip(run.results(), again.results(), strict=True):
        assert (one["splits"], one["rank"]) == (other["splits"], other["rank"])
    assert again.folder.digest == run.folder.digest


def test_the_command_prints_the_grid(data: str, tmp_path: Path) -> None:
    words = ["search", data, "--run", str(tmp_path / "s"), "--workers", "0", "--no-refit"]
    given = [*words, "--C", "2^-1:8:2^2", "--gamma", "0.1,2^-6", "--cv", "3", "--exact", "0"]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0, done.output
    assert ["gamma", "C", "0.5", "C", "2", "C", "8"] in map(str.split, done.stdout.splitlines())
    assert "best       C " in done.stdout
    assert (
        CliRunner().invoke(main, ["resume", str(tmp_path / "s"), "--workers", "0"]).exit_code == 0
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--C", "big"],
            "or a range FROM:TO:FACTOR like 2^-5:2^15:2^2, got 'big'",
        ),
        (
            ["--gamma", "1:0.1:2"],
            "or a range FROM:TO:FACTOR like 2^-5:2^15:2^2, got '1:0.1:2'",
        ),
        (["--gamma", "1:2"], "must be numbers like"),
        (["--gamma", "0,03"], "decimals need a point: 0.03, got '0,03'"),
        (["--cv", "3", "--validation", "x"], "give one of them"),
        (["--exact", "some"], "exact must be a number or all, got 'some'"),
        (
            ["--degree", "1e999", "--kernel", "poly"],
            "or a range FROM:TO:FACTOR like 2^-5:2^15:2^2, got '1e999'",
        ),
        (
            ["--C", "nan"],
            "or a range FROM:TO:FACTOR like 2^-5:2^15:2^2, got 'nan'",
        ),
        (["--degree", "2.5", "--kernel", "poly"], "degree"),
        (["--kernel", "linear", "--gamma", "1"], "has no such parameter"),
    ],
)
def test_wrong_words_are_refused(data: str, tmp_path: Path, words: list[str], said: str) -> None:
    place = tmp_path / "s"
    done = CliRunner().invoke(main, ["search", data, "--run", str(place), *words])
    assert done.exit_code == 2
    assert said in done.stderr
    assert not place.exists()
