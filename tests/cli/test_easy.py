"""`dcsvm easy`: what it prints, and the commands that it names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.cli.easy import _time, advised, linear_command, summary
from tests.command_line import invoke

ROWS = [{"rows": 70, "recall": 1.0}, {"rows": 30, "recall": 0.0}]
FEW = ("--workers", 0, "--no-report", "--minutes", 1)


@pytest.fixture
def particles(shared_data: Callable[[str], Any], tmp_path: Path) -> Path:
    """Give a table of 500 particles with words in two columns."""
    found = shared_data("magic")
    lines = ["length,width,size,night,particle"]
    for i, (row, kind) in enumerate(zip(found["X_train"][:500], found["y_train"], strict=False)):
        numbers = ",".join(map(str, np.round(row[:3], 5)))
        lines.append(f"{numbers},{('clear', 'cloudy')[i % 2]},{('gamma', 'hadron')[int(kind)]}")
    path = tmp_path / "my particles.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_one_command_trains_and_names_the_next_ones(
    particles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("easy", particles, "--label", "particle", *FEW)
    assert done.exit_code == 0, done.output
    run = tmp_path / "my particles-easy" / "model"
    score = api.open_run(run).evaluate(f"{run.parent}/data.zarr/test")["accuracy"]
    assert done.stdout.startswith(f"accuracy           {score:.4f} +- ")
    for line in ("largest class", "linear SVM", "balanced accuracy"):
        assert f"\n{line} " in done.stdout
    assert "night=cloudy" in invoke("info", run.parent / "data.zarr").stdout
    for reported in (
        "1 min (--minutes)", "first candidate", "training on 400 rows",
        "label: column 'particle'\n", "classes of the training rows: gamma ",
        "column night: 2 categories: clear, cloudy\n",
    ):  # fmt: skip
        assert reported in done.stderr
    # The search and the training have one clock.
    begun = [float(text) for text in re.findall(r"^ *(\d+\.\d) s  ", done.stderr, re.MULTILINE)]
    assert begun == sorted(begun)
    assert re.search(r"s  search until \d+ s at most: ", done.stderr)
    assert re.search(r"s  score-model-.* exact: accuracy", done.stderr)
    commands = [line for line in done.stdout.splitlines() if line.startswith("  dcsvm ")]
    linear = ["train"] if "a linear SVM does as well" in done.stdout else []
    named = [line.split()[1] for line in commands]
    assert named == ["evaluate", "predict", "report", *linear]
    for line in commands[:2]:
        words = shlex.split(line.replace("NEW.csv", shlex.quote(str(particles))))[1:]
        assert invoke(*words).exit_code == 0
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 501
    again = invoke("easy", particles, "--label", "particle", *FEW)
    assert again.exit_code == 2
    assert "give --overwrite to replace them" in again.stderr


def test_json_is_one_object_alone(particles: Path, tmp_path: Path) -> None:
    words = ("--label", "particle", "--out", tmp_path / "out", "--json", "--quiet")
    done = invoke("easy", particles, *words, "--drop", "night", *FEW)
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert found["run"] == str(tmp_path / "out" / "model")
    assert found["test"]["n_rows"] == 100


def test_classes_have_weights_and_another_score(particles: Path, tmp_path: Path) -> None:
    words = ("--label", "particle", "--out", tmp_path / "out", "--json", "--quiet")
    done = invoke(
        "easy", particles, *words, "--class-weight", "hadron=3", "--scoring", "auc", *FEW[:-1], 0.05
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["score"], found["majority"]) == ("roc_auc", 0.5)
    assert 0.0 < found["error"] < 0.1
    settings = api.open_run(found["run"]).folder.header["settings"]
    assert settings["class_weight"] == [1.0, 3.0]


def test_a_time_budget_is_refused(particles: Path) -> None:
    done = invoke("easy", particles, "--time-budget", "5m")
    assert done.exit_code == 2
    assert "--minutes" in done.stderr


def test_the_time_of_compiling_stands_beside_that_of_the_call() -> None:
    assert _time({"seconds": 50.2, "minutes": 1.0, "compile_seconds": 0.0}) == "50 s of 60 s"
    reported = _time({"seconds": 50.2, "minutes": 1.0, "compile_seconds": 59.8})
    assert reported == "50 s of 60 s, and 60 s for compiling, once"


@pytest.mark.parametrize(
    ("accuracy", "said"),
    [(0.71, "always the same answer"), (0.86, "a linear SVM does as well, with"), (0.95, None)],
    ids=["constant", "linear", "better"],
)
def test_a_model_that_is_no_better_than_a_baseline_says_so(
    accuracy: float, said: str | None
) -> None:
    test = {"accuracy": accuracy, "roc_auc": 0.52, "balanced_accuracy": 0.5, "by_class": ROWS}
    figures = {"score": "accuracy", "test": test, "error": 0.02}
    reported = advised({**figures, "majority": 0.7, "linear_svm": 0.85})
    assert reported is None if said is None else said in str(reported)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"roc_auc": 0.8}, "but its AUC of 0.8000 says that the features tell the classes apart"),
        ({"roc_auc": 0.58}, "the features may not tell the label"),
        ({"balanced_accuracy": 0.65}, "but its balanced accuracy of 0.6500 is above 0.5000"),
        ({"balanced_accuracy": 0.52}, "the features may not tell the label"),
    ],
)
def test_rare_classes_are_not_taken_for_features_of_no_use(
    others: dict[str, float], said: str
) -> None:
    rows = [{"rows": 70, "recall": 0.99}, {"rows": 30, "recall": 0.05}]
    test = {"accuracy": 0.71, "balanced_accuracy": 0.52, "by_class": rows, **others}
    figures = {"score": "accuracy", "test": test, "error": 0.02, "majority": 0.7}
    reported = str(advised({**figures, "linear_svm": 0.7}))
    assert said in reported
    assert ("--class-weight balanced" in reported) == ("apart" in reported or "above" in reported)


@pytest.mark.parametrize(
    ("rows", "recall", "reported"),
    [(200, 0.2, True), (200, 0.6, False), (40, 0.2, False), (1500, 0.2, False)],
    ids=["missed", "found", "few rows", "not rare"],
)
def test_a_rare_class_that_is_mostly_missed_is_named(
    rows: int, recall: float, reported: bool
) -> None:
    by_class = [
        {"label": "no", "rows": 2000, "recall": 0.99},
        {"label": "yes", "rows": rows, "recall": recall},
    ]
    test = {"accuracy": 0.92, "roc_auc": 0.8, "balanced_accuracy": 0.6, "by_class": by_class}
    figures = {"score": "accuracy", "test": test, "error": 0.005, "majority": 0.9}
    said = advised({**figures, "linear_svm": 0.9})
    if reported:
        assert str(said).startswith("of the class 'yes' only 20% of the rows are found: for rare")
    else:
        assert said is None


def test_a_search_whose_best_is_a_constant_names_no_direction(
    particles: Path, tmp_path: Path
) -> None:
    lines = particles.read_text().splitlines()
    kept = [line for i, line in enumerate(lines) if not line.endswith("hadron") or i % 7 == 0]
    particles.write_text("\n".join(kept) + "\n")
    words = ("--label", "particle", "--columns", "size", "--out", tmp_path / "out")
    done = invoke("easy", particles, *words, *FEW[:-1], 0.1)
    assert done.exit_code == 0, done.output
    said = " ".join(done.stderr.split())
    assert "hardly more accurate than always predicting the largest class" in said
    assert "is the last one that was tried" not in said + done.stdout


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([], None),
        (["gamma"], "the best gamma is the last one that was tried; more --minutes try others"),
        (["C", "gamma"], "the best C and gamma are the last ones that were tried; more --minutes"),
    ],
    ids=["inside", "gamma", "both"],
)
def test_the_summary_says_where_the_best_candidate_lies_at_the_edge(
    edges: list[str], said: str | None
) -> None:
    test = {"accuracy": 0.9, "balanced_accuracy": 0.9, "roc_auc": 0.95, "by_class": ROWS[:1]}
    figures = {
        "score": "accuracy", "error": 0.01, "majority": 0.7, "linear_svm": 0.8, "edges": edges,
        "test": {**test, "n_rows": 100, "n_support": 40}, "candidates": 9, "C": 16.0, "gamma": 0.25,
        "minutes": 1.0, "seconds": 20.0, "compile_seconds": 0.0,
        "data": "d.zarr", "test_data": "d.zarr/test",
    }  # fmt: skip
    run = SimpleNamespace(url="/data/out/model", figures=figures)
    notes = [line for line in summary(run).splitlines() if line.startswith("note ")]
    assert len(notes) == (said is not None)
    assert said is None or notes[0].removeprefix("note").strip().startswith(said)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, ""),
        ("balanced", " --class-weight balanced"),
        ({"no": 1.0, "may be": 2.5}, " --class-weight 'no=1,may be=2.5'"),
    ],
)
def test_a_linear_svm_on_the_same_rows_is_one_command_away(given: Any, words: str) -> None:
    class Run:
        url = "/data/out/model"

    figures = {"data": "/data/out/data.zarr", "test_data": "/data/out/data.zarr/test"}
    assert linear_command(Run, {**figures, "class_weight": given}) == (
        "dcsvm train /data/out/data.zarr --kernel=linear --run /data/out/model-linear "
        f"--holdout /data/out/data.zarr/test{words}"
    )
