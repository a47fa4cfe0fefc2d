"""compress as a command and a method: a run that is used like any other, whole or not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.models import compression
from dcsvm_dask.prediction import compress as compressing
from dcsvm_dask.runtime.execution import Execution
from dcsvm_dask.storage.run import RunFolder
from tests.command_line import invoke
from tests.marks import long

HERE = Execution(workers=0)
KEYS = {
    "out",
    "support_before",
    "support",
    "bound",
    "change",
    "sample",
    "measured_on",
    "distance",
    "accuracy",
    "scored_rows",
    "scored_on",
    "seconds",
}
# distributed leaves a socket to the collector when its usual dashboard port is taken.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3)).astype(np.float32) * [1, 10, 100]
    wrong = rng.random(n) < 0.1
    return X, np.where((np.sin(7 * X[:, 0]) > X[:, 1] / 5 - 1) ^ wrong, "in", "out")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data sets with and without a test part, and runs: with a bias, sparse, of other methods."""
    home = tmp_path_factory.mktemp("home")
    (X, y), test = rows(500, 0), rows(200, 1)
    ingest((X, y), home / "d.zarr", test=test, scale="minmax")
    ingest((X, y), home / "alone.zarr", scale="minmax")
    ingest((sparse.csr_array(X), y), home / "s.zarr", scale="unit")
    table = np.column_stack([test[0].astype(str), test[1]])
    np.savetxt(home / "raw.csv", table, delimiter=",", fmt="%s")
    how: dict[str, Any] = {"gamma": 8.0, "C": 10.0, "execution": HERE, "quiet": True}
    api.train(home / "d.zarr", home / "run", fit_intercept=True, report=False, **how)
    api.train(home / "alone.zarr", home / "alone", report=False, **how)
    api.train(home / "s.zarr", home / "sparse", report=False, **how)
    api.train(home / "d.zarr", home / "stopped", levels=2, k=2, stop_at=2, report=False, **how)
    ingest((X, np.arange(500) % 3), home / "three.zarr")
    api.train(home / "three.zarr", home / "three", report=False, **how)
    how |= {"report": False}
    api.train(home / "d.zarr", home / "bag", method="bagging", members=2, **how)
    api.train(home / "d.zarr", home / "fourier", method="fourier", outputs=16, **how)
    api.train(home / "d.zarr", home / "greedy", method="greedy", basis=40, **how)
    api.train(home / "d.zarr", home / "sigmoid", kernel="sigmoid", **how)
    return home


def test_a_compressed_run_is_used_like_any_other(home: Path, tmp_path: Path) -> None:
    out, data = tmp_path / "out", home / "d.zarr/test"
    found = invoke("compress", home / "run", out, "--bound", "0.1", "--json", "--workers", "0")
    assert found.exit_code == 0, found.output
    value = json.loads(found.stdout)
    assert value.keys() == KEYS
    assert value["measured_on"] == value["scored_on"] == str(data)
    assert (value["sample"], value["scored_rows"]) == (200, 200)
    assert 0 < value["change"] <= 0.1
    assert value["support"] < 0.9 * value["support_before"]
    run, smaller = api.open_run(home / "run"), api.open_run(out)
    how: dict[str, Any] = {"precision": "float64", "execution": HERE}
    before = run.decision_function(data, **how)
    after = smaller.decision_function(data, **how)
    assert np.abs(after - before).max() == pytest.approx(value["change"], abs=1e-8)
    unseen = rows(500, 2)[0]
    changed = smaller.decision_function(unseen, **how) - run.decision_function(unseen, **how)
    assert 0 < np.abs(changed).max() <= value["distance"]
    evaluated = json.loads(invoke("evaluate", out, data, "--json", "--workers", "0").stdout)
    assert evaluated["accuracy"] == value["accuracy"]["after"]
    assert (evaluated["mode"], evaluated["n_support"]) == ("compressed", value["support"])
    assert run.evaluate(data, execution=HERE)["accuracy"] == value["accuracy"]["before"]
    raw = smaller.evaluate(home / "raw.csv", execution=HERE)
    assert raw["accuracy"] == evaluated["accuracy"]
    exported = invoke("export", out, "--format", "libsvm", tmp_path / "m.model")
    assert f"{value['support']} support vectors" in exported.stdout
    assert f"total_sv {value['support']}" in (tmp_path / "m.model").read_text()
    status = json.loads(invoke("status", out, "--json").stdout)
    reported = ("state", "method", "approximates", "converged", "n_support", "model")
    expected = ["complete", "compressed", True, False, value["support"], "model-compressed"]
    assert [status[key] for key in reported] == expected
    assert status["stages"]["model-compressed"]["source"].startswith("model-")
    assert sorted(path.name for path in out.iterdir()) == [
        "lock",
        "preparation.json",
        "run.json",
        "stages",
        "state",
    ]
    text = Path(invoke("report", out).stdout.split()[-1]).read_text()
    assert "dcsvm compress" in text
    with pytest.raises(InputError, match=r"mode: .* no exact prediction"):
        smaller.predict(unseen, mode="exact")
    with pytest.raises(InputError, match="of compressed are not"):
        smaller.to_sklearn()
    pytest.importorskip("onnx")
    graph = invoke("export", out, "--format", "onnx", tmp_path / "m.onnx")
    assert graph.exit_code == 0, graph.output


