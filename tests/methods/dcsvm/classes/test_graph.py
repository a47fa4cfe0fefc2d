"""Runs of many classes with levels, and of one class against the rest."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods import progress
from dcsvm_dask.methods.dcsvm.classes import blocks as class_start
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.runtime.callbacks import Callback
from dcsvm_dask.runtime.events import Advanced
from dcsvm_dask.runtime.execution import Execution
from tests.left import forget_state
from tests.marks import half, long
from tests.rounding import at_most

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

HERE = Execution(workers=0)
KERNELS: dict[str, Any] = {
    "laplacian": {"kernel": "laplacian"},
    "poly": {"kernel": "poly", "gamma": 0.1, "coef0": 1.0},
    "linear": {"kernel": "linear"},
}
GAMMA, C, ROWS = 0.1, 5.0, 1200
Train = Callable[..., api.Run]


@pytest.fixture(scope="module")
def data(digits: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = digits
    place = tmp_path_factory.mktemp("digits")
    # Some rows come twice: those are one variable.
    api.ingest(
        (np.concatenate([X[:ROWS], X[:50]]), np.concatenate([y[:ROWS], y[:50]])), place / "d.zarr"
    )
    api.ingest((X[ROWS:], y[ROWS:]), place / "t.zarr")
    return place


@pytest.fixture
def train(data: Path, tmp_path: Path) -> Train:
    def call(name: str = "run", execution: Execution = HERE, **words: Any) -> api.Run:
        words = {"gamma": GAMMA, "C": C, "tol": 1e-4, **words}
        return api.train(data / "d.zarr", tmp_path / name, execution=execution, quiet=True, **words)

    return call


@pytest.mark.parametrize(
    ("multiclass", "fit_intercept"),
    [("ovr", False), *(long(*case) for case in (("ovr", True), ("ovo", False), ("ovo", True)))],
)
def test_levels_change_no_answer(
    train: Train, digits: Any, multiclass: str, fit_intercept: bool
) -> None:
    X, _ = digits
    how: dict[str, Any] = {"multiclass": multiclass, "fit_intercept": fit_intercept}
    whole = train("whole", **how)
    leveled = train("leveled", clusters=(12, 3), **how)
    name = "model-pairs" if multiclass == "ovo" else "model-rest"
    one, other = (run.status()["stages"][name] for run in (whole, leveled))
    assert other["converged"]
    assert other["objective"] == pytest.approx(one["objective"], rel=1e-6)
    assert other["gap"] == pytest.approx(one["gap"], abs=1e-4 * abs(one["objective"]))
    np.testing.assert_array_equal(whole.predict(X), leveled.predict(X))
    coef = [run.folder.node(name, "commit").read("alpha") for run in (whole, leveled)]
    np.testing.assert_allclose(coef[1], coef[0], atol=0.02)


def test_one_against_the_rest_is_that_of_scikit_learn(train: Train, digits: Any) -> None:
    X, y = digits
    rows = np.concatenate([X[:ROWS], X[:50]]), np.concatenate([y[:ROWS], y[:50]])
    theirs = OneVsRestClassifier(SVC(gamma=GAMMA, C=C, tol=1e-4)).fit(*rows)
    run, unseen = train(multiclass="ovr", fit_intercept=True), X[ROWS:]
    values = run.decision_function(unseen)
    np.testing.assert_allclose(values, theirs.decision_function(unseen), atol=2e-3)
    np.testing.assert_array_equal(run.predict(unseen), theirs.predict(unseen))
    assert run.status()["stages"]["model-rest"]["rest"] == 10
    for give in (run.to_sklearn, lambda: run.export("m.model")):
        with pytest.raises(InputError, match="one-vs-rest"):
            give()


@pytest.mark.one_quick
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_an_early_model_is_that_of_svc_in_every_cluster(
    train: Train, digits: Any, multiclass: str
) -> None:
    X, y = digits
    run = train(
        multiclass=multiclass, fit_intercept=True, clusters=(25,), stop_at=1, level_tol=1e-4
    )
    assert (run.status()["model"], run.status()["level"]) == ("level-1", 1)
    model = load_model(run.folder, "level-1")
    assert model.rule is not None
    assert model.rule.class_rows is not None
    rows = np.concatenate([X[:ROWS], X[:50]])
    codes = np.concatenate([y[:ROWS], y[:50]])
    weight = np.concatenate([np.full(50, 2.0), np.ones(ROWS - 50)])
    inside, unseen = model.rule.blocks_of(X[:ROWS]), model.rule.blocks_of(X[ROWS:])
    found, seen = run.predict(X[ROWS:]), set()
    for block in np.unique(unseen):
        own = inside == block
        np.testing.assert_array_equal(
            model.rule.class_rows[block], np.bincount(y[:ROWS][own], minlength=10)
        )
        classes = np.unique(y[:ROWS][own])
        seen.add(len(classes))
        wanted = np.full(np.count_nonzero(unseen == block), classes[0])
        if len(classes) > 1:
            svc = SVC(gamma=GAMMA, C=C, tol=1e-4)
            if multiclass == "ovr":
                own = model.rule.blocks_of(rows) == block
                svc = OneVsRestClassifier(svc).fit(rows[own], codes[own])
            else:
                svc.fit(X[:ROWS][own], y[:ROWS][own], sample_weight=weight[own])
            wanted = svc.predict(X[ROWS:][unseen == block])
        np.testing.assert_array_equal(found[unseen == block], wanted)
    assert 1 in seen  # a cluster of one class
    assert max(seen) > 3
    accuracy = run.evaluate((X[ROWS:], y[ROWS:]))["accuracy"]
    assert accuracy == np.mean(found == y[ROWS:]) > 0.9
    naive = run.evaluate((X[ROWS:], y[ROWS:]), mode="naive")
    assert (naive["mode"], naive["level"]) == ("naive", 1)


def test_tasks_beside_each_other_read_a_start_once(
    train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, made = train(clusters=(4,), stop_at=1), []

    class Counted(class_start.Start):
        def __init__(self, *given: Any) -> None:
            made.append(given)
            time.sleep(0.05)
            super().__init__(*given)

    monkeypatch.setattr(class_start, "Start", Counted)
    class_start._read_start.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: class_start.read_start(run.folder, "level-1"), range(4)))
    class_start._read_start.cache_clear()
    assert len(made) == 1
    assert all(one is found[0] for one in found)


@pytest.mark.long
def test_an_early_run_goes_on_to_the_exact_model(train: Train, digits: Any) -> None:
    X, _ = digits
    early = train(clusters=(12, 3), stop_at=2)
    attempt = early.folder.node("level-2", "commit").attempt
    assert early.status()["model"] == "level-2"
    exact = api.resume(early.url, execution=HERE, quiet=True, stop_at=0)
    assert exact.status()["model"] == "model-pairs"
    assert exact.folder.node("level-2", "commit").attempt == attempt
    np.testing.assert_array_equal(exact.predict(X), train("whole").predict(X))
    values = exact.decision_function(X, mode="early", level=2)
    np.testing.assert_array_equal(values, early.decision_function(X, mode="early", level=2))
    with pytest.raises(InputError, match="committee: is for two classes"):
        api.resume(early.url, execution=HERE, quiet=True, committee=True)


@pytest.mark.long
@pytest.mark.parametrize(("multiclass", "kernel"), half(["ovr", "ovo"], KERNELS))
def test_sparse_rows_have_the_levels_of_dense_ones(
    kernel: dict[str, Any], multiclass: str, digits: Any, tmp_path: Path
) -> None:
    X, y = digits
    words: dict[str, Any] = {"clusters": (4,), "multiclass": multiclass, "tol": 1e-4, **kernel}
    words |= {"class_weight": {3: 0.5, 8: 2.0}, "execution": HERE, "quiet": True}
    runs = []
    for name, rows in (("dense", X[:400]), ("sparse", sparse.csr_array(X[:400]))):
        api.ingest((rows, y[:400]), tmp_path / f"{name}.zarr")
        runs.append(api.train(tmp_path / f"{name}.zarr", tmp_path / name, **words))
    for mode in ("exact", "early", "naive"):
        one, other = (run.decision_function(X[400:], mode=mode) for run in runs)
        wrong = np.argmax(one, axis=1) != np.argmax(other, axis=1)
        assert wrong.mean() < 0.01
    exact = [run.status()["stages"][run.status()["model"]]["objective"] for run in runs]
    assert exact[0] == pytest.approx(exact[1], rel=1e-6)


@pytest.mark.long
def test_workers_and_a_resume_change_no_bit(
    train: Train, digits: Any, two_workers: Execution
) -> None:
    X, _ = digits
    how: dict[str, Any] = {"clusters": (12, 3), "fit_intercept": True}
    here, there = train("here", **how), train("there", two_workers, **how)
    wanted, level = here.decision_function(X), here.decision_function(X, mode="early")
    np.testing.assert_array_equal(there.decision_function(X), wanted)
    np.testing.assert_array_equal(there.decision_function(X, mode="early"), level)
    for stage in ("model-pairs", "level-1"):
        here.folder.stage(stage).delete()
    forget_state(here.url)
    again = api.resume(here.url, execution=HERE, quiet=True)
    np.testing.assert_array_equal(again.decision_function(X), wanted)
    np.testing.assert_array_equal(again.decision_function(X, mode="early"), level)


@pytest.mark.long
def test_levels_are_scored_reported_and_estimated(
    data: Path, digits: Any, tmp_path: Path, train: Train
) -> None:
    X, y = digits
    run = train(clusters=(12, 3), holdout=data / "t.zarr")
    stages = run.status()["stages"]
    for level in (1, 2):
        accuracy = np.mean(run.predict(X[ROWS:], mode="early", level=level) == y[ROWS:])
        assert stages[f"score-level-{level}"]["accuracy"] == pytest.approx(accuracy)
    # All support vectors are looked at here: the estimate is exact.
    first = stages["level-1"]
    best = stages["model-pairs"]["objective"]
    assert first["objective_error"] == 0.0
    assert at_most(best, first["objective_estimate"])
    assert at_most(first["objective_estimate"] - best, first["gap_estimate"])
    found = tables(run.folder, compute=True)
    assert found["predictions"]["accuracy"] == [
        stages[f"score-{name}"]["accuracy"] for name in ("level-2", "level-1", "model-pairs")
    ]
    confusion = np.array(found["confusion"]["rows"]).reshape(3, 10, 10)
    matrix = run.evaluate((X[ROWS:], y[ROWS:]))["confusion"]["matrix"]
    np.testing.assert_array_equal(confusion[2], matrix)
    recall = np.array(found["class_scores"]["recall"]).reshape(3, 10)[2]
    np.testing.assert_allclose(recall, np.diag(matrix) / np.sum(matrix, axis=1))
    modes = found["prediction_modes"]
    assert modes["mode"] == ["early", "naive", "early", "naive", "exact"]
    assert modes["accuracy"][4] == pytest.approx(stages["score-model-pairs"]["accuracy"])
    page = Path(run.report(tmp_path / "report.html")).read_text()
    assert "By class: exact" in page
    assert "Only models of two classes have a decision function" in page


@pytest.mark.parametrize(
    "words", [{}, {"clusters": (12, 3), "stop_at": 2}, long({"clusters": (12, 3)})]
)
def test_the_plan_is_what_is_done(data: Path, train: Train, words: dict[str, Any]) -> None:
    run = train(multiclass="ovr", **words)
    planned = api.plan(data / "d.zarr", gamma=GAMMA, C=C, multiclass="ovr", **words)
    assert [stage.name for stage in planned.graph()] == list(run.status()["stages"])


def test_the_command_says_what_is_done(data: Path, tmp_path: Path) -> None:
    words = ["train", data / "d.zarr", "--run", tmp_path / "run", "--gamma", GAMMA, "--workers", 0]
    words += ["--multiclass", "ovr", "--clusters", "4", "--stop-at", 1, "--no-report"]
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(main, ["status", str(tmp_path / "run")])
    assert "level-1" in shown.output
    assert "complete" in shown.output
    out = tmp_path / "out.csv"
    words = ["predict", tmp_path / "run", data / "t.zarr", "--out", out, "--workers", 0]
    done = CliRunner().invoke(main, list(map(str, words)))
    assert done.exit_code == 0, done.output
    assert out.read_text().startswith("label,decision_0,decision_1")


@pytest.mark.long
def test_usps_with_levels_is_usps_without(
    shared_data: Callable[[str], Any], tmp_path: Path
) -> None:
    found = shared_data("usps")
    X, y = found["X_train"].astype(np.float32), found["y_train"].astype(np.int64)
    data = tmp_path / "d.zarr"
    api.ingest((X[:7000], y[:7000]), data)
    how: dict[str, Any] = {"gamma": 0.02, "C": 10.0, "execution": HERE, "quiet": True}
    whole = api.train(data, tmp_path / "whole", **how)
    leveled = api.train(data, tmp_path / "leveled", levels=1, k=4, **how)
    objectives = [run.status()["objective"] for run in (whole, leveled)]
    assert objectives[1] == pytest.approx(objectives[0], rel=1e-6)
    predicted = [run.predict(X[7000:]) for run in (whole, leveled)]
    assert np.mean(predicted[0] != predicted[1]) < 1e-3
    accuracy = np.mean(leveled.predict(X[7000:], mode="early") == y[7000:])
    assert accuracy > np.mean(predicted[0] == y[7000:]) - 0.02


@pytest.mark.long
def test_a_machine_of_few_support_vectors_is_solved_whole(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    # Sixteen heaps far from each other, each of one class.
    heap, centres = rng.integers(0, 16, 13_000), 8.0 * rng.standard_normal((16, 5))
    X = (centres[heap] + 0.1 * rng.standard_normal((13_000, 5))).astype(np.float32)
    y = heap % 3
    api.ingest((X, y), tmp_path / "d.zarr")
    how: dict[str, Any] = {"gamma": 1.0, "multiclass": "ovr", "execution": HERE, "quiet": True}
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", **how)
    assert run.folder.header["settings"]["clusters"] == [8]
    stages = run.status()["stages"]
    assert not stages["probe"]["smooth"]
    assert stages["probe"]["support_share"] < 0.25
    assert not any(name.startswith("level") for name in stages)
    with pytest.raises(InputError, match="went on without levels"):
        api.resume(run.url, execution=HERE, quiet=True, stop_at=1)


def test_svms_report_how_far_they_are(train: Train, monkeypatch: pytest.MonkeyPatch) -> None:
    class Heard(Callback):
        def __init__(self) -> None:
            self.shares: dict[str, list[float]] = {}

        def on_advance(self, event: Advanced) -> None:
            self.shares.setdefault(event.node, []).append(event.share)

    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.0)
    heard = Heard()
    train(levels=0, multiclass="ovr", callbacks=[heard])
    assert len(heard.shares) == 10
    for reported in heard.shares.values():
        assert reported == sorted(reported)
        assert reported[-1] > 0.9
