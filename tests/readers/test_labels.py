"""Labels: what counts as one class, their order, and what is refused."""

from __future__ import annotations

import json
import math
from decimal import Decimal
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
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators import DCSVC
from dcsvm_dask.readers.label_array import label_array
from dcsvm_dask.readers.labels import LabelTable, canonical, choose_classes
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.storage.dataset import DataSet
from tests.marks import long


def table(*blocks: Any) -> LabelTable:
    found = LabelTable("FILE")
    for block in blocks:
        found.add(np.asarray(block))
    return found


@pytest.mark.parametrize("value", [1, 1.0, "1", "+1", "1.0", " 1 ", "1e0", True, np.uint8(1)])
def test_one_number_is_one_class(value: Any) -> None:
    label = canonical(value)
    assert label == 1
    assert type(label) is (bool if isinstance(value, bool) else int)


@pytest.mark.parametrize(
    ("value", "label"), [("a b ", "a b"), (0.5, 0.5), ("0.50", 0.5), ("1_0", "1_0")]
)
def test_other_labels(value: Any, label: Any) -> None:
    assert canonical(value) == label


@pytest.mark.parametrize(
    ("blocks", "classes"),
    [
        ([[1, -1, 1]], [-1, 1]),
        ([[2.0, 1.0], [1.5]], [1, 1.5, 2]),
        ([["yes", "no"]], ["no", "yes"]),
        ([np.array(["yes", "no"], object), np.array([b"no", b"a"])], ["a", "no", "yes"]),
        ([np.array(["x", "1"], np.dtypes.StringDType())], [1, "x"]),
        ([["10", "9"], ["x"]], [9, 10, "x"]),
        ([np.array([2, 1.5, np.int8(1)], object)], [1, 1.5, 2]),
        ([np.array([True, False], object)], [False, True]),
        ([np.array([1, "b", 1.0], object), np.array(["1"], object)], [1, "b"]),
        ([[True, False]], [0, 1]),
        ([[10**17 + 1, 3]], [3, 10**17 + 1]),
    ],
)
def test_classes_are_sorted(blocks: Any, classes: Any) -> None:
    found, codes = choose_classes(table(*blocks), None)
    assert found == classes
    assert [found[codes[label]] for label in found] == found


def test_codes_and_counts_over_blocks() -> None:
    found = LabelTable("FILE")
    first = found.add(np.array([5, 3, 5]))
    second = found.add(np.array(["3", "b"]))
    assert [found.labels[c] for c in [*first, *second]] == [5, 3, 5, 3, "b"]
    assert found.counts == [2 if v != "b" else 1 for v in found.labels]
    assert {v: found.first_rows[k] for k, v in enumerate(found.labels)} == {5: 0, 3: 1, "b": 4}


def test_positive_labels_make_two_classes() -> None:
    classes, codes = choose_classes(table([0, 1, 2, 3]), ["3", 1.0])
    assert classes == [-1, 1]
    assert codes == {0: 0, 1: 1, 2: 0, 3: 1}
    assert choose_classes(table(["a", "b", "c"]), ["a"])[1] == {"a": 1, "b": 0, "c": 0}
    with pytest.raises(InputError, match=r"--positive 7: FILE has no such label, but 0, 1"):
        choose_classes(table([0, 1]), ["7"])
    with pytest.raises(InputError, match="has every label of FILE"):
        choose_classes(table([0, 1]), [0, 1])


@pytest.mark.parametrize("bad", [[1.0, np.nan], [1.0, np.inf], ["a", ""], ["a", "nan"], ["a", "?"]])
def test_missing_labels_are_refused(bad: Any) -> None:
    found = table([1, 2, 3])
    with pytest.raises(InputError, match=r"FILE: row 4 .* has no label"):
        found.add(np.asarray(bad))


def test_labels_that_are_no_classes_are_refused() -> None:
    with pytest.raises(InputError, match="cannot be classes: 5000 or more distinct"):
        table(np.arange(5000) / 7)
    with pytest.raises(InputError, match=r"cannot be classes: 1[0-9]+ or more distinct"):
        table(*np.arange(2000).reshape(20, 100))
    found = table(np.arange(100) % 51)
    with pytest.raises(
        InputError, match="cannot be classes: 51 or more distinct values in 100 rows"
    ):
        found.check_classes()
    table(np.arange(100) % 50).check_classes()
    table([1, 2]).check_classes()
    with pytest.raises(InputError, match="every row has the label 4"):
        table([4, 4, 4]).check_classes()
    for wrong in ([1j, 2], np.array([1j, 2], object), np.array([(1, 2), (3,)], object)):
        with pytest.raises(InputError, match="neither numbers nor strings"):
            table(wrong)


@pytest.mark.parametrize("gone", [None, math.nan, pd.NA, pd.NaT])
def test_a_label_that_is_missing_among_words_is_named_by_its_row(gone: Any) -> None:
    with pytest.raises(InputError, match=r"row 3 \(counted from 0\) has no label: "):
        table(np.array(["a", "b"], object), np.array(["a", gone], object))


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


@pytest.mark.one_quick
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
    with pytest.warns(DcsvmWarning, match="trained on scaled rows"):
        estimator = DCSVC.from_run(run.url)
    np.testing.assert_array_equal(estimator.predict(run.scale(rows)), y)


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
        with pytest.raises(InputError, match=r"rows\.\w+, line 1: has no label"):
            ingest(path, tmp_path / "d.zarr")


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("form", ["text", "comma", "parquet"])
def test_large_decimals_stay_distinct(form: str, words: bool, tmp_path: Path) -> None:
    large = [2**53, 2**53 + 1]
    if form == "parquet":
        columns = {"a": [1.5, 2.0, 3.0] * 2, "y": [Decimal(f"{k}.00") for k in large] * 3}
        if words:
            columns["c"] = ["u", "v", "v"] * 2
        path = tmp_path / "rows.parquet"
        pd.DataFrame(columns).to_parquet(path)
    else:
        mark = "," if form == "comma" else "."
        rows = [f"{a}{mark}5;{'uv'[a % 2] if words else a};{large[a % 2]}" for a in range(6)]
        path = tmp_path / "rows.csv"
        path.write_text("\n".join(["a;c;y", *(f"{row}{mark}0" for row in rows)]) + "\n")
    how = {"decimal": ","} if form == "comma" else {}
    data = ingest(path, tmp_path / "d.zarr", label="y", one_hot="auto", **how)
    assert data.classes == large


@pytest.mark.parametrize("given", ["true", "TRUE", "True", "1"])
def test_positive_labels_in_any_case(given: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "1,True\n2,False\n3,False\n" * 4)
    data = ingest(path, tmp_path / "d.zarr", positive=[given])
    assert data.positive == ["True"]
    assert data.read_codes(0, 3).tolist() == [1, 0, 0]


def test_a_positive_label_that_differs_by_case_from_two_is_refused() -> None:
    words = table(np.array(["Yes", "yes", "no"]))
    with pytest.raises(InputError, match="--positive YES"):
        choose_classes(words, ["YES"])
    assert choose_classes(words, ["Yes"])[1] == {"Yes": 1, "yes": 0, "no": 0}