def test_what_it_prints(home: Path, tmp_path: Path) -> None:
    found = invoke("compress", home / "alone", tmp_path / "out", "--bound", "0.1")
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    names = ["support vectors", "largest change", "on any row", "accuracy", "seconds", "written to"]
    assert [line[:18].rstrip() for line in lines] == names
    assert "(bound 0.1) on 375 rows" in lines[1]  # of 500, a quarter is for fitting
    assert "alone.zarr/train" in lines[1]
    assert "support vectors left" in found.stderr
    quiet = invoke("compress", home / "alone", tmp_path / "two", "--bound", "0.1", "--quiet")
    assert quiet.stdout.splitlines()[:4] == lines[:4]
    assert quiet.stderr == ""


@pytest.mark.parametrize("name", ["d.zarr/test", "raw.csv"])
def test_rows_to_measure_on_are_taken(home: Path, tmp_path: Path, name: str) -> None:
    words = ["--bound", "0.2", "--data", home / name, "--sample", "50", "--seed", "3"]
    found = invoke("compress", home / "alone", tmp_path / "out", *words, "--json")
    assert found.exit_code == 0, found.output
    value = json.loads(found.stdout)
    assert (value["sample"], value["scored_rows"]) == (50, 200)
    assert value["measured_on"] == str(home / name)


def test_a_sparse_run_and_one_without_its_data(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "s.zarr", tmp_path / "gone.zarr")
    how: dict[str, Any] = {"gamma": 8.0, "C": 10.0, "execution": HERE, "quiet": True}
    api.train(tmp_path / "gone.zarr", tmp_path / "run", report=False, **how)
    run = api.open_run(tmp_path / "run")
    shutil.rmtree(tmp_path / "gone.zarr")
    with pytest.raises(InputError, match="are missing: give rows"):
        run.compress(tmp_path / "out", bound=0.1, execution=HERE)
    assert not (tmp_path / "out").exists()
    X, y = rows(200, 1)
    for place, data in (("out", (X, y)), ("sparse", (sparse.csr_array(X), y))):
        found = run.compress(tmp_path / place, bound=0.1, data=data, execution=HERE)
        assert found["change"] <= 0.1
        assert found["support"] < found["support_before"]
        after = api.open_run(tmp_path / place).decision_function(X, execution=HERE)
        assert np.abs(after - run.decision_function(X, execution=HERE)).max() <= 0.1001


