"""`easy`: from rows to a model beside baselines; what it leaves where it is interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest

from dcsvm_dask import api
from dcsvm_dask.api import easy_run, easy_search
from dcsvm_dask.api.easy_search import SEARCH_SHARE, Clock
from dcsvm_dask.api.searching import search
from dcsvm_dask.cli.easy import summary
from dcsvm_dask.errors import InputError
from dcsvm_dask.pipeline.rounds import EQUAL
from dcsvm_dask.runtime.compilation import warm_up
from dcsvm_dask.runtime.compiled_parts import compiled_for
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet

HOW: dict[str, Any] = {"execution": Execution(workers=0), "quiet": True, "report": False}


@pytest.fixture
def bank(shared_data: Callable[[str], Any], tmp_path: Path) -> Path:
    """Give a table of 600 customers in three regions."""
    found = shared_data("bank_marketing")
    table = pd.DataFrame(found["X_train"][:600, :12]).add_prefix("f")
    table["region"] = np.array(["north", "south", "east"])[np.arange(600) % 3]
    table["bought"] = np.array(["no", "yes"])[(found["y_train"][:600] == 2).astype(int)]
    path = tmp_path / "bank.csv"
    table.to_csv(path, index=False)
    return path


def test_a_table_with_words_becomes_a_model_beside_baselines(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: set[str] = set()

    def noted(parts: Any, reported: Any) -> None:
        compiled.update(parts)
        warm_up(parts, reported)

    monkeypatch.setattr(easy_run, "warm_up", noted)
    run = api.easy(bank, tmp_path / "out", label="bought", minutes=1, **HOW)
    figures, data = run.figures, DataSet.open(tmp_path / "out" / "data.zarr")
    test = DataSet.open(tmp_path / "out" / "data.zarr" / "test")
    assert (data.n_rows, test.n_rows, data.n_features) == (480, 120, 15)
    most = np.argmax(data.counts)
    assert figures["majority"] == test.counts[most] / 120
    assert figures["test"] == {
        **run.evaluate(test.url),
        "ms_per_row": figures["test"]["ms_per_row"],
    }
    linear = api.open_run(tmp_path / "out" / "linear")
    assert figures["linear_svm"] == linear.evaluate(test.url)["accuracy"]
    # Its time is not for compiling.
    assert set(compiled_for(linear.folder, Execution(workers=0))) <= compiled
    settings = run.folder.header["settings"]
    assert figures["gamma"] == settings["kernel"]["gamma"]
    assert run.status()["converged"]
    left = json.loads((tmp_path / "out" / "easy.json").read_text())
    assert (left["state"], left["figures"]) == ("complete", figures)


def test_class_weights_choose_and_compare_by_balanced_accuracy(bank: Path, tmp_path: Path) -> None:
    words: dict[str, Any] = {"label": "bought", "class_weight": "balanced", "minutes": 0.2}
    run = api.easy(bank, tmp_path / "out", **words, **HOW)
    figures, test = run.figures, run.evaluate(tmp_path / "out" / "data.zarr" / "test")
    assert (figures["score"], figures["majority"]) == ("balanced_accuracy", 0.5)
    recalls = {one["label"]: (one["recall"], one["rows"]) for one in test["by_class"]}
    variances = [share * (1 - share) / n for share, n in recalls.values()]
    assert figures["error"] == pytest.approx(np.sqrt(sum(variances)) / 2)
    linear = api.open_run(tmp_path / "out" / "linear")
    balanced = linear.evaluate(tmp_path / "out" / "data.zarr" / "test")["balanced_accuracy"]
    assert figures["linear_svm"] == balanced
    for one in (run, linear, api.open_run(tmp_path / "out" / "search-01")):
        weights = one.folder.header["settings"]["class_weight"]
        assert weights[1] > 2 * weights[0]
    row = api.open_run(tmp_path / "out" / "search-01").results()[0]
    assert row["exact_balanced_accuracy"] == row["balanced_accuracy"]
    shown = summary(run)
    assert shown.startswith(f"balanced accuracy  {test['balanced_accuracy']:.4f} +- ")
    share = f"the largest class has {test['largest_class']:.4f} of the rows"
    assert f"\naccuracy           {test['accuracy']:.4f}; {share}\n" in shown


def test_class_weights_and_scores_that_cannot_be_leave_nothing(bank: Path, tmp_path: Path) -> None:
    for words, said in (
        ({"class_weight": {"maybe": 2.0}}, "class-weight must be one of the labels no, yes"),
        ({"scoring": "f1"}, "scoring must be one of accuracy, balanced-accuracy, auc"),
        ({"label": "region", "scoring": "auc"}, "auc is for two classes"),
    ):
        how: dict[str, Any] = {"label": "bought", **words, **HOW}
        with pytest.raises(InputError, match=said):
            api.easy(bank, tmp_path / "out", **how)
        assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_the_best_of_many_classes_is_better_than_the_usual_values_or_they_are_best(
    shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    found = shared_data("usps")
    rows = (found["X_train"][:800], found["y_train"][:800])
    run = api.easy(rows, tmp_path / "out", minutes=2, **HOW)
    assert run.figures["test"]["accuracy"] > 0.85 > 0.4 > run.figures["majority"]
    searches = [api.open_run(place) for place in sorted((tmp_path / "out").glob("search-*"))]
    every = [row for one in searches for row in one.results()]
    best = max(every, key=lambda row: float(row["accuracy"]))
    assert run.figures["cv_score"] >= best["accuracy"] - EQUAL * best["accuracy_error"]
    assert run.figures["cv_score"] >= every[0]["accuracy"]


def test_real_targets_have_r2_and_the_mean_as_baseline(
    shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    found = shared_data("kin40k")
    rows = (found["X_train"][:700], 1000 * found["y_train"][:700] + 5000)
    run = api.easy(rows, tmp_path / "out", task="regression", minutes=1, scale="standard", **HOW)
    figures = run.figures
    assert figures["test"]["r2"] > figures["linear_svm"] + 0.2
    whole = DataSet.open(tmp_path / "out" / "data.zarr")
    test = DataSet.open(tmp_path / "out" / "data.zarr" / "test")
    y, z = (part.read_y(0, part.n_rows) for part in (whole, test))
    expected = 1 - np.sum((z - y.mean()) ** 2) / np.sum((z - z.mean()) ** 2)
    assert figures["mean"] == pytest.approx(expected, abs=1e-9)


def test_an_interrupted_search_says_so_and_the_same_call_goes_on(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[float, ...]] = []

    def stopped(*args: Any, **words: Any) -> Any:
        asked.append(words["C"])
        if len(asked) == 2:
            raise KeyboardInterrupt
        return search(*args, **words)

    monkeypatch.setattr(easy_search, "search", stopped)
    with pytest.raises(KeyboardInterrupt, match="interrupted while searching; the same command"):
        api.easy(bank, tmp_path / "out", label="bought", minutes=1, **HOW)
    left = json.loads((tmp_path / "out" / "easy.json").read_text())
    assert (left["state"], left["interrupted"], len(left["rounds"])) == ("searching", True, 2)
    with pytest.raises(InputError, match="was interrupted while searching; repeat it to go on"):
        api.open_run(tmp_path / "out")
    with pytest.raises(InputError, match=r"begun by another call \(label\).*overwrite=True"):
        api.easy(bank, tmp_path / "out", label="region", minutes=1, **HOW)
    own = {"class_weight": "balanced", "scoring": "auc"}
    with pytest.raises(InputError, match=r"another call \(class-weight, scoring\)"):
        api.easy(bank, tmp_path / "out", label="bought", minutes=1, **own, **HOW)
    run = api.easy(bank, tmp_path / "out", label="bought", minutes=1, **HOW)
    assert asked[:3] == [(1.0,), asked[1], asked[1]]  # the first round is not repeated
    whole = api.easy(bank, tmp_path / "whole", label="bought", minutes=1, **HOW)
    same = ("C", "gamma", "cv_score", "candidates", "linear_svm", "majority")
    assert {k: run.figures[k] for k in same} == {k: whole.figures[k] for k in same}


def test_an_interrupted_training_is_resumed_without_another_search(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words: dict[str, Any] = {"label": "bought", **HOW}
    with monkeypatch.context() as patch:
        patch.setattr(easy_run, "standard_error", _stop)
        with pytest.raises(KeyboardInterrupt, match="interrupted while training"):
            api.easy(bank, tmp_path / "out", minutes=1e-5, **words)
    before = api.open_run(tmp_path / "out" / "model").folder.header
    # There is time for more candidates now, but the training of the best one has begun.
    run = api.easy(bank, tmp_path / "out", minutes=5, **words)
    assert run.folder.header == before
    assert run.figures["candidates"] == 1
    assert run.figures["test"]["n_rows"] == 120


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_linear_svm_that_takes_too_long_is_left_out(
    bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(easy_run, "BASELINE_SHARE", 1e-9)
    run = api.easy(bank, tmp_path / "out", label="bought", minutes=1, **HOW)
    assert run.figures["linear_svm"] is None
    assert "linear SVM         not solved in time" in summary(run)


def test_results_are_replaced_only_where_that_is_asked_for(bank: Path, tmp_path: Path) -> None:
    words: dict[str, Any] = {"label": "bought", "minutes": 0.01, **HOW}
    api.easy(bank, tmp_path / "out", **words)
    with pytest.raises(InputError, match=r"its model is .*/out/model"):
        api.open_run(tmp_path / "out")
    with pytest.raises(
        InputError, match=r"has the results of `dcsvm easy` already.*overwrite=True"
    ):
        api.easy(bank, tmp_path / "out", **words)
    run = api.easy(bank, tmp_path / "out", overwrite=True, seed=1, **words)
    assert run.folder.header["settings"]["seed"] == 1
    assert run.figures["candidates"] >= 1


def test_other_files_are_never_replaced(bank: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(InputError, match="neither empty nor a folder of `dcsvm easy`"):
            api.easy(bank, tmp_path / "out", label="bought", overwrite=overwrite, **HOW)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_table_that_cannot_be_read_leaves_nothing(bank: Path, tmp_path: Path) -> None:
    text = bank.read_text().splitlines()
    bank.write_text("\n".join([*text[:5], "," + text[5].partition(",")[2], *text[6:]]) + "\n")
    with pytest.raises(InputError, match="missing"):
        api.easy(bank, tmp_path / "out", label="bought", **HOW)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_features_that_are_all_constant_are_refused_before_the_search(
    task: str, tmp_path: Path
) -> None:
    rows = np.tile([3.0, 0.1], (100, 1)), np.arange(100) % 2
    with pytest.raises(InputError, match=r"every feature has the same value in all rows.*--label"):
        api.easy(rows, tmp_path / "out", task=task, **HOW)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"task": "one-class"}, "classification or regression.*dcsvm search"),
        ({"minutes": 0}, "minutes must be a positive number, got 0"),
        ({"out": None}, "name the folder of the results"),
    ],
    ids=["task", "minutes", "out"],
)
def test_what_cannot_be_is_refused(words: dict[str, Any], message: str, tmp_path: Path) -> None:
    rows = np.eye(8), np.arange(8) % 2
    with pytest.raises(InputError, match=message):
        api.easy(rows, **{"out": tmp_path / "out", **words})


def test_the_end_of_the_search_only_comes_nearer() -> None:
    clock = Clock(100.0)
    assert clock.search_end == 100.0
    ends = []
    for seconds in (10.0, 30.0, 5.0, 1000.0):
        clock.reserve(seconds)
        ends.append(clock.search_end)
    assert ends == [90.0, 70.0, 70.0, SEARCH_SHARE * 100.0]


def test_compilation_is_on_the_clock_but_no_part_of_the_time() -> None:
    clock = Clock(100.0)
    with clock.without_compilation():
        numba.njit(lambda x: x + 1)(1)
    assert 0.0 < clock.compiling <= clock.elapsed()
    clock.compiling = 30.0
    assert clock.search_end == 130.0
    assert clock.left() == pytest.approx(130.0 - clock.elapsed(), abs=1.0)
    assert clock.spent() == pytest.approx(clock.elapsed() - 30.0, abs=1.0)


def test_the_end_of_a_search_says_what_time_is_left_and_why_it_is_not_used() -> None:
    assert easy_search._why(0, 20.0) == "nothing is left to try"
    assert easy_search._why(3, 11.2) == "no further round fits the remaining 11 s"
    assert easy_search._why(3, -2.0) == "its time is used up"
