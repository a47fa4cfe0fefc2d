"""predict, evaluate and export as commands, on a small run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.runtime.execution import Execution
from tests.command_line import invoke

HERE = Execution(workers=0)
# distributed leaves a socket to the collector when its usual dashboard port is taken.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with a test part, a run with a level and an exact model, and one that stopped."""
    home = tmp_path_factory.mktemp("home")
    rng = np.random.default_rng(0)
    X = rng.random((700, 3)).astype(np.float32) * [1, 10, 100]
    y = np.where(np.sin(7 * X[:, 0]) > X[:, 1] / 5 - 1, "in", "out")
    ingest((X[:500], y[:500]), home / "d.zarr", test=(X[500:], y[500:]), scale="minmax")
    np.savetxt(home / "raw.csv", X[500:], delimiter=",", fmt="%.9g")
    how: dict[str, Any] = {"gamma": 8.0, "C": 10.0, "execution": HERE, "quiet": True}
    api.train(home / "d.zarr", home / "run", levels=1, k=3, tol=1e-4, **how)
    api.train(home / "d.zarr", home / "stopped", levels=2, k=2, stop_at=2, **how)
    return home


def test_predict_writes_labels_and_decisions(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    found = invoke("predict", home / "run", home / "d.zarr/test", "--out", out, "--workers", 0)
    assert found.exit_code == 0, found.output
    assert "200 rows, exact prediction" in found.stdout
    lines = out.read_text().splitlines()
    assert lines[0] == "label,decision"
    run = api.open_run(home / "run")
    values = run.decision_function(home / "d.zarr/test", execution=HERE)
    assert [float(line.split(",")[1]) for line in lines[1:]] == values.tolist()
    assert [line.split(",")[0] for line in lines[1:]] == np.where(values > 0, "out", "in").tolist()
    quiet = invoke(
        "predict", home / "run", home / "raw.csv", "--out", out, "--quiet", "--overwrite"
    )
    assert (quiet.exit_code, quiet.output) == (0, "")
    assert len(out.read_text().splitlines()) == 201


@pytest.mark.parametrize("mode", ["exact", "early", "naive"])
def test_evaluate_prints_one_json_object_and_nothing_else(home: Path, mode: str) -> None:
    found = invoke("evaluate", home / "run", home / "d.zarr/test", "--json", "--mode", mode)
    assert found.exit_code == 0, found.output
    value = json.loads(found.stdout)
    assert {
        "accuracy",
        "balanced_accuracy",
        "largest_class",
        "precision",
        "recall",
        "f1",
        "average",
        "by_class",
        "roc_auc",
        "confusion",
        "warnings",
        "notes",
        "n_support",
        "ms_per_row",
        "n_rows",
        "mode",
        "level",
    } == set(value)
    assert value["mode"] == mode
    assert value["n_rows"] == np.sum(value["confusion"]["matrix"]) == 200
    assert 0.8 < value["accuracy"] <= 1
    text = invoke("evaluate", home / "run", home / "d.zarr/test", "--mode", mode, "--quiet")
    assert f"accuracy           {value['accuracy']:.5f}" in text.stdout
    assert f"AUC                {value['roc_auc']:.5f}" in text.stdout
    most = max(one["rows"] for one in value["by_class"])
    assert f"largest class      {most / 200:.5f}" in text.stdout
    assert "warning" not in text.stdout
    for one in value["by_class"]:
        three = f"{one['precision']:9.4f}  {one['recall']:.4f}  {one['f1']:.4f}  {one['rows']:6}"
        assert f"{one['label']:>17}  {three}" in text.stdout
    assert "macro average" not in text.stdout
    assert text.stderr == ""


def test_a_part_that_was_not_named_is_said(home: Path) -> None:
    found = invoke("evaluate", home / "run", home / "d.zarr", "--json")
    assert json.loads(found.stdout)["n_rows"] == 500
    assert "d.zarr/test is its test part" in found.stderr


def test_a_run_that_stopped_at_a_level_predicts_early(home: Path) -> None:
    value = json.loads(invoke("evaluate", home / "stopped", home / "d.zarr/test", "--json").stdout)
    assert (value["mode"], value["level"]) == ("early", 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "run", "d.zarr/test", "--out", "p.txt"], "extension '.txt'"),
        (["predict", "run", "d.zarr/test", "--out", "p.csv", "--level", "4"], "level 4"),
        (["predict", "stopped", "raw.csv", "--out", "p.csv", "--mode", "exact"], "--stop-at 0"),
        (["predict", "nowhere", "raw.csv", "--out", "p.csv"], "there is no run"),
        (["predict", "run", "nothing.csv", "--out", "p.csv"], "nothing.csv"),
        (["predict", "run", "wide.csv", "--out", "p.csv"], "3 features"),
        (["predict", "run", "bad.csv", "--out", "p.csv"], "line 2"),
        (["evaluate", "run", "raw.csv"], "no labels"),
        (["export", "stopped", "--format", "libsvm", "m.model"], "exact model is not committed"),
        (["export", "run", "--format", "pmml", "m.model"], "libsvm"),
        (["predict", "run", "raw.csv", "--out", "p.csv", "--workers", "-1"], "workers"),
        (
            ["predict", "run", "raw.csv", "--out", "p.csv", "--workers", "1", "--scheduler", "x"],
            "not both",
        ),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_status_2(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(home)
    Path("wide.csv").write_text("1,2,3,4,5\n")
    Path("bad.csv").write_text("1,2,3\n1,x,3\n")
    found = invoke(*words)
    assert found.exit_code == 2
    assert message in found.stderr
    assert "Traceback" not in found.output
    assert not [p.name for p in home.iterdir() if p.name.startswith((".p", "p.", "m.model"))]


def test_export_says_where_things_are(home: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.model"
    found = invoke("export", home / "run", "--format", "libsvm", model)
    assert found.exit_code == 0, found.output
    assert f"written to {model}" in found.stdout
    assert "1 stands for 'out', -1 for 'in'" in found.stderr
    assert f"svm-scale -r {model}.range" in found.stderr
    assert model.read_text().startswith("svm_type c_svc\nkernel_type rbf\ngamma 8\n")
    assert Path(f"{model}.range").exists()


def test_export_to_onnx_says_what_the_graph_takes(home: Path, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model = tmp_path / "m.onnx"
    found = invoke("export", home / "run", "--format", "onnx", model)
    assert found.exit_code == 0, found.output
    assert f"written to {model}" in found.stdout
    assert "MB of memory for each row of a batch" in found.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]
    rows = np.loadtxt(home / "raw.csv", delimiter=",", dtype=np.float32)
    labels, _ = runtime.InferenceSession(str(model)).run(None, {"rows": rows})
    assert set(labels) == {"in", "out"}


@pytest.mark.long
def test_workers_predict_what_this_process_does(home: Path, tmp_path: Path) -> None:
    outs = []
    for workers in (0, 2):
        out = tmp_path / f"{workers}.npy"
        words = ["predict", home / "run", home / "d.zarr/test", "--out", out, "--workers", workers]
        found = invoke(*words, "--precision", "float64")
        assert found.exit_code == 0, found.output
        outs.append(np.load(out))
    assert np.array_equal(*outs)
    assert outs[0]["label"].tolist()[0] in ("in", "out")


def test_a_scheduler_that_runs_already_predicts_too(home: Path) -> None:
    distributed = pytest.importorskip("distributed")
    words = ["evaluate", home / "run", home / "labelled.csv", "--json", "--quiet"]
    data = np.loadtxt(home / "raw.csv", delimiter=",")
    truth = api.open_run(home / "run").predict(data, execution=HERE)
    lines = [
        ",".join([*map(repr, row.tolist()), label]) for row, label in zip(data, truth, strict=True)
    ]
    (home / "labelled.csv").write_text("\n".join(lines) + "\n")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        found = invoke(*words, "--scheduler", cluster.scheduler_address)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["accuracy"] == 1.0


@pytest.mark.parametrize("command", ["predict", "evaluate", "compress"])
def test_rows_in_another_encoding(home: Path, tmp_path: Path, command: str) -> None:
    text = (home / "raw.csv").read_text().replace("\n", ",in\n")
    (tmp_path / "raw.csv").write_bytes(text.encode("utf-16-le"))
    words: dict[str, list[object]] = {
        "predict": ["predict", home / "run", tmp_path / "raw.csv", "--out", tmp_path / "p.csv"],
        "evaluate": ["evaluate", home / "run", tmp_path / "raw.csv"],
        "compress": ["compress", home / "run", tmp_path / "small", "--data", tmp_path / "raw.csv"],
    }
    more = ["--workers", 0, *(["--bound", 0.5] if command == "compress" else [])]
    refused = invoke(*words[command], *more)
    assert refused.exit_code == 2
    assert "needs --encoding utf-16-le" in refused.stderr
    found = invoke(*words[command], *more, "--encoding", "utf-16-le")
    assert found.exit_code == 0, found.output
