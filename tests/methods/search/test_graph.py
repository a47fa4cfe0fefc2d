"""Searches: scores are SVC's on the same folds; few blocks, resumes and workers change nothing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.api import searching
from dcsvm_dask.cli import main
from dcsvm_dask.diagnostics.search import grid
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.search import held_out
from dcsvm_dask.methods.search.held_out import read_split
from dcsvm_dask.methods.search.split import stratified
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.rows import RowArray
from tests.marks import long, soak

pytestmark = pytest.mark.usefixtures("few_rows_a_task")

HERE = Execution(workers=0)
COSTS, GAMMAS = (0.5, 8.0, 64.0), (0.25, 4.0)
Search = Callable[..., api.Run]


@pytest.fixture(scope="module")
def rows(demo_rows: Callable[..., Path]) -> tuple[np.ndarray, np.ndarray]:
    data = DataSet.open(demo_rows(1500))
    return np.asarray(data.rows.read(0, 1500)), data.read_codes(0, 1500)


@pytest.fixture(scope="module")
def data(rows: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("search") / "d.zarr"
    X, y = rows
    api.ingest((X[:1100], y[:1100]), place, test=(X[1100:], y[1100:]))
    return str(place)


@pytest.fixture
def search(data: str, tmp_path: Path) -> Search:
    def call(name: str = "search", place: str = data, **words: Any) -> api.Run:
        words = {"C": COSTS, "gamma": GAMMAS, "fit_intercept": True, "tol": 1e-4, **words}
        words = {"refit": False, "execution": HERE, "cv": 3, **words}
        if "validation" in words:
            del words["cv"]
        return api.search(place, tmp_path / name, quiet=True, **words)

    return call


def of_svc(X: np.ndarray, y: np.ndarray, folds: Any) -> dict[tuple[float, float], np.ndarray]:
    """Return the accuracy of SVC in each fold, by C and gamma."""
    found = GridSearchCV(SVC(tol=1e-4), {"C": COSTS, "gamma": GAMMAS}, cv=folds).fit(X, y)
    splits = np.array([found.cv_results_[f"split{k}_test_score"] for k in range(found.n_splits_)])
    return {
        (one["C"], one["gamma"]): splits[:, k] for k, one in enumerate(found.cv_results_["params"])
    }


def fold_of_row(run: api.Run) -> np.ndarray:
    return run.folder.node("split", "commit").read("fold_of_row")


def assert_scores(run: api.Run, wanted: dict[tuple[float, float], np.ndarray], rows: int) -> None:
    for row in run.results():
        assert row["solved"]
        # A row on the border may fall to either side.
        close = np.abs(np.array(row["splits"]) - wanted[row["C"], row["gamma"]])
        assert close.max() <= 1.01 / rows
        assert row["exact_accuracy"] == pytest.approx(np.mean(row["splits"]))


def test_scores_of_one_block_are_those_of_svc(search: Search, rows: Any) -> None:
    X, y = rows[0][:1100], rows[1][:1100]
    run = search()
    assert run.status()["state"] == "complete"
    assert_scores(run, of_svc(X, y, PredefinedSplit(fold_of_row(run))), 366)
    best = [row for row in run.results() if row["best"]]
    assert [row["rank"] for row in best] == [1]
    assert best[0]["accuracy"] == max(row["accuracy"] for row in run.results())


@pytest.mark.long
def test_exact_scores_of_many_blocks_are_those_of_svc(search: Search, rows: Any) -> None:
    X, y = rows[0][:1100], rows[1][:1100]
    run = search(block_rows=256, exact="all")
    assert len(run.folder.node("arrange", "commit").read("block_label")) > 2
    wanted = of_svc(X, y, PredefinedSplit(fold_of_row(run)))
    assert_scores(run, wanted, 366)
    assert "early-1" not in run.status()["stages"]  # there is nothing to rank
    ranked = search("ranked", block_rows=256, exact=5)
    for one, other in zip(run.results(), ranked.results(), strict=True):
        assert abs(other["early_accuracy"] - one["exact_accuracy"]) < 0.06
        assert other["share"] == 1.0
    assert [row["exact_accuracy"] for row in ranked.results()].count(None) == 1


def test_rows_held_out_for_all(search: Search, data: str, rows: Any) -> None:
    X, y = rows
    run = search(validation=f"{data}/test", block_rows=256, exact="all")
    fold = np.full(len(y), -1)
    fold[1100:] = 0
    assert_scores(run, of_svc(X, y, PredefinedSplit(fold)), 400)


@pytest.mark.long
def test_many_classes(search: Search, tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = (X[:700] / 16).astype(np.float32), y[:700]
    # Repeats are one variable: they are held out together and count as they are.
    X, y = np.concatenate([X, X[:40]]), np.concatenate([y, y[:40]])
    api.ingest((X, y), tmp_path / "digits.zarr")
    for name, words in (("one", {}), ("blocks", {"block_rows": 128, "exact": "all"})):
        run = search(name, str(tmp_path / "digits.zarr"), **words)
        fold = fold_of_row(run)
        np.testing.assert_array_equal(fold[700:], fold[:40])
        assert_scores(run, of_svc(X, y, PredefinedSplit(fold)), 225)


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [{}, long({"block_rows": 128, "exact": "all"})], ids=["one", "blocks"]
)
def test_each_class_against_the_rest(search: Search, tmp_path: Path, words: dict[str, Any]) -> None:
    X, y = load_digits(return_X_y=True)
    X, y = (X[:500] / 16).astype(np.float32), y[:500]
    api.ingest((X, y), tmp_path / "digits.zarr")
    run = search("s", str(tmp_path / "digits.zarr"), multiclass="ovr", refit=True, **words)
    folds = PredefinedSplit(fold_of_row(run))
    grid = {"estimator__C": COSTS, "estimator__gamma": GAMMAS}
    found = GridSearchCV(OneVsRestClassifier(SVC(tol=1e-4)), grid, cv=folds).fit(X, y).cv_results_
    wanted = {
        (one["estimator__C"], one["estimator__gamma"]): np.array(
            [found[f"split{fold}_test_score"][k] for fold in range(3)]
        )
        for k, one in enumerate(found["params"])
    }
    assert_scores(run, wanted, 166)
    assert run.best is not None
    assert run.best.decision_function(X[:7]).shape == (7, 10)
    assert run.best.folder.header["settings"]["multiclass"] == "ovr"


@pytest.mark.long
@pytest.mark.parametrize(
    ("is_sparse", "weights", "close"),
    [
        (False, {0: 0.55, 1: 5.1}, 0.03),
        (True, None, 0.012),
        soak(False, None, 0.012),
        soak(True, {0: 0.55, 1: 5.1}, 0.03),
    ],
)
def test_blocks_know_of_each_other_where_the_kernel_is_smooth(
    search: Search, shared_data: Any, tmp_path: Path, is_sparse: bool, weights: Any, close: float
) -> None:
    file = shared_data("ijcnn1")
    X, y = file["X_train"].astype(np.float32)[:12_000], file["y_train"][:12_000] > 0
    held = X[8_000:], y[8_000:]
    api.ingest((X[:8_000], y[:8_000]), tmp_path / "d.zarr", test=held, sparse=is_sparse)
    words: dict[str, Any] = {"C": (2, 64), "gamma": 2.0**-6, "block_rows": 1024, "exact": 0}
    place = str(tmp_path / "d.zarr")
    run = search("s", place, validation=f"{place}/test", class_weight=weights, **words)
    for row in run.results():
        whole = SVC(C=row["C"], gamma=row["gamma"], class_weight=weights)
        exact = whole.fit(X[:8_000], y[:8_000]).score(*held)
        assert row["early_accuracy"] == pytest.approx(exact, abs=close)


def test_halving_looks_at_all_blocks_for_a_few(search: Search) -> None:
    every = search("every", block_rows=128, exact=1)
    half = search("half", block_rows=128, exact=1, halving=True)
    shares = sorted({round(row["share"], 3) for row in half.results()})
    assert shares[-1] == 1.0
    assert len(shares) == 2
    assert sum(row["share"] == 1.0 for row in half.results()) == 2
    assert len({row["share"] for row in every.results()}) == 1
    by_place = {row["candidate"]: row for row in every.results()}
    for row in half.results():  # what was scored by all blocks has the same score either way
        if row["share"] == 1.0:
            assert row["early_accuracy"] == by_place[row["candidate"]]["early_accuracy"]
    ranks = [row["rank"] for row in half.results() if row["exact_accuracy"] is not None]
    assert ranks == [1]


def test_what_is_not_solved_in_its_budget_is_marked(search: Search) -> None:
    run = search(C=(1.0, 1e6), gamma=(1e-3,), budget=1)
    known, lost = run.results()
    assert known["solved"] is False or lost["solved"] is False
    assert "!" in grid(run.results())
    assert run.status()["state"] == "complete"


def test_halving_keeps_as_many_as_are_solved_exactly(search: Search) -> None:
    run = search(block_rows=128, exact=4, halving=True)
    assert sum(row["exact_accuracy"] is not None for row in run.results()) == 4


@pytest.mark.long
@pytest.mark.parametrize("exact", [long(0), "all"])
def test_an_impossible_kernel_is_scored_as_one_that_fails(search: Search, exact: Any) -> None:
    """Of degree 60 and gamma 1e10 no kernel value is finite."""
    words = {"kernel": "poly", "gamma": (0.1, 1e10), "degree": (2, 60), "C": 1.0, "coef0": 1.0}
    run = search(block_rows=256, exact=exact, **words)
    assert run.status()["state"] == "complete"
    by_kernel = {(row["gamma"], row["degree"]): row for row in run.results()}
    lost = by_kernel[1e10, 60]
    assert lost["accuracy"] < 0.2  # what is right was decided by blocks of one class
    assert lost["solved"] is False
    assert by_kernel[0.1, 2]["accuracy"] > 0.6
    assert "!" in grid(run.results())


def test_a_score_of_some_folds_is_no_exact_one(search: Search) -> None:
    run = search(block_rows=256, exact="all", callbacks=[Stop(9)])
    nodes = run.folder.nodes("exact")
    assert 0 < len(nodes) < 18
    done = [run.folder.node("exact", name).record["candidate"] for name in nodes]
    for row in run.results():
        assert (row["exact_accuracy"] is not None) == (done.count(row["candidate"]) == 3)


def test_weights_of_held_out_rows_count(rows: Any, tmp_path: Path) -> None:
    X, y = rows
    rng = np.random.default_rng(0)
    weights = rng.choice([0.0, 0.5, 2.0], 400)
    api.ingest((X[:1100], y[:1100]), tmp_path / "train.zarr")
    api.ingest((X[1100:], y[1100:]), tmp_path / "held.zarr", weights=weights)
    svc = SVC(C=8.0, gamma=4.0, tol=1e-4).fit(X[:1100], y[:1100])
    wanted = svc.score(X[1100:], y[1100:], weights)
    for name, words in (("one", {}), ("blocks", {"block_rows": 256, "exact": "all"})):
        run = api.search(
            tmp_path / "train.zarr",
            tmp_path / name,
            validation=tmp_path / "held.zarr",
            C=8.0,
            gamma=4.0,
            fit_intercept=True,
            tol=1e-4,
            refit=False,
            execution=HERE,
            quiet=True,
            **words,
        )
        assert run.results()[0]["exact_accuracy"] == pytest.approx(wanted, abs=2.1 / weights.sum())


class Stop(api.Callback):
    """Ends a search after some tasks."""

    def __init__(self, after: int) -> None:
        self.left = after

    def on_task(self, event: Any) -> None:
        self.left -= 1
        if self.left == 0:
            raise api.StopRun("enough")


@pytest.mark.one_quick
@pytest.mark.parametrize("after", [long(2), 6, long(9), 14])
def test_a_search_goes_on_where_it_was_stopped(search: Search, after: int) -> None:
    words: dict[str, Any] = {"block_rows": 256, "exact": 2, "halving": True}
    whole = search("whole", **words)
    run = search("stopped", callbacks=[Stop(after)], **words)
    assert run.status()["state"] == "interrupted"
    assert len(run.results()) == 6  # what is known so far
    api.resume(run.url, execution=HERE, quiet=True)
    assert run.status()["state"] == "complete"
    for one, other in zip(run.results(), whole.results(), strict=True):
        times = {"early_seconds", "exact_seconds"}
        assert {k: v for k, v in one.items() if k not in times} == {
            k: v for k, v in other.items() if k not in times
        }


def nearest_to_one(rows: Any, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the held-out rows of each class that are nearest to one of them."""
    X, y = rows[0][1100:], rows[1][1100:]
    order = np.argsort(np.square(X - X[0]).sum(axis=1))
    order = np.concatenate([order[y[order] == code][:many] for code in (0, 1)])
    return X[order], y[order]


