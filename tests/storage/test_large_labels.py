"""Labels that no integer of 64 bits holds: they train, predict and are exported as any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.readers.labels import canonical
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.predictions import label_array
from tests.marks import long

HERE = api.Execution(workers=0)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3)).astype(np.float32)
Y = np.choose(np.digitize(X[:, 0], (-0.4, 0.4)), [-3.0, 7.0, 1e20])


def write(folder: Path, kind: str, y: Any) -> Path:
    path = folder / f"rows.{kind}"
    if kind == "csv":
        lines = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
        path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")
    elif kind == "svm":
        dump_svmlight_file(X, y, str(path), zero_based=False)
    else:
        np.savez(path, X=X, y=y)
    return path


@pytest.mark.parametrize("kind", ["csv", long("svm"), long("npz")])
@pytest.mark.parametrize("classes", [2, 3])
def test_labels_of_1e20(kind: str, classes: int, tmp_path: Path) -> None:
    y = Y if classes == 3 else np.where(Y > 7, Y, 7.0)
    path = write(tmp_path, kind, y)
    data = ingest(path, tmp_path / "d.zarr")
    assert data.classes == [-3, 7, 10**20][-classes:]
    run = api.train(data.place, tmp_path / "run", gamma=1.0, C=100.0, quiet=True, execution=HERE)
    np.testing.assert_array_equal(run.predict(path), y)
    out = tmp_path / "out.csv"
    run.predict_file(path, out)
    assert {line.split(",")[0] for line in out.read_text().split()[1:]} == {
        *("7.0", "1e+20"),
        *(["-3.0"] if classes == 3 else []),
    }
    for name in ("out.npy", "out.parquet", "out.zarr"):
        run.predict_file(path, tmp_path / name)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy")["label"], y)
    svc = run.to_sklearn()
    names = getattr(svc, "feature_names_in_", None)  # of CSV
    rows = X if names is None else pd.DataFrame(X, columns=names)
    np.testing.assert_array_equal(svc.predict(rows), y)
    run.export(tmp_path / "model")
    svmutil = pytest.importorskip("libsvm.svmutil")
    svm = svmutil.svm_load_model(str(tmp_path / "model"))
    assert sorted(svm.get_labels()) == ([-1, 1] if classes == 2 else [0, 1, 2])
    run.export(tmp_path / "model.onnx", format="onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    np.testing.assert_array_equal(session.run(["label"], {"rows": X})[0], y)
    found = CliRunner().invoke(main, ["evaluate", run.url, str(path), "--json"])
    assert found.exit_code == 0, found.output
    about = json.loads(found.stdout)
    assert about["accuracy"] == 1.0
    assert about["confusion"]["labels"] == data.classes
    again = ingest(tmp_path / "d.zarr", tmp_path / "e.zarr", shuffle=True)
    assert again.classes == data.classes
    assert again.counts == data.counts
    np.testing.assert_array_equal(DCSVC.from_run(run.url).predict(rows), y)


@pytest.mark.parametrize("where", ["memory", "run"])
def test_estimators_take_what_svc_takes(where: str, tmp_path: Path) -> None:
    run = str(tmp_path / "run") if where == "run" else None
    y = np.where(Y > 7, np.uint64(2**63), np.uint64(1))
    found = DCSVC(gamma=1.0, C=100.0, run=run).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), y)
    assert found.classes_.tolist() == [1, 2**63]


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
def test_estimators_refuse_what_svc_refuses() -> None:
    for kind in (SVC, DCSVC):
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            kind(gamma=1.0).fit(X, Y)


@pytest.mark.parametrize("text", ["9007199254740992", "100000000000000000000"])
def test_whole_numbers_that_float64_makes_one(text: str, tmp_path: Path) -> None:
    other = str(int(text) + 1)
    path = tmp_path / "rows.csv"
    path.write_text(f"1,{text}\n2,{other}\n3,5\n" * 2)
    data = ingest(path, tmp_path / "d.zarr")
    assert data.classes == [5, int(text), int(other)]
    assert DataSet.open(tmp_path / "d.zarr").classes == data.classes
    assert len(set(label_array(data.classes).tolist())) == 3
    path = tmp_path / "rows.svm"
    path.write_text(f"{text} 1:1\n5 1:2\n\n{other} 1:3\n")
    with pytest.raises(InputError, match=f"line 4: the label has more digits.*'{other}'"):
        list(open_source(path).blocks())


@pytest.mark.parametrize("text", ["1e400", "9" * 400, "-" + "9" * 400, "9" * 5000])
def test_numbers_that_are_infinite(text: str, tmp_path: Path) -> None:
    assert canonical(text) in (float("inf"), -float("inf"))
    for name, line in (("rows.csv", f"1,{text}\n"), ("rows.svm", f"{text} 1:1\n")):
        path = tmp_path / name
        path.write_text(line + "2,5\n" if name == "rows.csv" else line + "5 1:2\n")
        with pytest.raises(InputError, match=r"row 0 .* has no label"):
            ingest(path, tmp_path / "d.zarr")
