"""Runs that learned real targets: prediction, scores, files, commands, reports, other programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.command_line import invoke
from tests.exported import svm_of

HERE = Execution(workers=0)


class Made:
    """Runs of 1,200 houses, their rows before scaling, and the folder."""

    def __init__(self, folder: Path, X: Any, z: Any) -> None:
        self.folder, self.X, self.z = folder, X, z
        part = (X[1000:], z[1000:])
        self.data = api.ingest(
            (X[:1000], z[:1000]), folder / "d.zarr", test=part, scale="standard", task="regression"
        )
        how: dict[str, Any] = {"gamma": 0.3, "C": 200.0, "fit_intercept": True, "execution": HERE}
        how |= {"holdout": folder / "d.zarr/test", "quiet": True, "tol": 1e-2}
        self.run = api.train(
            self.data.place, folder / "run", epsilon=8.0, clusters=(4, 2), block_cap=128, **how
        )
        self.median = api.train(self.data.place, folder / "median", task="quantile", **how)


@pytest.fixture(scope="module")
def made(shared_data: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Made:
    found = shared_data("cadata")
    order = np.random.default_rng(0).permutation(len(found["X_train"]))[:1200]
    X, z = found["X_train"][order], found["y_train"][order] / 1000.0
    return Made(tmp_path_factory.mktemp("targets"), X, z.astype(np.float64))


def test_predictions_and_scores_are_those_of_scikit_learn(made: Made) -> None:
    X, z = made.X[1000:], made.z[1000:]
    predicted = made.run.predict(X, precision="float64", execution=HERE)
    peer = svm_of(made.run)
    assert peer.epsilon == 8.0
    np.testing.assert_allclose(
        peer.predict(made.run.scale(X).astype(np.float64)), predicted, rtol=1e-6
    )
    stored = made.run.predict(made.data.open_part("test").url, precision="float64", execution=HERE)
    np.testing.assert_allclose(stored, predicted, rtol=1e-9)
    found = made.run.evaluate((X, z), execution=HERE)
    assert found["r2"] == pytest.approx(metrics.r2_score(z, predicted), rel=1e-4)
    assert found["mae"] == pytest.approx(metrics.mean_absolute_error(z, predicted), rel=1e-4)
    assert found["rmse"] == pytest.approx(metrics.root_mean_squared_error(z, predicted), rel=1e-4)
    assert found["n_rows"] == 200
    assert found["r2"] > 0.6
    early = made.run.evaluate((X, z), mode="early", level=1, execution=HERE)
    naive = made.run.evaluate((X, z), mode="naive", level=1, execution=HERE)
    assert early["r2"] > 0.5
    assert naive["r2"] != early["r2"]


def test_a_median_has_a_pinball_loss_and_half_of_the_targets_below(made: Made) -> None:
    X, z = made.X[1000:], made.z[1000:]
    found = made.median.evaluate((X, z), execution=HERE)
    predicted = made.median.predict(X, execution=HERE)
    loss = metrics.mean_pinball_loss(z, predicted, alpha=0.5)
    assert found["pinball"] == pytest.approx(loss, rel=1e-4)
    assert found["coverage"] == pytest.approx(0.5, abs=0.1)
    assert "r2" not in found


@pytest.mark.parametrize("name", ["p.csv", "p.npy", "p.parquet", "p.zarr"])
def test_every_format_has_a_column_of_predictions(made: Made, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    test = made.data.open_part("test").url
    for _ in range(2):  # over an older file, too
        made.run.predict_file(test, out, execution=HERE, overwrite=True)
    expected = made.run.predict(test, execution=HERE)
    if name.endswith("csv"):
        text = out.read_text().splitlines()
        assert text[0] == "prediction"
        found = np.array(list(map(float, text[1:])))
    elif name.endswith("npy"):
        found = np.load(out)["prediction"]
    elif name.endswith("parquet"):
        pandas = pytest.importorskip("pandas")
        frame = pandas.read_parquet(out)
        assert list(frame) == ["prediction"]
        found = frame["prediction"].to_numpy()
    else:
        import zarr

        assert sorted(zarr.open_group(out, mode="r").keys()) == ["prediction"]
        found = np.asarray(zarr.open_array(out / "prediction", mode="r"))
    np.testing.assert_array_equal(found, expected)


def test_libsvm_predicts_the_same_targets(made: Made, tmp_path: Path) -> None:
    svmutil = pytest.importorskip("libsvm.svmutil")
    X = made.run.scale(made.X[1000:])
    for run in (made.run, made.median):
        found = run.export(tmp_path / "m.model", overwrite=True)
        text = (tmp_path / "m.model").read_text()
        assert text.startswith("svm_type epsilon_svr\n")
        model = svmutil.svm_load_model(str(tmp_path / "m.model"))
        rows = sparse.csr_matrix(X, dtype=np.float64)
        values, _, _ = svmutil.svm_predict(np.zeros(len(X)), rows, model, "-q")
        ours = run.predict(made.X[1000:], precision="float64", execution=HERE)
        np.testing.assert_allclose(values, ours, atol=1e-4)
        assert any("quantiles" in note for note in found["notes"]) is (run is made.median)


def test_onnx_runtime_predicts_the_same_targets(made: Made, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    for run in (made.run, made.median):
        run.export(tmp_path / "m.onnx", format="onnx", overwrite=True)
        session = runtime.InferenceSession(
            str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"]
        )
        assert [one.name for one in session.get_outputs()] == ["prediction"]
        rows = made.X[1000:].astype(np.float32)
        (values,) = session.run(None, {"rows": rows})
        ours = run.predict(rows, precision="float64", execution=HERE)
        np.testing.assert_allclose(values, ours, rtol=1e-6)


def test_what_others_have_not_is_refused(made: Made) -> None:
    with pytest.raises(InputError, match="scikit-learn has no kernel machine for quantile"):
        made.median.to_sklearn()
    with pytest.raises(InputError, match="has learned numbers, which have no decision function"):
        made.run.decision_function(made.X[:3])


def test_a_model_of_targets_is_compressed(made: Made, tmp_path: Path) -> None:
    for data in (None, (made.X[1000:], made.z[1000:])):
        out = tmp_path / ("own" if data is None else "given")
        found = made.run.compress(out, bound=5.0, data=data, execution=HERE)
        assert found["support"] < 0.98 * found["support_before"]
        assert found["change"] <= 5.0
        assert found["r2"]["after"] == pytest.approx(found["r2"]["before"], abs=0.03)
        smaller = api.open_run(out)
        far = smaller.predict(made.X[1000:]) - made.run.predict(made.X[1000:])
        assert np.abs(far).max() < 10.0


def test_targets_and_classes_do_not_mix(made: Made, tmp_path: Path) -> None:
    classes = api.ingest((made.X, made.z > 200.0), tmp_path / "c.zarr", scale="standard")
    with pytest.raises(InputError, match=r"its rows have classes, those that the model .* targets"):
        made.run.evaluate(classes.place, execution=HERE)
    with pytest.raises(InputError, match="its rows have targets, those of the training data"):
        api.train(classes.place, tmp_path / "run", holdout=made.data.place / "test")
    words = np.where(made.z > 200.0, "high", "low")
    with pytest.raises(InputError, match=r"has the target '(high|low)', which is not a number"):
        made.run.evaluate((made.X, words), execution=HERE)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"task": "classification"}, "its rows have targets, but task classification learns cla"),
        ({"task": "novelty"}, "task must be one of auto, classification, regression, quantile"),
        ({"epsilon": -1.0}, "epsilon must be at least 0, got -1"),
        ({"epsilon": np.inf}, "epsilon must be at least 0, got inf"),
        ({"epsilon": "x"}, "epsilon must be a number, got 'x'"),
        ({"task": "quantile", "quantile": 1.0}, "quantile must be a number between 0 and 1"),
        ({"task": "quantile", "quantile": 0.0}, "quantile must be a number between 0 and 1"),
        ({"task": "quantile", "epsilon": 0.1}, "epsilon: is a parameter of task regression, not"),
        ({"task": "regression", "quantile": 0.1}, "quantile: is a parameter of task quantile"),
        ({"class_weight": "balanced"}, "class_weight: is for classes, and regression learns"),
        ({"multiclass": "ovr"}, "multiclass: is for classes, and regression learns numbers"),
        (
            {"committee": True, "task": "quantile"},
            "committee: is for classes and regression, and quantile learns numbers",
        ),
        ({"method": "online"}, "method online is not for regression; methods that are: dcsvm, "),
        ({"method": "bagging", "vote": "sign"}, "vote must be mean or committee for regression"),
    ],
)
def test_parameters_that_targets_do_not_have(
    made: Made, tmp_path: Path, words: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputError, match=why):
        api.train(made.data.place, tmp_path / "run", **words)
    assert not (tmp_path / "run").exists()


def test_parameters_of_tasks_that_classes_do_not_have(tmp_path: Path, wine: Any) -> None:
    data = api.ingest(wine, tmp_path / "d.zarr")
    for words, why in (
        ({"task": "regression"}, "its rows have classes, but task regression learns numbers"),
        ({"epsilon": 0.1}, "epsilon: is a parameter of task regression"),
    ):
        with pytest.raises(InputError, match=why):
            api.train(data.place, tmp_path / "run", **words)


def test_rows_are_trained_from_with_a_task(made: Made, tmp_path: Path) -> None:
    how: dict[str, Any] = {"execution": HERE, "quiet": True, "gamma": 0.3, "C": 200.0}
    run = api.train(
        made.X[:300], made.z[:300], tmp_path / "run", task="regression", scale="standard", **how
    )
    assert run.predict(made.X[:5], execution=HERE).dtype == np.float64
    assert run.evaluate((made.X[:300], made.z[:300]), execution=HERE)["r2"] > 0.6
    with pytest.raises(InputError, match="the labels cannot be classes"):
        api.train(made.X, made.z, tmp_path / "other", **how)


@pytest.mark.long
def test_a_run_goes_on_to_a_smaller_tolerance_bit_for_bit(made: Made, tmp_path: Path) -> None:
    how: dict[str, Any] = {"gamma": 0.3, "C": 200.0, "fit_intercept": True, "execution": HERE}
    how |= {"epsilon": 8.0, "clusters": (4, 2), "block_cap": 128, "quiet": True}
    once = api.train(made.data.place, tmp_path / "once", **how, tol=1e-2)
    twice = api.train(made.data.place, tmp_path / "twice", **how, stop_at=1, tol=1e-2)
    twice = api.resume(tmp_path / "twice", stop_at=0, execution=HERE, quiet=True)
    values = [run.predict(made.X[:50], execution=HERE) for run in (once, twice)]
    np.testing.assert_array_equal(*values)


@pytest.mark.long
def test_workers_give_the_same_model(made: Made, tmp_path: Path, two_workers: Execution) -> None:
    how: dict[str, Any] = {"gamma": 0.3, "C": 200.0, "fit_intercept": True, "quiet": True}
    how |= {"epsilon": 8.0, "clusters": (4, 2), "block_cap": 128, "tol": 1e-2}
    run = api.train(made.data.place, tmp_path / "run", execution=two_workers, **how)
    ours = run.predict(made.X[:50], execution=HERE)
    np.testing.assert_array_equal(ours, made.run.predict(made.X[:50], execution=HERE))


def test_commands_show_scores_of_targets(made: Made, tmp_path: Path) -> None:
    run, test = made.folder / "run", made.folder / "d.zarr/test"
    found = invoke("evaluate", run, test, "--workers", 0)
    assert found.exit_code == 0, found.output
    assert "R^2" in found.output
    assert "RMSE" in found.output
    assert "accuracy" not in found.output
    shown = json.loads(invoke("evaluate", run, test, "--workers", 0, "--json").stdout)
    assert shown["r2"] > 0.6
    assert invoke("predict", run, test, "--out", tmp_path / "p.csv").exit_code == 0
    trained = invoke(
        "train", made.folder / "d.zarr", "--run", tmp_path / "run", "--workers", 0, "--task",
        "quantile", "--quantile", 0.9, "--gamma", 0.3, "-C", 100, "--fit-intercept", "--tol", 0.01,
    )  # fmt: skip
    assert trained.exit_code == 0, trained.output
    covered = json.loads(
        invoke("evaluate", tmp_path / "run", test, "--workers", 0, "--json").stdout
    )
    assert covered["coverage"] == pytest.approx(0.9, abs=0.08)


def test_a_pipeline_file_has_a_task(made: Made, tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", X_train=made.X, y_train=made.z)
    (tmp_path / "p.toml").write_text(
        f"""