def test_blocks_without_held_out_rows_are_left_out(
    search: Search, rows: Any, tmp_path: Path
) -> None:
    few = tmp_path / "few.zarr"
    api.ingest(nearest_to_one(rows, 3), few)
    run = search(validation=few, block_rows=64, halving=True, exact=1)
    assert run.status()["state"] == "complete"
    split = run.folder.node("split", "commit")
    blocks = len(run.folder.node("arrange", "commit").read("block_label"))
    deciding = len(np.unique(split.read("block")))
    assert split.record["deciding"] == deciding <= 6 < blocks
    solved = [
        node.record["blocks"]
        for name in run.folder.nodes("early-1")
        if (node := run.folder.find("early-1", name)) is not None and "blocks" in node.record
    ]
    assert 0 < max(solved) <= deciding
    assert all(row["accuracy"] is not None for row in run.results())
    assert sum(row["share"] == 1.0 for row in run.results()) >= 1


@pytest.mark.parametrize("words", [{}, long({"block_rows": 256, "exact": 2})])
def test_rows_that_validate_may_be_stored_otherwise(
    search: Search, data: str, rows: Any, tmp_path: Path, words: dict[str, Any]
) -> None:
    X, y = rows
    api.ingest((X[:1100], y[:1100]), tmp_path / "sparse.zarr", sparse=True)
    api.ingest((X[1100:], y[1100:]), tmp_path / "held.zarr", sparse=True)
    wanted = search("dense", validation=f"{data}/test", **words).results()
    for name, place, held in (
        ("one", data, tmp_path / "held.zarr"),
        ("other", str(tmp_path / "sparse.zarr"), f"{data}/test"),
    ):
        found = search(name, place, validation=held, refit=True, **words)
        for row, expected in zip(found.results(), wanted, strict=True):
            assert row["accuracy"] == pytest.approx(expected["accuracy"], abs=3.1 / 400)
        assert found.best is not None
        assert found.best.status()["state"] == "complete"


