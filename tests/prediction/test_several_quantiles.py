"""Runs of several quantiles: levels, the exact SVMs, prediction, scores, commands, reports."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.metrics.pairwise import rbf_kernel

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.methods.problem import read_problem
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.solvers import duality_gap
from dcsvm_dask.tasks import crossing, members_of
from tests.command_line import invoke

HERE = Execution(workers=0)
QUANTILES = (0.1, 0.5, 0.9)
HOW: dict[str, Any] = {
    "task": "quantile",
    "gamma": 0.3,
    "C": 2.0,
    "fit_intercept": True,
    "tol": 1e-6,
    "execution": HERE,
    "quiet": True,
    "report": False,
}


class Made:
    """A run of 500 houses that stopped at a level and went on, and their rows before scaling."""

    def __init__(self, folder: Path, X: Any, z: Any) -> None:
        self.folder, self.X, self.z = folder, X, z
        given = np.concatenate([X[:500], X[:40]]), np.concatenate([z[:500], z[:40]])
        self.data = api.ingest(
            given,
            folder / "d.zarr",
            test=(X[500:], z[500:]),
            scale="standard",
            task="quantile",
        )
        self.test = folder / "d.zarr/test"
        words = {**HOW, "clusters": (4, 2), "holdout": self.test, "quantile": QUANTILES}
        early = api.train(self.data.place, folder / "run", stop_at=1, **words)
        self.early = early.predict(X[500:], execution=HERE)
        self.run = api.resume(folder / "run", stop_at=0, execution=HERE, quiet=True, report=False)
        self.record = self.run.folder.node("model-quantiles", "commit").record


@pytest.fixture(scope="module")
def made(shared_data: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Made:
    found = shared_data("cadata")
    order = np.random.default_rng(0).permutation(len(found["X_train"]))[:650]
    X, z = found["X_train"][order], found["y_train"][order].astype(np.float64)
    return Made(tmp_path_factory.mktemp("quantiles"), X, z / z.std())


@pytest.mark.long
def test_each_is_that_of_a_run_with_it_alone(made: Made, tmp_path: Path) -> None:
    predicted = made.run.predict(made.test, precision="float64", execution=HERE)
    assert predicted.shape == (150, 3)
    assert made.record["converged"]
    for number, quantile in enumerate(QUANTILES):
        alone = api.train(made.data.place, tmp_path / f"{number}", quantile=quantile, **HOW)
        objective = alone.folder.node(str(alone.status()["model"]), "commit").record["objective"]
        found = made.record["of_quantiles"]
        assert found["objective"][number] == pytest.approx(objective, rel=1e-6)
        expected = alone.predict(made.test, precision="float64", execution=HERE)
        np.testing.assert_allclose(predicted[:, number], expected, rtol=0, atol=1e-4)


def test_quantiles_share_clusters_blocks_and_kernel_matrices(made: Made, tmp_path: Path) -> None:
    words = {**HOW, "clusters": (4, 2), "stop_at": 2}
    alone = api.train(made.data.place, tmp_path / "alone", quantile=0.5, **words)
    one, several = (run.folder.node("level-2", "commit").record for run in (alone, made.run))
    assert several["machines"] == 3
    for key in ("blocks", "rows", "D", "kernel_values"):
        assert several[key] == one[key]


def test_a_level_s_estimates_are_those_of_all_its_svms(made: Made, tmp_path: Path) -> None:
    words = {**HOW, "clusters": (4,), "stop_at": 1, "quantile": QUANTILES}
    folder = api.train(made.data.place, tmp_path / "run", **words).folder
    problem, model = read_problem(folder), load_model(folder, "level-1")
    record = folder.node("level-1", "commit").record
    X = problem.take(np.arange(problem.n))
    K = rbf_kernel(X.astype(np.float64), gamma=0.3)
    place = {row.tobytes(): number for number, row in enumerate(X)}
    index = [place[row.tobytes()] for row in model.support]
    beta = np.zeros((3, problem.n))
    beta[:, index] = model.coef
    assert model.rule is not None
    assert model.rule.class_rows is not None
    rows = model.rule.class_rows
    bias = (rows * model.bias).sum(axis=0) / rows.sum()
    objective = gap = 0.0
    for number, task in enumerate(members_of(problem.task)):
        dual, own = task.dual(problem.targets, problem.C), beta[number]
        assert abs(own.sum()) < 1e-6
        gradient = K @ own + dual.p
        objective += 0.5 * own @ K @ own + dual.p @ own
        losses = dual.losses(gradient + bias[number] - task.centre).sum()
        gap += own @ gradient + losses
        assert duality_gap(gradient, own, dual, equality=True) <= own @ gradient + losses + 1e-6
    # Rows that are there twice are drawn once, so that sums over rows have errors.
    assert record["objective_estimate"] == pytest.approx(objective, rel=1e-4)
    assert record["gap_estimate"] == pytest.approx(gap, abs=4.0 * record["gap_error"] + 1e-3 * gap)


def test_scores_are_those_of_scikit_learn_and_sorting_uncrosses(made: Made) -> None:
    X, z = made.X[500:], made.z[500:]
    predicted = made.run.predict(X, execution=HERE)
    found = made.run.evaluate((X, z), execution=HERE)
    losses = [
        metrics.mean_pinball_loss(z, column, alpha=quantile)
        for column, quantile in zip(predicted.T, QUANTILES, strict=True)
    ]
    assert found["pinball"] == pytest.approx(np.mean(losses), rel=1e-6)
    assert list(found["by_quantile"]) == ["0.1", "0.5", "0.9"]
    for own, loss, column in zip(found["by_quantile"].values(), losses, predicted.T, strict=True):
        assert own["pinball"] == pytest.approx(loss, rel=1e-6)
        assert own["coverage"] == pytest.approx(np.mean(z < column), abs=1e-9)
    assert found["crossing"] == pytest.approx((np.diff(predicted, axis=1) < 0).any(axis=1).mean())
    assert found["crossing"] > 0.0
    assert not found["sorted"]
    ascending = made.run.predict(X, execution=HERE, sort_quantiles=True)
    np.testing.assert_array_equal(ascending, np.sort(predicted, axis=1))
    better = made.run.evaluate((X, z), execution=HERE, sort_quantiles=True)
    assert better["sorted"]
    assert better["crossing"] == 0.0
    assert better["pinball"] <= found["pinball"]
    # That of the training rows is measured when the model is committed, repeated rows twice.
    rows = np.concatenate([made.X[:500], made.X[:40]])
    trained = crossing(made.run.predict(rows, precision="float64", execution=HERE))
    assert made.record["crossing"] == pytest.approx(trained, abs=0.01)


def test_early_models_of_levels_predict_all_quantiles(made: Made) -> None:
    X, z = made.X[500:], made.z[500:]
    assert made.early.shape == (150, 3)
    again = made.run.predict(X, mode="early", level=1, execution=HERE)
    np.testing.assert_array_equal(again, made.early)
    found = made.run.evaluate((X, z), mode="early", level=2, execution=HERE)
    for name, own in found["by_quantile"].items():
        assert own["coverage"] == pytest.approx(float(name), abs=0.15)


@pytest.mark.parametrize("name", ["p.csv", "p.npy", "p.parquet", "p.zarr"])
def test_every_format_has_a_column_for_each_quantile(made: Made, tmp_path: Path, name: str) -> None:
    out, columns = tmp_path / name, [f"prediction_{one}" for one in QUANTILES]
    made.run.predict_file(made.test, out, execution=HERE)
    expected = made.run.predict(made.test, execution=HERE)
    if name.endswith("csv"):
        assert out.read_text().splitlines()[0] == ",".join(columns)
        found = np.loadtxt(out, delimiter=",", skiprows=1)
    elif name.endswith("npy"):
        found = np.load(out)["prediction"]
    elif name.endswith("parquet"):
        frame = pytest.importorskip("pandas").read_parquet(out)
        assert list(frame) == columns
        found = frame.to_numpy()
    else:
        import zarr

        found = np.asarray(zarr.open_array(out / "prediction", mode="r"))
    np.testing.assert_array_equal(found, expected)


def test_commands_train_sort_and_evaluate_them(made: Made, tmp_path: Path) -> None:
    words = ["--gamma", 0.3, "-C", 2, "--fit-intercept", "--workers", 0, "--quiet"]
    place, data = tmp_path / "run", made.data.place.url
    found = invoke(
        "train", data, "--run", place, "--task", "quantile", "--quantile", "0.25,0.75", *words
    )
    assert found.exit_code == 0, found.output
    out = tmp_path / "p.csv"
    found = invoke("predict", place, made.test, "--out", out, "--sort-quantiles", "--quiet")
    assert found.exit_code == 0, found.output
    low, high = np.loadtxt(out, delimiter=",", skiprows=1).T
    assert (low <= high).all()
    reported = json.loads(invoke("evaluate", place, made.test, "--json", "--quiet").output)
    assert list(reported["by_quantile"]) == ["0.25", "0.75"]
    shown = invoke("evaluate", place, made.test, "--quiet").output
    assert "0.75: coverage" in shown
    assert "crossing rows" in shown
    assert "crossing   quantiles cross in " in invoke("status", place).output
    assert "0.25: objective" in invoke("status", place, "--verbose").output


def test_tables_and_the_report_show_each_quantile(made: Made) -> None:
    found = tables(made.run.folder)
    each = list(rows_of(found["quantile_scores"]))
    assert [(row["level"], row["quantile"]) for row in each] == [
        (level, str(quantile)) for level in (2, 1, 0) for quantile in QUANTILES
    ]
    assert len(found["predicted_targets"]["target"]) == 3 * 150
    about = dict(zip(*found["parameters"].values(), strict=True))
    assert about["quantile"] == "0.1, 0.5, 0.9"
    text = Path(made.run.report()).read_text()
    for words in ("Predicted and true targets", "--quantile 0.1,0.5,0.9", "Quantiles"):
        assert words in text


def test_onnx_runtime_predicts_the_same_quantiles(made: Made, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    made.run.export(tmp_path / "m.onnx", format="onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    rows = made.X[500:].astype(np.float32)
    (values,) = session.run(["prediction"], {"rows": rows})
    ours = made.run.predict(rows, precision="float64", execution=HERE)
    np.testing.assert_allclose(values, ours, rtol=1e-6)


def test_what_cannot_hold_several_refuses_them(made: Made, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="LIBSVM holds one regression SVM, and this run has 3"):
        made.run.export(tmp_path / "m.model")
    with pytest.raises(InputError, match="no kernel machine for quantile; export it as ONNX"):
        made.run.to_sklearn()
    with pytest.raises(InputError, match="SVMs of many classes or quantiles"):
        made.run.compress(tmp_path / "small", bound=0.1, execution=HERE)
    with pytest.raises(InputError, match="method cascade trains one quantile, got 2"):
        api.train(made.data.place, tmp_path / "r", quantile=(0.1, 0.9), method="cascade", **HOW)
    with pytest.raises(InputError, match="a run exists there"):
        api.train(made.data.place, made.folder / "run", quantile=(0.1, 0.9), **HOW)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "quantile must be a number, or several like 0.1,0.5,0.9, got ''"),
        ("0.1,x", "quantile must be a number, or several"),
        ("0.5,0.1", "quantile holds 0.1 after 0.5: give quantiles in ascending order"),
        ("0.5,0.5", "quantile holds 0.5 twice"),
        ("0.5,1.5", "between 0 and 1, or several in ascending order, got 1.5"),
        ("1", "quantile must be a number between 0 and 1, got 1.0"),
    ],
)
def test_bad_quantiles_are_refused_in_a_sentence(
    made: Made, tmp_path: Path, given: str, said: str
) -> None:
    found = invoke("train", made.data.place.url, "--run", tmp_path / "r", "--quantile", given)
    assert found.exit_code == 2
    assert said in found.output
    assert not (tmp_path / "r").exists()


def test_a_pipeline_file_has_a_list_of_quantiles(made: Made, tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", X_train=made.X[:300], y_train=made.z[:300])
    (tmp_path / "p.toml").write_text(
        f"""
[data]
source = "rows.npz"
task = "quantile"
scale = "standard"
test_fraction = 0.25

[[method]]
name = "dcsvm"
as = "three"
task = "quantile"
quantile = [0.1, 0.5, 0.9]
gamma = 0.3
fit_intercept = true

[output]
run = "{tmp_path / "runs"}"
data = "{tmp_path / "data.zarr"}"
"""
    )
    found = invoke("run", tmp_path / "p.toml", "--workers", 0, "--no-report")
    assert found.exit_code == 0, found.output
    run = api.open_run(tmp_path / "runs/three")
    assert run.predict(made.X[:5], execution=HERE).shape == (5, 3)