[data]
source = "rows.npz"
task = "regression"
scale = "standard"
test_fraction = 0.25

[[method]]
name = "dcsvm"
as = "svr"
gamma = 0.3
C = [50, 200]
epsilon = 8
tol = 0.01

[[method]]
name = "dcsvm"
as = "median"
task = "quantile"
quantile = 0.5
gamma = 0.3
C = 100
tol = 0.01

[output]
run = "{tmp_path / "runs"}"
data = "{tmp_path / "data.zarr"}"
"""
    )
    found = invoke("run", tmp_path / "p.toml", "--workers", 0)
    assert found.exit_code == 0, found.output
    assert "r2" in found.output
    assert "pinball" in found.output
    assert DataSet.open(tmp_path / "data.zarr").targets is not None


def test_tables_and_the_report_show_the_targets(made: Made) -> None:
    found = tables(made.run.folder)
    scores = list(rows_of(found["target_scores"]))
    assert [row["level"] for row in scores] == [2, 1, 0]
    assert all(0.3 < row["r2"] < 1.0 for row in scores)
    assert scores[-1]["r2"] == pytest.approx(made.run.evaluate(
        made.data.open_part("test").url, execution=HERE)["r2"], rel=1e-6)  # fmt: skip
    assert len(found["predicted_targets"]["target"]) == 200
    about = dict(zip(*found["parameters"].values(), strict=True))
    assert about["task"] == "regression"
    assert about["epsilon"] == 8.0
    assert "standard deviation" in dict(zip(*found["data_set"].values(), strict=True))["targets"]
    text = Path(made.run.report()).read_text()
    for words in ("Predicted and true targets", "R^2 over time", "--epsilon 8", "History"):
        assert words in text
    notebook = made.run._repr_html_()
    assert "R^2" in notebook
    assert "accuracy" not in notebook


def test_theorem_1_holds_with_the_range_of_regression(made: Made, tmp_path: Path) -> None:
    how: dict[str, Any] = {"gamma": 3.0, "C": 1.0, "epsilon": 8.0, "clusters": (8, 2)}
    run = api.train(made.data.place, tmp_path / "run", execution=HERE, quiet=True, tol=1e-3, **how)
    for row in rows_of(tables(run.folder, compute=True)["theorem"]):
        assert 0.0 <= row["difference"] <= row["bound"] + 3.0 * row["bound_error"]
