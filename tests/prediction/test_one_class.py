"""Runs of one-class SVMs: data with and without labels, prediction, files, commands, programs."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import OneClassSVM

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.comparison import comparison
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.errors import InputError
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.dataset import DataSet
from tests.command_line import invoke

HERE = Execution(workers=0)
HOW: dict[str, Any] = {"gamma": 50.0, "nu": 0.1, "execution": HERE, "quiet": True}


class Made:
    """A run trained on 1,000 normal rows, and test rows of which some are not."""

    def __init__(self, folder: Path, X: Any, normal: Any) -> None:
        self.folder = folder
        inside, outside = np.flatnonzero(normal), np.flatnonzero(~normal)
        self.X = X[inside[:1000]]
        index = np.concatenate([inside[1000:1200], outside[:100]])
        self.test, self.signs = X[index], np.where(normal[index], 1, -1)
        self.data = api.ingest(
            (self.X, None), folder / "d.zarr", test=(self.test, self.signs), task="one-class"
        )
        self.run = api.train(
            self.data.place, folder / "run", holdout=folder / "d.zarr/test", clusters=(4, 2),
            tol=1e-5, **HOW,
        )  # fmt: skip


@pytest.fixture(scope="module")
def made(shared_data: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Made:
    found = shared_data("shuttle")
    order = np.random.default_rng(0).permutation(len(found["X_train"]))[:2500]
    X, y = found["X_train"][order].astype(np.float32), found["y_train"][order]
    classes, counts = np.unique(y, return_counts=True)
    return Made(tmp_path_factory.mktemp("one-class"), X, y == classes[counts.argmax()])


@pytest.fixture(scope="module")
def peer(made: Made) -> OneClassSVM:
    return OneClassSVM(nu=0.1, gamma=50.0, tol=1e-6).fit(made.X.astype(np.float64))


def test_decisions_and_signs_are_those_of_scikit_learn(made: Made, peer: OneClassSVM) -> None:
    X = made.test.astype(np.float64)
    expected = peer.decision_function(X)
    found = made.run.decision_function(made.test, precision="float64", execution=HERE)
    np.testing.assert_allclose(found, expected, atol=1e-3)
    signs = made.run.predict(made.test, execution=HERE)
    clear = np.abs(expected) > 1e-3
    np.testing.assert_array_equal(signs[clear], peer.predict(X)[clear])
    same = made.run.to_sklearn()
    assert isinstance(same, OneClassSVM)
    assert same.nu == 0.1
    np.testing.assert_allclose(same.decision_function(X), found, atol=1e-6)
    np.testing.assert_array_equal(same.predict(X)[clear], signs[clear])
    np.testing.assert_allclose(same.score_samples(X) - same.offset_, found, atol=1e-6)


def test_labels_score_and_nothing_else(made: Made, peer: OneClassSVM) -> None:
    decision = peer.decision_function(made.test.astype(np.float64))
    auc = metrics.roc_auc_score(made.signs, decision)
    assert auc > 0.9
    test = made.data.open_part("test").url
    for data in (test, (made.test, made.signs)):
        found = made.run.evaluate(data, execution=HERE)
        assert found["auc"] == pytest.approx(auc, abs=1e-4)
        assert found["accuracy"] == pytest.approx(np.mean((decision > 0) == (made.signs > 0)))
        assert found["n_rows"] == 300
    early = made.run.evaluate(test, mode="early", level=1, execution=HERE)
    assert early["auc"] > 0.9
    training = made.run.evaluate(made.data.place, execution=HERE)
    assert "auc" not in training
    assert "accuracy" not in training
    assert training["outliers"] == pytest.approx(0.1, abs=0.03)
    normal = made.run.evaluate((made.X, np.ones(1000)), execution=HERE)
    assert "auc" not in normal
    assert normal["accuracy"] == pytest.approx(0.9, abs=0.03)


def test_classes_minus_one_and_one_are_such_labels(made: Made, tmp_path: Path) -> None:
    classes = api.ingest((made.test, made.signs), tmp_path / "c.zarr")
    found = [made.run.evaluate(d, execution=HERE) for d in (classes.place, (made.test, made.signs))]
    assert found[0]["auc"] == found[1]["auc"]
    other = api.ingest((made.test, made.signs > 0), tmp_path / "other.zarr")
    with pytest.raises(InputError, match="with --task classification, but the model learned one-c"):
        made.run.evaluate(other.place, execution=HERE)


@pytest.mark.parametrize("name", ["p.csv", "p.npy", "p.parquet", "p.zarr"])
def test_files_have_signs_and_decision_values(made: Made, tmp_path: Path, name: str) -> None:
    made.run.predict_file(made.test, tmp_path / name, execution=HERE)
    values = made.run.decision_function(made.test, execution=HERE)
    if name.endswith("csv"):
        lines = (tmp_path / name).read_text().splitlines()
        assert lines[0] == "label,decision"
        labels, found = np.array([line.split(",") for line in lines[1:]], dtype=float).T
    elif name.endswith("npy"):
        table = np.load(tmp_path / name)
        labels, found = table["label"], table["decision"]
    elif name.endswith("parquet"):
        frame = pytest.importorskip("pandas").read_parquet(tmp_path / name)
        labels, found = frame["label"].to_numpy(), frame["decision"].to_numpy()
    else:
        import zarr

        labels, found = (
            np.asarray(zarr.open_array(tmp_path / name / one, mode="r"))
            for one in ("label", "decision")
        )
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(labels, np.where(values > 0.0, 1, -1))


def test_svm_predict_reads_the_model(made: Made, tmp_path: Path) -> None:
    program = shutil.which("svm-predict")
    if program is None:
        pytest.skip("needs svm-predict of LIBSVM, which is not installed")
    made.run.export(tmp_path / "m.model")
    assert (tmp_path / "m.model").read_text().startswith("svm_type one_class\n")
    rows = tmp_path / "rows.svm"
    dump_svmlight_file(made.test.astype(np.float64), made.signs, str(rows), zero_based=False)
    command = [program, str(rows), str(tmp_path / "m.model"), str(tmp_path / "out")]
    subprocess.run(command, check=True, capture_output=True)
    theirs = np.loadtxt(tmp_path / "out")
    values = made.run.decision_function(made.test, precision="float64", execution=HERE)
    clear = np.abs(values) > 1e-3
    np.testing.assert_array_equal(theirs[clear], np.where(values > 0.0, 1, -1)[clear])


def test_libsvm_decides_the_same(made: Made, tmp_path: Path) -> None:
    svmutil = pytest.importorskip("libsvm.svmutil")
    from scipy import sparse

    made.run.export(tmp_path / "m.model")
    model = svmutil.svm_load_model(str(tmp_path / "m.model"))
    rows = sparse.csr_matrix(made.test, dtype=np.float64)
    _, _, values = svmutil.svm_predict(np.zeros(len(made.test)), rows, model, "-q")
    ours = made.run.decision_function(made.test, precision="float64", execution=HERE)
    np.testing.assert_allclose(np.array(values)[:, 0], ours, atol=1e-5)


def test_onnx_runtime_decides_the_same(made: Made, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    made.run.export(tmp_path / "m.onnx", format="onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    labels, decision = session.run(["label", "decision"], {"rows": made.test})
    ours = made.run.decision_function(made.test, precision="float64", execution=HERE)
    np.testing.assert_allclose(decision, ours, rtol=1e-5, atol=1e-4)
    clear = np.abs(ours) > 1e-3
    np.testing.assert_array_equal(labels[clear], np.where(ours > 0.0, 1, -1)[clear])


def test_a_model_is_compressed(made: Made, tmp_path: Path) -> None:
    found = made.run.compress(
        tmp_path / "small", bound=0.5, data=(made.test, made.signs), execution=HERE
    )
    assert found["support"] < found["support_before"]
    assert found["auc"]["after"] == pytest.approx(found["auc"]["before"], abs=0.02)
    smaller = api.open_run(tmp_path / "small")
    assert set(smaller.predict(made.test).tolist()) == {-1, 1}


def test_status_report_plan_and_tables(made: Made) -> None:
    found = tables(made.run.folder, compute=True)
    scores = list(rows_of(found["target_scores"]))
    assert [row["level"] for row in scores] == [2, 1, 0]
    assert all(row["auc"] > 0.8 for row in scores)
    about = dict(zip(*found["parameters"].values(), strict=True))
    assert about["task"] == "one-class"
    assert about["nu"] == 0.1
    assert "C" not in about
    assert dict(zip(*found["data_set"].values(), strict=True))["labels"] == "none"
    text = Path(made.run.report()).read_text()
    for words in ("AUC over time", "--nu 0.1", "--task one-class", "History"):
        assert words in text
    assert "-C 1" not in text
    assert "gamma 50, nu 0.1, with a bias" in text
    beside = comparison([read_records(made.run.folder)])
    assert (beside["C"], beside["nu"]) == ([None], ["0.1"])
    assert "AUC" in made.run._repr_html_()
    status = invoke("status", made.folder / "run")
    assert status.exit_code == 0, status.output
    plan = api.plan(made.data.place, gamma=50.0, nu=0.1)
    assert [stage.name for stage in plan.graph()][:2] == ["offset", "arrange"]


@pytest.mark.long
def test_a_run_goes_on_bit_for_bit_and_workers_give_the_same_model(
    made: Made, tmp_path: Path, two_workers: Execution
) -> None:
    how = {**HOW, "clusters": (4, 2), "tol": 1e-5}
    api.train(made.data.place, tmp_path / "twice", **how, stop_at=1)
    twice = api.resume(tmp_path / "twice", stop_at=0, execution=HERE, quiet=True)
    how["execution"] = two_workers
    other = api.train(made.data.place, tmp_path / "other", **how)
    expected = made.run.decision_function(made.test, execution=HERE)
    for run in (twice, other):
        np.testing.assert_array_equal(run.decision_function(made.test, execution=HERE), expected)


def test_rows_are_trained_from(made: Made, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(made.X).rename(columns=str)
    first = api.train(made.X, tmp_path / "array", task="one-class", tol=1e-5, **HOW)
    again = api.train(frame, tmp_path / "frame", label="none", task="one-class", tol=1e-5, **HOW)
    values = [run.decision_function(made.test, execution=HERE) for run in (first, again)]
    np.testing.assert_array_equal(*values)


def test_commands(made: Made, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "rows.csv", made.X, delimiter=",", fmt="%.9g")
    table = np.column_stack([made.test, made.signs])
    np.savetxt(tmp_path / "test.csv", table, delimiter=",", fmt="%.9g")
    out = tmp_path / "d.zarr"
    taken = invoke(
        "ingest", tmp_path / "rows.csv", "--label", "none", "--task", "one-class", "--test",
        tmp_path / "test.csv", "--out", out,
    )  # fmt: skip
    assert taken.exit_code == 0, taken.output
    assert "labels of one-class: none" in taken.output
    assert "labels of one-class: +1: 200 rows, -1: 100 rows" in taken.output
    assert DataSet.open(out).n_features == made.X.shape[1]
    trained = invoke(
        "train", out, "--run", tmp_path / "run", "--workers", 0, "--task", "one-class", "--nu",
        0.1, "--gamma", 50, "--holdout", f"{out}/test",
    )  # fmt: skip
    assert trained.exit_code == 0, trained.output
    for data in (f"{out}/test", tmp_path / "test.csv"):
        shown = invoke("evaluate", tmp_path / "run", data, "--workers", 0, "--json")
        assert json.loads(shown.stdout)["auc"] > 0.9
    assert "AUC" in invoke("evaluate", tmp_path / "run", f"{out}/test", "--workers", 0).output
    done = invoke("predict", tmp_path / "run", tmp_path / "rows.csv", "--out", tmp_path / "p.csv")
    assert done.exit_code == 0, done.output
    planned = invoke("plan", out, "--nu", 0.1, "--gamma", 50)
    assert planned.exit_code == 0, planned.output
    exported = invoke("export", tmp_path / "run", tmp_path / "m.model", "--format", "libsvm")
    assert exported.exit_code == 0, exported.output


def test_rows_without_labels_are_not_evaluated(made: Made, tmp_path: Path) -> None:
    remedy = (
        r"add labels \+1 \(like the training rows\) or -1, or predict without them: dcsvm predict "
        r"\(in Python run.predict\)"
    )
    np.savetxt(tmp_path / "rows.csv", made.test, delimiter=",", fmt="%.9g")
    for data in (tmp_path / "rows.csv", made.test):
        with pytest.raises(InputError, match=f"no labels to compare predictions with; {remedy}"):
            made.run.evaluate(data, execution=HERE)


def test_rows_without_a_column_of_labels_are_not_evaluated(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).random((40, 2)), columns=["a", "b"])
    run = api.train(frame, tmp_path / "run", label="none", task="one-class", **HOW)
    with pytest.raises(InputError, match="no column is called label, target, class or y; add lab"):
        run.evaluate(frame, execution=HERE)
    assert run.evaluate(frame.assign(y=1), execution=HERE)["n_rows"] == 40


def test_a_pipeline_file_has_the_task(made: Made, tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", X_train=made.X, X_test=made.test, y_test=made.signs)
    (tmp_path / "p.toml").write_text(
        f"""