@pytest.mark.parametrize("where", ["threads", long("workers")])
def test_it_is_the_same_whatever_carries_it(
    where: str,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    other = Execution() if where == "threads" else request.getfixturevalue("two_workers")
    monkeypatch.setattr(compression, "BLOCK", 64)  # several parts
    monkeypatch.setattr(compression, "MOST", 96)
    run, values = api.open_run(home / "run"), []
    for name, execution in (("here", HERE), ("there", other)):
        run.compress(tmp_path / name, bound=0.1, execution=execution)
        made = api.open_run(tmp_path / name)
        values.append(made.decision_function(home / "d.zarr/test", execution=HERE))
    assert (values[0] == values[1]).all()


def test_a_compressed_run_and_a_greedy_one_are_compressed(home: Path, tmp_path: Path) -> None:
    first = api.open_run(home / "greedy").compress(tmp_path / "a", bound=0.1, execution=HERE)
    again = api.open_run(tmp_path / "a").compress(tmp_path / "b", bound=1.0, execution=HERE)
    assert again["support"] < first["support"] == again["support_before"]


@pytest.mark.parametrize(
    ("run", "words", "message"),
    [
        ("run", ["--bound", "0"], "above 0"),
        ("run", ["--bound", "nan"], "a number"),
        ("run", ["--bound", "x"], "not a valid float"),
        ("run", [], "Missing option '--bound'"),
        ("run", ["--bound", "1", "--sample", "0"], "1 to 65536"),
        ("run", ["--bound", "1", "--seed", "-1"], "from 0"),
        ("run", ["--bound", "1", "--data", "nothing.csv"], "nothing.csv"),
        ("run", ["--bound", "1", "--data", "unlabelled.csv"], "unlabelled.csv"),
        ("nowhere", ["--bound", "1"], "there is no run"),
        ("stopped", ["--bound", "1"], "--stop-at 0"),
        ("bag", ["--bound", "1"], "bagging is not a single sum"),
        ("fourier", ["--bound", "1"], "fourier is not a single sum"),
        ("three", ["--bound", "1"], "SVMs of many classes"),
        ("sigmoid", ["--bound", "1"], "not positive semi-definite"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_leaves_nothing(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: str,
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(home)
    Path("unlabelled.csv").write_text("1,2\n3,4\n")
    found = invoke("compress", run, tmp_path / "out", *words)
    assert found.exit_code == 2
    assert message in found.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["run", "d.zarr"])
def test_what_lies_there_stays(home: Path, name: str) -> None:
    def seen() -> list[tuple[str, int]]:
        return sorted((str(p), p.stat().st_mtime_ns) for p in (home / name).rglob("*"))

    before = seen()
    found = invoke("compress", home / "run", home / name, "--bound", "0.1")
    assert found.exit_code == 2
    assert "name another folder" in found.stderr
    assert seen() == before


@pytest.mark.parametrize("broken", ["_largest", "write_state"])
def test_what_breaks_off_leaves_no_run(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    run = api.open_run(home / "run")
    with monkeypatch.context() as patch:
        patch.setattr(compressing, broken, fail)
        with pytest.raises(KeyboardInterrupt):
            run.compress(tmp_path / "out", bound=0.1, execution=HERE)
    assert not (tmp_path / "out").exists()
    run.compress(tmp_path / "out", bound=0.1, execution=HERE)


def test_it_is_no_run_before_all_is_written(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def begin(self: RunFolder) -> None:
        with pytest.raises(InputError, match="there is no run"):
            RunFolder.open(self.place)
        assert self.find("model-compressed", "commit") is not None
        seen.append(sorted(self.place.list()))
        real(self)

    real = RunFolder.begin
    monkeypatch.setattr(RunFolder, "begin", begin)
    api.open_run(home / "run").compress(tmp_path / "out", bound=0.1, execution=HERE)
    assert seen == [["lock", "preparation.json", "stages", "state"]]


def test_no_training_goes_on_from_it(home: Path, tmp_path: Path) -> None:
    api.open_run(home / "run").compress(tmp_path / "out", bound=0.1, execution=HERE)
    found = invoke("resume", tmp_path / "out", "--tol", "1e-4")
    assert found.exit_code == 2
    assert f"made of, {home / 'run'}" in found.stderr
    trained = invoke("train", home / "d.zarr", "--run", tmp_path / "x", "--method", "compressed")
    assert trained.exit_code == 2
    assert "is unknown" in trained.stderr