@pytest.mark.long
@pytest.mark.parametrize("words", [{"cv": 3}, {"validation": "test"}])
@pytest.mark.parametrize("exact", [long(0), 2])
def test_how_many_rows_are_decided_at_a_time_changes_nothing(
    search: Search, data: str, monkeypatch: pytest.MonkeyPatch, words: dict[str, Any], exact: int
) -> None:
    words = {key: f"{data}/test" if key == "validation" else value for key, value in words.items()}
    whole = search("whole", block_rows=256, exact=exact, **words).results()
    monkeypatch.setattr(held_out, "PART_VALUES", 1)
    monkeypatch.setattr(held_out, "LEAST_PART_ROWS", 17)
    parts = search("parts", block_rows=256, exact=exact, **words).results()
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one["splits"], other["splits"], atol=1.1 / 366)


def test_tasks_beside_each_other_read_what_is_held_out_once(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, made = search(C=1.0, gamma=1.0), []

    class Counted(held_out.HeldOut):
        def __init__(self, **given: Any) -> None:
            made.append(given)
            time.sleep(0.05)
            super().__init__(**given)

    monkeypatch.setattr(held_out, "HeldOut", Counted)
    held_out._read_split.cache_clear()
    with ThreadPoolExecutor(4) as pool:
        found = set(map(id, pool.map(held_out.read_split, [run.folder] * 4)))
    held_out._read_split.cache_clear()
    assert len(made) == len(found) == 1


def test_goals_of_levels_are_none_of_a_search(search: Search) -> None:
    run = search(C=1.0, gamma=1.0)
    given: list[dict[str, Any]] = [{"stop_at": 1}, {"committee": True}, {"max_rounds": 3}]
    for goals in given:
        with pytest.raises(InputError, match="is a search, which has no such goal"):
            api.resume(run.url, execution=HERE, quiet=True, **goals)
    api.resume(run.url, execution=HERE, quiet=True, stop_at=0, committee=False)


def test_how_many_rows_are_clustered_is_an_option_of_the_command(data: str, tmp_path: Path) -> None:
    words = ["--C", "1,8", "--gamma", "1", "--block-rows", "256", "--exact", "0", "--no-refit"]
    flags = ["--n-samples-clustering", "300", "--workers", "0", "--quiet", "--no-report"]
    place = tmp_path / "run"
    done = CliRunner().invoke(main, ["search", data, "--run", str(place), *words, *flags])
    assert done.exit_code == 0, done.output
    assert api.open_run(place).folder.header["settings"]["n_samples_clustering"] == 300


def test_a_search_that_is_stopped_says_what_stays(search: Search) -> None:
    run = search(block_rows=256, callbacks=[Stop(6)])
    assert "scores so far are kept" in run.status()["message"]


@pytest.mark.long
def test_workers_change_nothing(search: Search, two_workers: Execution) -> None:
    words: dict[str, Any] = {"block_rows": 256, "exact": 2}
    one = search("here", **words).results()
    two = search("there", execution=two_workers, **words).results()
    for a, b in zip(one, two, strict=True):
        assert (a["splits"], a["rank"], a["support"]) == (b["splits"], b["rank"], b["support"])


def test_the_best_is_trained(search: Search, data: str, rows: Any) -> None:
    run = search(refit=True, class_weight={1: 2.0})
    best = next(row for row in run.results() if row["best"])
    assert run.best is not None
    settings = run.best.folder.header["settings"]
    assert (settings["C"], settings["kernel"]["gamma"]) == (best["C"], best["gamma"])
    X, y = rows
    svc = SVC(C=best["C"], gamma=best["gamma"], class_weight={1: 2.0}, tol=1e-4)
    svc.fit(X[:1100], y[:1100])
    np.testing.assert_array_equal(run.best.predict(X[1100:]), svc.predict(X[1100:]))
    shutil.rmtree(run.best.url)  # killed before it was trained
    assert run.best is None
    api.resume(run.url, execution=HERE, quiet=True)
    assert run.best is not None
    assert run.best.status()["converged"]


def test_other_held_out_rows_are_refused(
    search: Search, data: str, rows: Any, tmp_path: Path
) -> None:
    X, y = rows
    held = tmp_path / "held"
    shutil.copytree(data, held)
    place = str(held / "test")
    run = search(validation=place, block_rows=256, callbacks=[Stop(6)])
    assert run.status()["state"] == "interrupted"
    shutil.rmtree(held)
    api.ingest((X[:1100], y[:1100]), held, test=(X[1100:1200], y[1100:1200]))
    with pytest.raises(Exception, match="are others now"):
        api.resume(run.url, execution=HERE, quiet=True)


@pytest.mark.one_quick
@pytest.mark.parametrize("form", ["dense", "sparse", "weighted"])
def test_the_task_of_a_block_reads_its_own_held_out_rows_only(
    form: str, search: Search, rows: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (X, y), place = rows, str(tmp_path / "held.zarr")
    part: Any = csr_array if form == "sparse" else np.asarray
    weights = 1.0 + np.arange(400) % 7 if form == "weighted" else np.ones(400)
    api.ingest((part(X[:1100]), y[:1100]), tmp_path / "d.zarr")
    api.ingest((part(X[1100:]), y[1100:]), place, weights=weights)
    run = search("s", f"{tmp_path}/d.zarr", validation=place, block_rows=64, callbacks=[Stop(6)])
    held, read = read_split(run.folder), RowArray.read
    assert held.data is not None
    assert len(held.deciding) > 5
    rows_read: list[str] = []

    def spy(self: RowArray, start: int, stop: int) -> Any:
        rows_read.extend([self.place.url] * (stop - start))
        return read(self, start, stop)

    wanted = {number: np.flatnonzero(held.block == number) for number in held.deciding}
    taken = {number: held.data.rows.take(index) for number, index in wanted.items()}
    monkeypatch.setattr(RowArray, "read", spy)
    for number, index in wanted.items():
        found = list(held.outside(number, 10))
        assert [len(codes) for _, codes, _ in found[:-1]] == [10] * (len(found) - 1)
        stacked = np.concatenate([z.toarray() if form == "sparse" else z for z, _, _ in found])
        ours = taken[number].toarray() if form == "sparse" else taken[number]
        np.testing.assert_array_equal(stacked, ours)
        codes = np.concatenate([codes for _, codes, _ in found])
        np.testing.assert_array_equal(codes, held.data.take_codes(index))
        counts = np.concatenate([counts for _, _, counts in found])
        np.testing.assert_array_equal(counts, weights[index])
    assert len(rows_read) == held.data.n_rows
    assert not [url for url in rows_read if url.startswith(place)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"C": (0.0, 1.0)}, "C"),
        ({"gamma": ("a",)}, "gamma"),
        ({"gamma": 1.0, "kernel": "linear"}, "linear kernel has no such parameter"),
        ({"degree": 2}, "rbf kernel has no such parameter"),
        ({"cv": 1}, "2 folds"),
        ({"cv": 5000}, "folds at most"),
        ({"exact": -1}, "exact"),
        ({"exact": "most"}, "exact"),
        ({"budget": 0}, "budget"),
        ({"block_rows": 3}, "block-rows"),
        ({"levels": 2}, "levels"),
        ({"C": tuple(range(1, 200)), "gamma": tuple(range(1, 200))}, "candidates at most"),
    ],
)
def test_impossible_searches_leave_nothing(
    search: Search, tmp_path: Path, words: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        search(**words)
    assert not (tmp_path / "search").exists()


def test_a_search_has_no_model_of_its_own(search: Search, rows: Any) -> None:
    run = search(C=1.0, gamma=1.0)
    with pytest.raises(InputError, match=r"best candidate is .*best"):
        run.predict(rows[0][:5])


def test_rows_that_are_trained_on_do_not_validate(search: Search, data: str) -> None:
    with pytest.raises(InputError, match="holds the rows that are trained on"):
        search(validation=data)


def test_a_training_is_no_search(data: str, tmp_path: Path) -> None:
    run = api.train(data, tmp_path / "run", execution=HERE, quiet=True)
    with pytest.raises(InputError, match="is a run of"):
        run.results()


def test_folds_are_stratified() -> None:
    codes = np.repeat([0, 1, 2], [400, 50, 7])
    fold = stratified(codes, 5, seed=0)
    for code in range(3):
        counts = np.bincount(fold[codes == code], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert np.bincount(fold).max() - np.bincount(fold).min() <= 1


def test_blocks_that_memory_has_made_smaller_are_named_in_the_status(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([False, False, True])
    monkeypatch.setattr(searching, "fits", lambda *_: next(answers))
    assert search(exact=0).status()["lowered"] == "--block-rows 1024"
    assert search("usual", exact=0, block_rows=2048).status()["lowered"] == ""