[data]
source = "rows.npz"
label = "none"
task = "one-class"

[[method]]
name = "dcsvm"
gamma = 50
nu = [0.05, 0.1]

[[method]]
name = "subsample"
fraction = 0.5
gamma = 50
nu = 0.1

[output]
run = "{tmp_path / "runs"}"
data = "{tmp_path / "data.zarr"}"
"""
    )
    found = invoke("run", tmp_path / "p.toml", "--workers", 0)
    assert found.exit_code == 0, found.output
    assert "auc" in found.output


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"nu": 0.0}, "nu must be a number above 0 and up to 1, got 0.0"),
        ({"nu": 1.5}, "nu must be a number above 0 and up to 1, got 1.5"),
        ({"nu": "x"}, "nu must be a number, got 'x'"),
        ({"C": 10.0}, "C: a one-class SVM has no C; leave it out, and give nu"),
        ({"epsilon": 0.1}, "epsilon: is a parameter of task regression, not of one-class"),
        ({"quantile": 0.1}, "quantile: is a parameter of task quantile, not of one-class"),
        ({"class_weight": "balanced"}, "class_weight: is for classes, and one-class learns no"),
        ({"committee": True}, "is for classes and regression, and one-class learns no classes"),
        ({"task": "classification"}, "ingested with --task one-class, but is to be trained with"),
        ({"task": "regression"}, "ingested with --task one-class, but is to be trained with"),
        (
            {"method": "nystrom"},
            "method nystrom is not for one-class; methods that are: dcsvm, dec",
        ),
        ({"method": "libsvm", "fit_intercept": True}, "method libsvm is not for one-class"),
    ],
)
def test_parameters_that_a_one_class_svm_does_not_have(
    made: Made, tmp_path: Path, words: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputError, match=why):
        api.train(made.data.place, tmp_path / "run", **words)
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_to_no_committee(made: Made) -> None:
    with pytest.raises(InputError, match=r"committee: is for classes and regression; .* one-class"):
        api.resume(made.run.url, committee=True, quiet=True)
    with pytest.raises(InputError, match="learns one-class, whose SVMs form no committee"):
        made.run.predict(made.test, mode="committee", level=1)


def test_data_that_do_not_fit(made: Made, tmp_path: Path) -> None:
    classes = api.ingest((made.test, made.signs), tmp_path / "c.zarr")
    with pytest.raises(InputError, match="ingest the source with --task one-class"):
        api.train(classes.place, tmp_path / "run", task="one-class")
    with pytest.raises(InputError, match=r"nu: is a parameter of .*, not of classification"):
        api.train(classes.place, tmp_path / "run", nu=0.1)
    with pytest.raises(InputError, match=r"with --task one-class; ingest both together"):
        api.train(made.data.place, tmp_path / "run", holdout=classes.place)
    one = api.ingest((made.X[:1], None), tmp_path / "one.zarr", task="one-class")
    with pytest.raises(InputError, match="needs at least 2 rows, got 1"):
        api.train(one.place, tmp_path / "run")
    with pytest.raises(InputError, match="a one-class SVM has no C"):
        api.search(made.data.place, tmp_path / "s", C=[1.0, 2.0])
