"""The numbers of a report against what the run's folder holds, counted in other ways."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.cli.train import command as train_command
from dcsvm_dask.diagnostics.report.tables.about import command
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.plane import basis, plane
from dcsvm_dask.diagnostics.report.tables.records import Clock, read_records
from dcsvm_dask.diagnostics.report.tables.table import rows_of, table, to_csv
from dcsvm_dask.diagnostics.report.tables.theorem import estimate, why_no_bound
from dcsvm_dask.kernels import kernel_matrix
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.methods.settings import Settings
from dcsvm_dask.models.model import decide
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.storage.dataset import DataSet
from tests.diagnostics.report.conftest import HELD_OUT, SETTINGS, N, blobs, train


def test_history_levels_and_blocks(trained: api.Run) -> None:
    found, status = tables(trained.folder), trained.status()
    commits = status["stages"]
    assert found["history"]["stage"][:2] == ["level-2", "level-1"]
    assert found["history"]["level"][:3] == [2, 1, None]
    assert found["history"]["objective"][-1] == status["objective"]
    assert found["history"]["time"] == sorted(found["history"]["time"])
    assert found["levels"]["clusters"] == [4, 2]
    assert found["levels"]["n_support"] == [commits[f"level-{n}"]["support"] for n in (2, 1)]
    for level in (2, 1):
        own = [row for row in rows_of(found["blocks"]) if row["level"] == level]
        assert sum(row["rows"] for row in own) == N
        assert [row["block"] for row in own] == list(range(len(own)))
        assert sum(row["support"] for row in own) == commits[f"level-{level}"]["support"]
    sizes = [row["rows"] for row in rows_of(found["blocks"]) if row["level"] == 1]
    balance = list(rows_of(found["balance"]))[1]
    assert balance["largest"] == max(sizes)
    assert balance["effective_blocks"] == pytest.approx(N**2 / sum(n * n for n in sizes))


def test_work_of_tasks_is_that_of_the_run(trained: api.Run) -> None:
    found, status = tables(trained.folder), trained.status()
    estimates = sum(commit.get("estimate_kernel_values", 0) for commit in status["stages"].values())
    values = sum(v for v in found["tasks"]["kernel_values"] if v)
    assert values == status["kernel_values"] + estimates
    assert sum(found["work"]["kernel_values"]) == values
    assert sum(found["workers"]["kernel_values"]) == values
    nodes = [n for stage in trained.folder.stages() for n in trained.folder.nodes(stage)]
    assert len(found["tasks"]["task"]) == len(nodes)
    assert found["floor"]["floor"] == [N * status["n_support"]]
    assert min(found["tasks"]["began"]) >= 0


def test_support_vectors_found_early_are_those_of_the_sets(trained: api.Run) -> None:
    run, found = trained.folder, tables(trained.folder)["support"]
    model = trained.status()["model"]
    source = run.node(model, "commit").record["source"]
    final = set(np.flatnonzero(run.node(source, "commit").read("alpha")[0]).tolist())
    for row in rows_of(found):
        alpha = run.node(f"level-{row['level']}", "commit").read("alpha")[0]
        mine = set(np.flatnonzero(alpha).tolist())
        assert row["precision"] == len(mine & final) / len(mine)
        assert row["recall"] == len(mine & final) / len(final)
        assert row["recall"] > 0.5
    assert found["level"] == [2, 1]


def test_predictions_are_those_of_the_scores(trained: api.Run) -> None:
    found = tables(trained.folder)
    for row in rows_of(found["predictions"]):
        node = trained.folder.node(f"score-{row['stage']}", "commit")
        assert row["accuracy"] == pytest.approx(node.record["accuracy"])
        positive = node.read("positive") == 1
        right = (node.read("decision") > 0) == positive
        recalls = [right[positive].mean(), right[~positive].mean()]
        assert row["balanced_accuracy"] == pytest.approx(np.mean(recalls))
        own = [r for r in rows_of(found["confusion"]) if r["model"].startswith(_name(row))]
        assert sum(r["rows"] for r in own) == row["rows"] == HELD_OUT
        hits = sum(r["rows"] for r in own if r["true"] == r["predicted"])
        assert hits == right.sum()
    assert found["predictions"]["mode"] == ["early", "early", "exact"]


def _name(row: dict[str, object]) -> str:
    return f"level {row['level']}" if row["level"] else "exact"


def test_what_costs_kernel_values_is_computed_once(trained: api.Run) -> None:
    # Another test may have asked before; what it kept is not to be taken for this one's.
    (trained.folder.place / "report").delete()
    assert not tables(trained.folder)["prediction_modes"]["mode"]
    found = tables(trained.folder, compute=True)["prediction_modes"]
    assert list(zip(found["level"], found["mode"], strict=True)) == [
        (2, "early"),
        (2, "naive"),
        (1, "early"),
        (1, "naive"),
        (0, "exact"),
    ]
    data = DataSet.open(trained.folder.header["holdout"])
    X, positive = data.rows.read(0, data.n_rows), data.read_codes(0, data.n_rows) == 1
    for row in rows_of(found):
        values = decide(load_model(trained.folder, row["stage"]), X, row["mode"])
        assert row["accuracy"] == np.mean((values > 0) == positive)
        assert row["ms_per_row"] > 0
    # The times would differ if they were measured again.
    assert tables(trained.folder)["prediction_modes"] == found
    kept = trained.folder.place / "report" / "modes-level-2.json"
    kept.write_bytes(kept.read_bytes().replace(b"early", b"later"))
    assert tables(trained.folder)["prediction_modes"]["level"] == [1, 1, 0]


def test_the_theorem_holds(trained: api.Run) -> None:
    found = tables(trained.folder, compute=True)["theorem"]
    for row in rows_of(found):
        assert -3 * row["difference_error"] - 1e-3 <= row["difference"]
        assert row["difference"] <= row["bound"] + 3 * row["difference_error"]
    assert set(found["difference_from"]) <= {"pairs", "exact"}


def test_what_lies_between_blocks_is_the_rest_of_the_objective(trained: api.Run) -> None:
    model = load_model(trained.folder, "level-2")
    K = np.asarray(kernel_matrix(model.kernel, model.support, model.support), np.float64)
    block = np.repeat(np.arange(model.n_blocks), np.diff(model.offsets))
    K[block[:, None] == block] = 0.0
    exact = 0.5 * model.coef @ K @ model.coef
    found = estimate(model, 200_000, np.random.default_rng(0))
    assert found["error"] > 0
    assert abs(found["sum"] - exact) <= 4 * found["error"]
    assert found["error"] < 0.2 * abs(exact)


def test_the_command_trains_the_same_model_again(trained: api.Run) -> None:
    records = read_records(trained.folder)
    words = shlex.split(command(records))
    assert words[:2] == ["dcsvm", "train"]
    context = train_command.make_context("train", words[2:])
    given = {key: context.params[key] for key in ("kernel", "gamma", "seed", "tol", "block_cap")}
    parameters: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
    parameters["clusters"] = (4, 2)
    assert context.params["clusters"] == "4,2"
    again = Training(C=context.params["C"], **parameters)
    settings, goals, _ = again.settle(DataSet.open(context.params["data"]))
    assert settings == Settings.from_json(records.settings)
    assert goals.tol == records.run.header["goals"]["tol"]
    assert context.params["holdout"] == records.run.header["holdout"]


def test_many_classes_are_told_of_and_trained_again(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    api.ingest((X, y), tmp_path / "d.zarr", scale="standard")
    run = train(tmp_path / "d.zarr", tmp_path / "run", multiclass="ovr", gamma=0.5)
    found = tables(run.folder)
    names = ("parameters", "data_set")
    told = {name: dict(zip(*found[name].values(), strict=True)) for name in names}
    assert told["parameters"]["multiclass"] == "ovr"
    assert [told["data_set"][f"class {label}"] for label in range(3)] == [50, 50, 50]
    words = shlex.split(command(read_records(run.folder)))
    words[words.index("AGAIN")] = str(tmp_path / "again")
    done = CliRunner().invoke(main, [*words[1:], "--workers", "0", "--quiet"])
    assert done.exit_code == 0, done.output
    again = api.open_run(tmp_path / "again")
    assert again.folder.header["settings"] == run.folder.header["settings"]
    np.testing.assert_array_equal(again.decision_function(X), run.decision_function(X))


def test_a_clock_cuts_out_what_lies_between_processes() -> None:
    clock = Clock([(100.0, 110.0), (112.0, 120.0), (1000.0, 1010.0)])
    assert clock.total == 30.0
    assert clock.pauses == 880.0
    assert clock.breaks == [20.0]
    times = (90.0, 100.0, 111.0, 500.0, 1000.0, 1004.0, 2000.0)
    assert [clock(time) for time in times] == [0, 0, 11, 20, 20, 24, 30]
    assert (Clock([]).total, Clock([])(5.0)) == (0.0, 0.0)


def test_the_plane_of_two_features_is_that_of_the_data(trained: api.Run) -> None:
    found = plane(read_records(trained.folder), compute=True)
    assert found is not None
    data = DataSet.open(trained.folder.header["data"]["url"])
    X = data.rows.read(0, N)
    np.testing.assert_allclose(np.array([found["x"], found["y"]]).T, X, atol=1e-5)
    exact = found["models"][-1]
    assert [model["level"] for model in found["models"]] == [2, 1, 0]
    assert exact["block"] is None
    left, right, bottom, top = found["box"]
    corner = np.array([[left, bottom], [right, top]], np.float32)
    model = load_model(trained.folder, exact["stage"])
    values = decide(model, corner, "exact")
    assert [exact["grid"][0], exact["grid"][-1]] == pytest.approx(values.tolist(), abs=1e-3)


def test_principal_components_are_those_of_the_covariance() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 5)) * [1, 5, 2, 0.1, 3]).astype(np.float32)
    mean, directions, share = basis(X)
    values, vectors = np.linalg.eigh(np.cov(X.T))
    np.testing.assert_allclose(np.abs(directions), np.abs(vectors[:, [4, 3]].T), atol=1e-5)
    assert share == pytest.approx(values[[4, 3]].sum() / values.sum())
    np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-6)


@pytest.mark.long
def test_a_bias_or_a_kernel_without_a_bound(biased: api.Run, data: Path, tmp_path: Path) -> None:
    records = read_records(biased.folder)
    assert "without a bias" in str(why_no_bound(records))
    found = tables(records)["theorem"]
    assert found["bound"] == found["difference"] == [None]
    sigmoid = train(data, tmp_path / "tanh", kernel="sigmoid", gamma=0.1, clusters=(4,), stop_at=1)
    assert "not positive" in str(why_no_bound(read_records(sigmoid.folder)))


@pytest.mark.long
def test_merged_repeats_have_no_bound(tmp_path: Path) -> None:
    X, y = blobs(300, 5)
    api.ingest((np.concatenate([X, X[:50]]), np.concatenate([y, y[:50]])), tmp_path / "d.zarr")
    run = train(tmp_path / "d.zarr", tmp_path / "run", gamma=8.0, clusters=(4,), stop_at=1)
    records = read_records(run.folder)
    assert "Repeated rows were merged" in str(why_no_bound(records))
    found = tables(records)
    assert found["theorem"]["bound"] == [None]
    assert dict(zip(*found["data_set"].values(), strict=True))["repeats merged"] == 50


def test_tables_are_json_and_csv(trained: api.Run) -> None:
    found = tables(trained.folder)
    json.dumps(found, allow_nan=False)
    for name, columns in found.items():
        lengths = {len(values) for values in columns.values()}
        assert len(lengths) == 1, name
        read = list(csv.reader(io.StringIO(to_csv(columns))))
        assert read[0] == list(columns)
        assert len(read) == lengths.pop() + 1
    objective = found["history"]["objective"]
    read = list(csv.DictReader(io.StringIO(to_csv(found["history"]))))
    assert [float(row["objective"]) for row in read] == objective


def test_a_table_has_no_value_where_a_number_is_not_finite() -> None:
    found = table(("a", "b"), [{"a": np.float64("nan"), "b": np.int64(2)}, {"a": float("inf")}])
    assert found == {"a": [None, None], "b": [2, None]}
    assert to_csv(table(("a",), [{"a": 'x,"y"'}])) == 'a\n"x,""y"""\n'


def test_committees_are_told_of_beside_early_prediction(data: Path, tmp_path: Path) -> None:
    how = {**SETTINGS, "clusters": (4,), "stop_at": 1}
    run = train(data, tmp_path / "run", holdout=data / "test", committee=True, **how)
    found = tables(run.folder, compute=True)
    assert found["predictions"]["mode"] == ["early", "committee"]
    assert found["predictions"]["stage"] == ["level-1", "committee-level-1"]
    assert found["prediction_modes"]["mode"] == ["early", "naive", "committee"]
    # All held-out rows are few enough to be measured, so both tables tell of the same rows.
    assert found["prediction_modes"]["accuracy"][2] == found["predictions"]["accuracy"][1]
    assert set(found["confusion"]["model"]) == {"level 1, early", "level 1, committee"}
    text = Path(run.report(tmp_path / "report.html")).read_text()
    assert "Bayesian committee machine" in text
