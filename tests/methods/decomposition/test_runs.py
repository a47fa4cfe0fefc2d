"""Runs of parallel decomposition on real rows: one model, however and wherever steps are taken."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.methods import resources
from dcsvm_dask.runtime import loop_on_cluster, loop_tasks
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.node import Attempt
from tests.command_line import invoke
from tests.left import KilledError, damaged
from tests.marks import long
from tests.methods.decomposition.runs import (
    HERE,
    ROWS,
    assert_same_model,
    last_point,
    model_of,
    sets_of,
)
from tests.methods.linear.runs import Killing

Train = Callable[..., api.Run]
Rows = tuple[Any, Any]


@pytest.fixture
def rows(magic: Rows) -> Rows:
    return magic[0][:ROWS], magic[1][:ROWS]


CLASSES: dict[str, dict[str, Any]] = {
    "hinge": {},
    "squared hinge": {"loss": "squared_hinge"},
    "one-class": {"task": "one-class", "nu": 0.3},
    "nu": {"svm_type": "nu", "nu": 0.3},
}
TARGETS: dict[str, dict[str, Any]] = {
    "tube": {"task": "regression", "epsilon": 0.1},
    "squared tube": {"task": "regression", "loss": "squared_epsilon_insensitive"},
    "quantile": {"task": "quantile", "quantile": 0.3},
    "nu targets": {"task": "regression", "svm_type": "nu", "nu": 0.4},
}


@pytest.mark.one_quick
@pytest.mark.parametrize("words", [*CLASSES.values(), *TARGETS.values()], ids=[*CLASSES, *TARGETS])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_objective_is_that_of_dcsvm(
    words: dict[str, Any], fit_intercept: bool, rows: Rows, cadata: Rows, train: Train
) -> None:
    if not fit_intercept and ("nu" in words):
        return
    if "nu" not in words:
        words = {**words, "fit_intercept": fit_intercept}
    data = cadata if words.get("task") in ("regression", "quantile") else rows
    mine = train(data, tol=1e-5, **words)
    theirs = train(data, "theirs", method="dcsvm", tol=1e-5, clusters=(4,), **words)
    assert mine.status()["converged"]
    assert model_of(mine)["violation"] <= 1e-5 * mine.folder.header.get("unit", 1.0)
    # That of nu-SVC before the division by rho, to which the tolerance applies.
    one, other = (last_point(run)["objective"] for run in (mine, theirs))
    assert one == pytest.approx(other, rel=1e-6)
    X = data[0][:100]
    if words.get("task") in ("regression", "quantile"):
        found, expected = (run.predict(X, execution=HERE) for run in (mine, theirs))
        np.testing.assert_allclose(found, expected, atol=1e-3)
    else:
        found, expected = (run.decision_function(X, execution=HERE) for run in (mine, theirs))
        np.testing.assert_allclose(found, expected, atol=1e-3 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize(
    "words", [{}, long({"svm_type": "nu", "nu": 0.3}), long({"fit_intercept": True})]
)
def test_commits_change_nothing(
    words: dict[str, Any], rows: Rows, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(rows, "whole", **words)
    monkeypatch.setattr(loop_tasks, "CHECKPOINT_SECONDS", 0.0)
    pieces = train(rows, "pieces", **words)
    assert_same_model(whole, pieces)
    one, other = sets_of(whole), sets_of(pieces)
    assert len(other) > len(one) + 3
    assert one[-2]["sets"] == other[-2]["sets"]
    # What stages computed adds up to what the whole took.
    for count in ("kernel_values", "check_kernel_values"):
        assert whole.status()[count] == pieces.status()[count]
    objectives = [record["objective"] for record in other]
    assert (np.diff(objectives) <= 1e-9 * abs(objectives[-1])).all()


@pytest.mark.parametrize(
    "words",
    [{}, long({"svm_type": "nu", "nu": 0.3}), long({"task": "one-class", "nu": 0.3})],
)
def test_threads_change_nothing(
    words: dict[str, Any], rows: Rows, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = train(rows, "one", **words)
    monkeypatch.setattr(resources, "threads", lambda: 3)
    assert_same_model(one, train(rows, "three", **words))


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        {"fit_intercept": True},
        {"fit_intercept": False},
        {"svm_type": "nu", "nu": 0.3},
        {"loss": "squared_hinge"},
    ],
)
@pytest.mark.parametrize(
    ("each_step", "most_along"), [(False, np.inf), (True, np.inf), (False, 0.0), (True, 0.0)]
)
def test_workers_change_nothing(
    words: dict[str, Any],
    each_step: bool,
    most_along: float,
    rows: Rows,
    train: Train,
    two_workers: Execution,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = train(rows, "here", **words)
    monkeypatch.setattr(loop_on_cluster, "MOST_ALONG", most_along)
    if each_step:
        monkeypatch.setattr(loop_tasks, "CHECKPOINT_SECONDS", 0.0)
    assert_same_model(here, train(rows, "there", execution=two_workers, **words))


@pytest.mark.long
def test_one_worker_changes_nothing(a9a: Rows, train: Train) -> None:
    here = train(a9a, "here")
    assert_same_model(here, train(a9a, "there", execution=Execution(workers=1)))


@pytest.mark.parametrize("cache", [0.0, 0.5])
def test_the_cache_changes_nothing(cache: float, a9a: Rows, train: Train) -> None:
    assert_same_model(train(a9a, "whole"), train(a9a, "little", cache=cache))


def test_sparse_rows_are_dense_ones_up_to_rounding(a9a: Rows, train: Train) -> None:
    one = train(a9a, "csr", tol=1e-5)
    other = train((a9a[0].toarray(), a9a[1]), "dense", data="dense_data", tol=1e-5)
    assert model_of(one)["objective"] == pytest.approx(model_of(other)["objective"], rel=1e-6)


def killed_at(
    number: int, rows: Rows, train: Train, monkeypatch: pytest.MonkeyPatch, **words: Any
) -> bool:
    """Train until the process dies at its n-th commit; return whether it did."""
    commit = Attempt.commit
    with pytest.MonkeyPatch.context() as patch:
        Killing(patch, number)
        try:
            train(rows, f"cut{number}", **words)
        except KilledError:
            return True
        finally:
            monkeypatch.setattr(Attempt, "commit", commit)
    return False


@pytest.mark.long
@pytest.mark.parametrize("words", [{}, {"svm_type": "nu", "nu": 0.3}, {"fit_intercept": True}])
@pytest.mark.parametrize("each_step", [True, False])
def test_a_run_that_died_at_any_commit_ends_at_the_same_model(
    words: dict[str, Any],
    each_step: bool,
    rows: Rows,
    train: Train,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = train(rows, "whole", **words)
    if each_step:
        monkeypatch.setattr(loop_tasks, "CHECKPOINT_SECONDS", 0.0)
    number = 1
    while killed_at(number, rows, train, monkeypatch, **words):
        again = api.resume(tmp_path / f"cut{number}", execution=HERE, quiet=True)
        assert_same_model(whole, again)
        assert damaged(again.folder) == []
        number += 1
    assert number > (8 if each_step else 4)


@pytest.mark.parametrize("words", [{}, long({"svm_type": "nu", "nu": 0.3})])
def test_resumed_to_other_tolerances(words: dict[str, Any], rows: Rows, train: Train) -> None:
    run = train(rows, tol=1e-2, **words)
    before = sets_of(run)
    again = api.resume(run.url, tol=1e-6, execution=HERE, quiet=True)
    assert again.status()["converged"]
    assert model_of(again)["violation"] <= 1e-6
    assert len(sets_of(again)) > len(before)
    fresh = train(rows, "fresh", tol=1e-6, **words)
    # That of nu-SVC before the division by rho, to which the tolerance applies.
    one, other = (last_point(run)["objective"] for run in (again, fresh))
    assert one == pytest.approx(other, rel=1e-6)
    # Nothing is left to do for a larger tolerance.
    computed = again.status()["kernel_values"]
    larger = api.resume(run.url, tol=1e-1, execution=HERE, quiet=True)
    assert larger.status()["converged"]
    assert larger.status()["kernel_values"] - computed <= 2 * ROWS * ROWS
    assert sets_of(larger)[-1]["violation"] <= 1e-1


def test_a_larger_tolerance_while_it_runs_ends_at_once(
    rows: Rows,
    train: Train,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loop_tasks, "CHECKPOINT_SECONDS", 0.0)
    assert killed_at(6, rows, train, monkeypatch, tol=1e-5)
    again = api.resume(tmp_path / "cut6", tol=1e3, execution=HERE, quiet=True)
    assert again.status()["converged"]
    records = sets_of(again)
    assert records[-2]["sets"] == records[-3]["sets"]  # no step more


@pytest.mark.parametrize("words", [{}, long({"svm_type": "nu", "nu": 0.3})])
def test_weights_of_classes_and_rows(words: dict[str, Any], rows: Rows, train: Train) -> None:
    weights = np.random.default_rng(0).uniform(0.5, 2.0, ROWS)
    how: dict[str, Any] = {"class_weight": {1: 3.0, -1: 0.5}, "weights": weights, "tol": 1e-5}
    how |= words
    mine = train(rows, **how)
    theirs = train(rows, "theirs", method="dcsvm", clusters=(4,), **how)
    assert model_of(mine)["objective"] == pytest.approx(model_of(theirs)["objective"], rel=1e-6)


def test_repeated_rows_are_one_variable(rows: Rows, train: Train) -> None:
    X, y = (np.concatenate([one[:400]] * 2) for one in rows)
    mine = train((X, y), tol=1e-5)
    theirs = train(None, "theirs", method="dcsvm", clusters=(4,), tol=1e-5)
    assert mine.status()["variables"] <= 400
    assert model_of(mine)["objective"] == pytest.approx(model_of(theirs)["objective"], rel=1e-6)


def test_held_out_rows_are_scored(rows: Rows, magic: Rows, train: Train, tmp_path: Path) -> None:
    held_out = magic[0][ROWS:], magic[1][ROWS:]
    api.ingest(held_out, tmp_path / "held_out")
    run = train(rows, holdout=tmp_path / "held_out")
    accuracy = run.evaluate(held_out, execution=HERE)["accuracy"]
    assert run.history()[-1]["accuracy"] == pytest.approx(accuracy)


def test_a_tolerance_below_rounding_ends(rows: Rows, train: Train) -> None:
    with pytest.warns(DcsvmWarning, match="give a larger tol"):
        run = train((rows[0][:100], rows[1][:100]), tol=1e-200)
    assert not run.status()["converged"]
    assert "larger tol" in run.status()["message"]
    assert model_of(run)["violation"] < 1e-4


def test_rows_of_one_class_and_few_rows(rows: Rows, train: Train) -> None:
    X, y = rows
    few = np.r_[np.flatnonzero(y > 0)[:3], np.flatnonzero(y < 0)[:2]]
    run = train((X[few], y[few]), tol=1e-6)
    other = train(None, "other", method="dcsvm", tol=1e-6)
    assert model_of(run)["objective"] == pytest.approx(model_of(other)["objective"], rel=1e-6)


@pytest.mark.parametrize("words", [{"size": 2}, {"size": 3}, {"size": 40, "entering": 2}])
def test_small_sets(words: dict[str, Any], rows: Rows, train: Train) -> None:
    data = rows[0][:120], rows[1][:120]
    run = train(data, fit_intercept=True, **words)
    other = train(data, "other", fit_intercept=True)
    assert run.status()["converged"]
    assert model_of(run)["objective"] == pytest.approx(model_of(other)["objective"], rel=1e-3)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"size": 1}, "size must be"),
        ({"size": 50000}, "size must be"),
        ({"size": 10, "entering": 11}, "entering must be at most size, which is 10"),
        ({"entering": 1}, "entering must be"),
        ({"cache": -1.0}, "cache must be"),
        ({"cache": float("nan")}, "cache must be"),
        ({"sizes": 3}, "no such parameter of decomposition"),
    ],
)
def test_what_is_impossible_is_refused(
    words: dict[str, Any], said: str, rows: Rows, train: Train, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        train(rows, **words)
    assert not (tmp_path / "run").exists()


def test_several_classes_are_refused(train: Train, wine: Rows, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"decomposition"):
        train(wine)
    assert not (tmp_path / "run").exists()


def test_a_plan_names_the_stages(rows: Rows, tmp_path: Path) -> None:
    api.ingest(rows, tmp_path / "data")
    found = invoke("plan", str(tmp_path / "data"), "--method", "decomposition", "--gamma", "0.1")
    assert found.exit_code == 0, found.output
    assert "decomposition-001" in found.output
    assert re.search(r"step x \d > commit", found.output)
