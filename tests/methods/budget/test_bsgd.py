"""Runs of descent on a budget on real rows: what they learn, resume, shares, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.methods.budget import options, order
from dcsvm_dask.methods.choice import committed_models
from dcsvm_dask.runtime.announcer import Announcer
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.solvers import MergeTables
from dcsvm_dask.storage.merge_tables import as_bytes
from dcsvm_dask.storage.model import read_model
from dcsvm_dask.storage.node import Attempt
from tests.left import KilledError

ROWS, C, GAMMA = 1500, 8.0, 2.0
HERE = Execution(workers=0)
Rows = tuple[Any, NDArray[Any]]


def rows_of(shared_data: Callable[[str], Any], name: str, n: int = ROWS) -> Rows:
    found = shared_data(name)
    index = np.random.default_rng(0).permutation(len(found["X_train"]))[:n]
    return found["X_train"][index].astype(np.float32), found["y_train"][index]


@pytest.fixture(scope="session")
def classes(shared_data: Callable[[str], Any]) -> Rows:
    return rows_of(shared_data, "ijcnn1")


@pytest.fixture
def train(tmp_path: Path) -> Callable[..., api.Run]:
    def call(rows: Rows, name: str = "run", **how: Any) -> api.Run:
        words = {"method": "bsgd", "C": C, "gamma": GAMMA, "budget": 30, "epochs": 3, **how}
        weights, task = words.pop("weights", None), words.get("task", "classification")
        place, execution = tmp_path / "data", words.pop("execution", HERE)
        if not place.exists():
            api.ingest(rows, place, task=task, weights=weights)
        return api.train(place, tmp_path / name, execution=execution, quiet=True, **words)

    return call


def decide(run: api.Run, rows: Rows) -> NDArray[np.float64]:
    values: NDArray[np.float64] = run.decision_function(
        rows[0], precision="float64", execution=HERE
    )
    return values


def small_stages(monkeypatch: pytest.MonkeyPatch, seconds: float = 1e-3) -> None:
    monkeypatch.setattr(options, "STAGE_SECONDS", seconds)


def by_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "WHOLE_BYTES", 1 << 10)
    monkeypatch.setattr(options, "PIECE_BYTES", 1 << 15)
    for room in (options, order):
        monkeypatch.setattr(room, "CHUNK_ROWS", 64)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_run_learns_what_the_steps_say(
    classes: Rows, is_sparse: bool, fit_intercept: bool, train: Callable[..., api.Run]
) -> None:
    rows = (sparse.csr_array(classes[0]), classes[1]) if is_sparse else classes
    run = train(rows, fit_intercept=fit_intercept)
    found = run.status()
    assert (found["state"], found["approximates"]) == ("complete", True)
    record = found["stages"][found["model"]]
    assert record["support"] == 30
    assert record["steps"] == 3 * ROWS
    assert record["merges"] == record["violations"] - 30
    # All rows but the first ones meet as many support vectors as there may be.
    assert 0.9 < found["kernel_values"] / (30 * (record["steps"] + record["merges"])) <= 1.05
    accuracy = np.mean((decide(run, classes) > 0) == (classes[1] > 0))
    assert accuracy > 0.9
    model = read_model(run.folder.node(found["model"], "commit"), Kernel("rbf", GAMMA))
    support = model.support.toarray() if is_sparse else model.support
    K = kernel_matrix(model.kernel, classes[0][:50], support, dtype=np.float64)
    f = K @ model.coef[0] + model.bias[0, 0]
    np.testing.assert_allclose(decide(run, classes)[:50], f, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("chunks", [False, True])
@pytest.mark.parametrize("shares", [1, 3])
def test_a_killed_run_goes_on_to_the_same_bits(
    classes: Rows,
    chunks: bool,
    shares: int,
    train: Callable[..., api.Run],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    small_stages(monkeypatch)
    if chunks:
        by_chunks(monkeypatch)
    whole = train(classes, "whole", shares=shares)
    commits = len(whole.status()["stages"])
    assert commits > 3
    commit, count = Attempt.commit, 0

    def call(attempt: Attempt, record: dict[str, Any]) -> bool:
        nonlocal count
        count += 1
        if count == commits // 2 + 1:
            raise KilledError
        return commit(attempt, record)

    monkeypatch.setattr(Attempt, "commit", call)
    with pytest.raises(KilledError):
        train(classes, "killed", shares=shares)
    monkeypatch.setattr(Attempt, "commit", commit)
    run = api.resume(tmp_path / "killed", execution=HERE, quiet=True)
    np.testing.assert_array_equal(decide(run, classes), decide(whole, classes))


def test_stages_change_nothing(
    classes: Rows, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = train(classes, "one")
    monkeypatch.setattr(options, "STAGE_SECONDS", 1e-2)
    several = train(classes, "several")
    assert len(several.status()["stages"]) >= len(one.status()["stages"])
    np.testing.assert_array_equal(decide(one, classes), decide(several, classes))


def test_every_row_comes_once_in_an_epoch(
    classes: Rows, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dcsvm_dask.methods.problem import read_problem

    by_chunks(monkeypatch)
    run = train(classes)
    problem = read_problem(run.folder)
    for part in range(2):
        seen = []
        for index, rows, chosen in order.pieces_in_order(
            problem, (4, 8), (part, 2), 4, whole=False
        ):
            seen += index[chosen].tolist()
            np.testing.assert_array_equal(rows, problem.take(index))
        half = problem.n // 2
        assert sorted(seen) == list(range(*((0, half) if part == 0 else (half, problem.n))))


@pytest.mark.long
def test_workers_change_nothing(
    classes: Rows, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    path = tmp_path / "tables.npz"
    path.write_bytes(as_bytes(MergeTables.of(30)))
    here = train(classes, "here", shares=3, table_size=30)
    two = train(classes, "two", shares=3, tables=str(path), execution=Execution(workers=2))
    np.testing.assert_array_equal(decide(here, classes), decide(two, classes))


def test_shares_of_unequal_size_have_pieces_of_some_rows(
    classes: Rows, train: Callable[..., api.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    by_chunks(monkeypatch)
    monkeypatch.setattr(options, "PIECE_BYTES", 1)
    run = train((classes[0][:257], classes[1][:257]), shares=2)
    assert run.status()["stages"][run.status()["model"]]["steps"] == 3 * 257


def test_shares_learn_almost_as_well(classes: Rows, train: Callable[..., api.Run]) -> None:
    for shares in (1, 4):
        run = train(classes, f"run-{shares}", shares=shares, epochs=6)
        assert np.mean((decide(run, classes) > 0) == (classes[1] > 0)) > 0.92


def test_more_classes_have_an_svm_each(
    shared_data: Callable[[str], Any], train: Callable[..., api.Run]
) -> None:
    rows = rows_of(shared_data, "usps", 800)
    for scheme in ("ovr", "ovo"):
        run = train(rows, scheme, multiclass=scheme, budget=40, gamma=0.02, epochs=5)
        accuracy = np.mean(run.predict(rows[0], execution=HERE) == rows[1])
        assert accuracy > 0.9


def test_weights_are_factors_of_c(classes: Rows, train: Callable[..., api.Run]) -> None:
    doubled = np.where(classes[1] > 0, 2, 1)
    weighted = train(classes, "weighted", class_weight={1: 2.0})
    np.testing.assert_array_equal(
        decide(weighted, classes),
        decide(train((classes[0], classes[1]), "again", class_weight={1: 2.0}), classes),
    )
    plain = train(classes, "plain")
    more = [np.mean(decide(one, classes)[doubled == 2] > 0) for one in (plain, weighted)]
    assert more[1] > more[0]


def test_targets_and_quantiles(
    shared_data: Callable[[str], Any], train: Callable[..., api.Run]
) -> None:
    X, z = rows_of(shared_data, "kin40k")
    z = z.astype(np.float64) + 100.0
    words = {"C": 2.0, "budget": 100, "epochs": 20, "fit_intercept": True}
    run = train((X, z), "svr", task="regression", **words)
    left = z - run.predict(X, execution=HERE)
    assert np.mean(left**2) < 0.3 * z.var()
    run = train((X, z), "quantiles", task="quantile", quantile=[0.1, 0.9], **words)
    below = np.mean(z[:, None] < run.predict(X, execution=HERE), axis=0)
    assert below[0] < 0.35
    assert below[1] > 0.65


def test_a_gamma_at_which_nothing_can_merge_is_reported(
    classes: Rows, train: Callable[..., api.Run]
) -> None:
    with pytest.warns(UserWarning, match="lower gamma"):
        found = train(classes, gamma=1e8).status()
    assert "nothing can merge" in found["message"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"budget": 1}, "budget must be at least 2, got 1"),
        (
            {"kernel": "poly", "coef0": 1.0},
            "only points of the rbf kernel can be merged, not of poly",
        ),
        ({"merge": "best"}, "merge must be .*gss"),
        ({"loss": "squared_hinge"}, "loss: bsgd has no squared_hinge"),
        ({"svm_type": "nu"}, "nu"),
        ({"tables": 3}, "tables must be the path of a file, got 3"),
        ({"tables": "none.npz"}, "tables: there is no file .*none.npz; make it by"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
    ],
)
def test_bad_parameters_are_refused(
    classes: Rows, how: dict[str, Any], said: str, train: Callable[..., api.Run]
) -> None:
    with pytest.raises(InputError, match=said):
        train(classes, **how)


def test_other_kernels_project(classes: Rows, train: Callable[..., api.Run]) -> None:
    run = train(classes, kernel="laplacian", gamma=0.5, merge="projection")
    assert np.mean((decide(run, classes) > 0) == (classes[1] > 0)) > 0.9


def test_tables_of_a_file_are_kept_in_the_run(
    classes: Rows,
    train: Callable[..., api.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_stages(monkeypatch)
    path = tmp_path / "tables.npz"
    path.write_bytes(as_bytes(MergeTables.of(30)))
    monkeypatch.chdir(tmp_path)
    whole = train(classes, "whole", tables="tables.npz")
    assert whole.folder.header["settings"]["options"]["tables"] == str(path)
    computed = train(classes, "computed", table_size=30)
    np.testing.assert_array_equal(decide(whole, classes), decide(computed, classes))
    interrupted(classes, train, monkeypatch, after="epochs-001", tables=str(path))
    path.unlink()
    run = api.resume(tmp_path / "killed", execution=HERE, quiet=True)
    np.testing.assert_array_equal(decide(run, classes), decide(whole, classes))
    with pytest.raises(InputError, match=r"tables: there is no file .*tables.npz"):
        train(classes, "other", tables=str(path))


def interrupted(
    rows: Rows,
    train: Callable[..., api.Run],
    monkeypatch: pytest.MonkeyPatch,
    after: str,
    **how: Any,
) -> None:
    """Begin a run that dies once it has committed a stage."""
    with monkeypatch.context() as patched:
        commit = Attempt.commit

        def call(attempt: Attempt, record: dict[str, Any]) -> bool:
            done = commit(attempt, record)
            if f"/{after}/" in attempt.place.url and "commit" in attempt.commit_object.url:
                raise KilledError
            return done

        patched.setattr(Attempt, "commit", call)
        with pytest.raises(KilledError):
            train(rows, "killed", **how)


@pytest.mark.parametrize("shares", [1, 2])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_an_epoch_is_a_model(
    classes: Rows,
    shares: int,
    is_sparse: bool,
    train: Callable[..., api.Run],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    rows = (sparse.csr_array(classes[0]), classes[1]) if is_sparse else classes
    one = train(rows, "one", shares=shares, epochs=1)
    whole = train(rows, "whole", shares=shares)
    small_stages(monkeypatch, 7e-4)  # of one epoch
    interrupted(rows, train, monkeypatch, "epochs-001", shares=shares)
    run = api.open_run(tmp_path / "killed")
    found = run.status()
    assert (found["state"], found["model"], found["n_support"]) == ("interrupted", "epochs-001", 30)
    np.testing.assert_array_equal(decide(run, classes), decide(one, classes))
    said: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(Announcer, "say", lambda _, text, **how: said.append(text))
        scores = run.evaluate(classes, execution=HERE)
    assert scores["accuracy"] == one.evaluate(classes, execution=HERE)["accuracy"] > 0.8
    assert any("epochs-001" in text and "NOT finished: 1 of 3 epochs" in text for text in said)
    run.report(tmp_path / "report.html")
    run = api.resume(tmp_path / "killed", execution=HERE, quiet=True)
    assert run.status()["model"] == "model-epochs-003"
    np.testing.assert_array_equal(decide(run, classes), decide(whole, classes))


def test_only_the_last_commit_of_epochs_has_its_arrays(
    classes: Rows,
    train: Callable[..., api.Run],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    small_stages(monkeypatch)
    interrupted(classes, train, monkeypatch, "epochs-002")
    assert committed_models(api.open_run(tmp_path / "killed").folder) == {0: "epochs-002"}
    run = api.resume(tmp_path / "killed", execution=HERE, quiet=True)
    assert list(committed_models(run.folder)) == [0]
    assert run.status()["model"].startswith("model-")


def test_a_c_beyond_float64_is_refused(
    classes: Rows, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"C times the weight of a row is 1e\+98; lower C"):
        train(classes, C=1e98)
    with pytest.raises(InputError, match=r"C times the weight of a row is inf; lower C"):
        train(classes, C=1e307, class_weight={1: 100.0})
    assert not (tmp_path / "run").exists()


def test_weights_of_rows_beyond_float64_are_refused(
    classes: Rows, train: Callable[..., api.Run]
) -> None:
    weights = np.where(classes[1] > 0, 1e80, 1.0)
    with pytest.raises(InputError, match=r"C times the weight of a row is 1e\+99; lower C"):
        train(classes, C=1e19, weights=weights)


def test_a_report_has_no_figures_of_solvers(
    classes: Rows, train: Callable[..., api.Run], tmp_path: Path
) -> None:
    run = train(classes)
    page = Path(run.report(tmp_path / "report.html")).read_text()
    for absent in ("to reach", "duality gap", "block_cap", "set_cap", "tables", "No model is"):
        assert absent not in page.split("<script")[0], absent
    for shown in ("steps", "of these moved the model", "merges", "-P budget=30"):
        assert shown in page
    assert "-P tables" not in page
