"""Tables as people have them: each is read right, or one sentence names its fix."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.preparing import json_lines
from dcsvm_dask.storage.dataset import DataSet

RNG = np.random.default_rng(0)
N = 60
A = RNG.integers(0, 50, N) / 4.0
B = RNG.integers(0, 9, N) * 1000.0
FLAG = RNG.random(N) < 0.5
JOB = RNG.choice(["admin", "nurse, senior", 'say "hi"'], N)
DAY = pd.Timestamp("2024-02-28") + pd.to_timedelta(np.arange(N), "D")
Y = np.where(A > 6, "in", "out")
FRAME = pd.DataFrame({"a": A, "b": B, "y": Y})
HOW: dict[str, Any] = {"scale": "none"}


def taken(source: Any, tmp_path: Path, **words: Any) -> DataSet:
    return api.ingest(source, tmp_path / "d.zarr", **{**HOW, **words})


def check(data: DataSet, *columns: Any) -> None:
    """Check features and labels against those of the frame."""
    rows = data.rows.read(0, data.n_rows)
    np.testing.assert_allclose(rows, np.column_stack(columns or (A, B)), rtol=1e-6)
    assert [data.classes[code] for code in data.read_codes(0, data.n_rows)] == Y.tolist()


def german(frame: pd.DataFrame) -> str:
    """Return a table with decimal commas, and dots between thousands."""
    lines = [
        f"{a:.2f}".replace(".", ",") + f";{b:,.0f}".replace(",", ".") + f";{y}"
        for a, b, y in frame.itertuples(index=False)
    ]
    return "\n".join(["a;b;y", *lines]) + "\n"


TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "decimal commas and thousands": (german(FRAME), {"decimal": ","}),
    "thousands in quotes": (
        "a,b,y\n" + "".join(f'{a},"{b:,.0f}",{y}\n' for a, b, y in FRAME.itertuples(index=False)),
        {},
    ),
    "a separator at the end of all lines": (
        FRAME.to_csv(index=False).replace("\n", ",\n"),
        {"label": "y"},
    ),
    "a separator at the end of rows": (
        FRAME.to_csv(index=False).replace("\n", ",\n").replace("y,\n", "y\n", 1),
        {},
    ),
    "comments before and between": (
        "# written by hand\n" + FRAME.to_csv(index=False).replace("\n", "\n# and so on\n", 3),
        {},
    ),
    "all cells in quotes": (FRAME.to_csv(index=False, quoting=1), {}),
    "carriage returns": (FRAME.to_csv(index=False, lineterminator="\r\n"), {}),
    "blanks around cells": (FRAME.to_csv(index=False).replace(",", " , "), {}),
    "bars": (FRAME.to_csv(index=False, sep="|"), {}),
    "no line of names": (FRAME.to_csv(index=False, header=False), {}),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_read_right(name: str, tmp_path: Path) -> None:
    text, words = TEXTS[name]
    (tmp_path / "t.csv").write_bytes(text.encode())
    check(taken(tmp_path / "t.csv", tmp_path, **words))


@pytest.mark.parametrize("word", [False, True])
def test_separators_at_the_end_of_long_rows(word: bool, tmp_path: Path) -> None:
    # The beginning of the file that is looked at ends within its third row.
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 2500)).round(4)).add_prefix("g")
    frame = frame.assign(**({"word": list("uvwuvwuvw")} if word else {}), y=[0, 1, 1] * 3)
    text = frame.to_csv(index=False).replace("\n", ",\n").replace("y,\n", "y\n", 1)
    (tmp_path / "t.csv").write_text(text)
    data = taken(tmp_path / "t.csv", tmp_path, label="y", one_hot="auto")
    np.testing.assert_allclose(data.rows.read(0, 9)[:, :2500], frame.filter(like="g"), rtol=1e-6)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_marked_encodings(encoding: str, tmp_path: Path) -> None:
    frame = FRAME.assign(größe=JOB)[["größe", "a", "b", "y"]]
    (tmp_path / "t.csv").write_bytes(frame.to_csv(index=False).encode(encoding))
    data = taken(tmp_path / "t.csv", tmp_path, one_hot="auto")
    check(data, *(word == JOB for word in sorted(set(JOB))), A, B)
    assert data.feature_names is not None
    assert data.feature_names[0] == "größe=admin"


def test_newlines_in_quotes_and_the_line_of_an_error_after_them(tmp_path: Path) -> None:
    frame = FRAME.assign(note="two\nlines, and\nthree")[["note", "a", "b", "y"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    check(taken(tmp_path / "t.csv", tmp_path, drop=["note"]))
    broken = frame.astype({"b": object})
    broken.loc[4, "b"] = "12k"
    broken.to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(
        InputError, match=r"b\.csv, line 14: column 3 \('b'\) is not a number: '12k'"
    ):
        taken(tmp_path / "b.csv", tmp_path / "b", drop=["note"])


@pytest.mark.parametrize("words", [("True", "False"), ("yes", "no"), ("T", "F"), ("Y", "N")])
def test_words_for_yes_and_no_are_1_and_0(words: tuple[str, str], tmp_path: Path) -> None:
    frame = FRAME.assign(f=np.where(FLAG, *words))[["a", "f", "y"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    check(taken(tmp_path / "t.csv", tmp_path), A, FLAG)


def typed() -> pd.DataFrame:
    frame = FRAME.assign(f=FLAG, job=pd.Categorical(JOB), day=DAY)
    return frame[["a", "f", "job", "day", "y"]]


def wanted() -> list[Any]:
    days = [DAY.year, DAY.month, DAY.day, DAY.day_of_week]
    return [A, FLAG, *(word == JOB for word in sorted(set(JOB))), *days]


@pytest.mark.parametrize("form", ["pandas", "polars", "parquet", "csv", "csv.gz", "json lines"])
def test_the_same_table_in_any_form_has_the_same_features(form: str, tmp_path: Path) -> None:
    frame = typed()
    source: Any = tmp_path / f"t.{form.replace(' ', '')}"
    if form == "pandas":
        source = frame
    elif form == "polars":
        source = pl.from_pandas(frame)
    elif form == "parquet":
        frame.to_parquet(source)
    elif form == "csv":
        frame.to_csv(source, index=False)
    elif form == "csv.gz":
        source.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    else:
        days = frame.assign(day=frame.day.dt.strftime("%Y-%m-%d"))
        days.to_json(source, orient="records", lines=True)
    data = taken(source, tmp_path, one_hot=["job"], dates="parts")
    check(data, *wanted())


def test_targets_have_decimal_commas_too(tmp_path: Path) -> None:
    FRAME.assign(y=A)[["b", "y"]].to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    data = taken(tmp_path / "t.csv", tmp_path, decimal=",", task="regression")
    np.testing.assert_array_equal(data.read_y(0, N), A)


def test_names_without_rows_are_an_empty_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n")
    with pytest.raises(InputError, match="empty: it holds no rows"):
        taken(tmp_path / "t.csv", tmp_path, one_hot="auto")


def test_labels_that_lack_are_named_with_their_line(tmp_path: Path) -> None:
    frame = FRAME.assign(f=np.where(FLAG, "yes", "no"), y=np.where(np.arange(N) == 5, None, Y))
    frame[["a", "f", "y"]].to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="line 7: the label is empty"):
        taken(tmp_path / "t.csv", tmp_path)


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    frame = FRAME.assign(d=pd.to_timedelta(B, "D"))[["a", "d", "y"]]
    with pytest.raises(InputError, match=r"the column 'd' is of type duration.*--drop d"):
        taken(frame, tmp_path)


def test_lines_of_json_with_values_of_several_types(tmp_path: Path) -> None:
    lines = [
        f'{{"a": {a}, "b": {b if k % 2 else chr(34) + str(b) + chr(34)}, "y": "{y}"}}'
        for k, (a, b, y) in enumerate(FRAME.itertuples(index=False))
    ]
    (tmp_path / "t.jsonl").write_text("\n\n".join(lines))
    check(taken(tmp_path / "t.jsonl", tmp_path))


def test_arrays_of_an_archive_are_chosen(tmp_path: Path) -> None:
    rows = FRAME[["a", "b"]].to_numpy()
    np.savez(tmp_path / "t.npz", features=rows, kinds=Y, other=rows[:3])
    check(taken(tmp_path / "t.npz", tmp_path, data="features", target="kinds"))
    with pytest.raises(InputError, match=r"no array X_train; there are: features, kinds, other"):
        taken(tmp_path / "t.npz", tmp_path / "x")
    with pytest.raises(InputError, match="no array nothing; there are: features"):
        taken(tmp_path / "t.npz", tmp_path / "x", data="nothing", target="kinds")
    run = api.train(
        tmp_path / "d.zarr", tmp_path / "run", execution=api.Execution(workers=0), quiet=True,
        report=False,
    )  # fmt: skip
    assert len(run.predict(tmp_path / "t.npz")) == N


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.xlsx", b"PK\x03\x04rest", "is a spreadsheet: save the sheet as CSV"),
        ("t.xls", b"\xd0\xcf\x11\xe0rest", "is a spreadsheet: save the sheet as CSV"),
        ("t.zip", b"PK\x03\x04rest", "is a zip archive: unpack it"),
        ("t.feather", b"ARROW1\0\0", "is an Arrow .Feather. file: write it as Parquet"),
        ("t.pkl", b"\x80\x04\x95\0\0", "is a pickle, which may run code when it is read"),
        ("t.html", b"<!DOCTYPE html><p>", "is a web page: save the table"),
        ("t.h5", b"\x89HDF\r\n", "is an HDF5 file: write its table as Parquet"),
        ("t.arff", b"@relation t\n", "is an ARFF file: write its rows as CSV"),
        ("t.json", b'[{"a": 1}]', "holds one JSON array; write an object in each line"),
        ("t.jsonl", b'{"a": 1}\n{"a": 1', "line 2: is not JSON"),
        ("t.jsonl", b'{"a": {"b": 1}, "c": 1, "y": 1}\n' * 3, "column 'a' has an object"),
    ],
)
def test_what_is_not_read_is_named_with_its_fix(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        taken(tmp_path / name, tmp_path)
    assert name in str(caught.value)
    assert not (tmp_path / "d.zarr").exists()


def test_a_line_with_other_cells_is_named(tmp_path: Path) -> None:
    text = FRAME.assign(f=np.where(FLAG, "yes", "no"))[["a", "f", "y"]].to_csv(index=False)
    lines = text.splitlines()
    lines[7] += ",more"
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"t\.csv, line 8: more than 3 cells"):
        taken(tmp_path / "t.csv", tmp_path)


@pytest.mark.parametrize("late", ['"1,250"', " 1250 ", "NA"])
def test_a_column_whose_first_cells_are_plain_numbers_may_have_other_ones(
    late: str, tmp_path: Path
) -> None:
    """Such columns are read as numbers at first, and as words where that fails."""
    lines = [f"{k},{'pq'[k % 2]},{late if k == 2500 else k / 2},{k // 2 % 2}" for k in range(3000)]
    (tmp_path / "t.csv").write_text("\n".join(["nr,k,a,y", *lines]) + "\n")
    how: dict[str, Any] = {"drop": ["nr"], "one_hot": ["k"], "missing": "median"}
    data = taken(tmp_path / "t.csv", tmp_path, **how)
    found = data.rows.read(0, data.n_rows)[:, 2]
    wanted = np.arange(3000) / 2
    wanted[2500] = np.median(np.delete(wanted, 2500)) if late == "NA" else 1250
    np.testing.assert_array_equal(found, wanted.astype(np.float32))


def test_a_word_far_down_is_named_with_its_line(tmp_path: Path) -> None:
    lines = [f"{'pq'[k % 2]},{'much' if k == 2500 else k / 2},{k % 2}" for k in range(3000)]
    (tmp_path / "t.csv").write_text("\n".join(["k,a,y", *lines]) + "\n")
    with pytest.raises(InputError, match=r"line 2502: column 2 \('a'\) is not a number: 'much'"):
        taken(tmp_path / "t.csv", tmp_path, one_hot=["k"])


def test_a_table_without_features_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes(b"+  nan,\n-.,")
    with pytest.raises(InputError, match="no column is left for features, beside the label"):
        open_source(str(path))


def test_a_key_that_comes_late_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "LOOKED_AT", 3)
    lines = [f'{{"a": {k}, "y": "{k % 2}"}}' for k in range(6)]
    late = '{"a": 6, "late": 1.5, "y": "0"}'
    (tmp_path / "t.jsonl").write_text("\n".join([*lines, late]))
    with pytest.raises(InputError, match=r"line 7: has the key 'late', which none of the first 3"):
        taken(tmp_path / "t.jsonl", tmp_path)
    (tmp_path / "t.jsonl").write_text("\n".join([late, *lines]))
    data = taken(tmp_path / "t.jsonl", tmp_path, missing="median")
    assert data.feature_names == ["a", "late"]


def test_dots_of_targets_may_separate_thousands(tmp_path: Path) -> None:
    prices = ["850", "42.202", "1.500", "77"] * 10
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"{k}.5,{price}\n" for k, price in enumerate(prices)))
    with pytest.warns(DcsvmWarning, match="the column 'y' with a dot, such as '42.202', all have"):
        taken(path, tmp_path, task="regression", label="y")
    path.write_text(path.read_text() + "99.5,3.25\n")  # a decimal
    taken(path, tmp_path, task="regression", label="y", overwrite=True)


@pytest.mark.parametrize("form", [{}, {"missing": "median"}], ids=["as they are", "prepared"])
def test_decimals_of_parquet_are_numbers(form: dict[str, Any], tmp_path: Path) -> None:
    kind = pa.decimal128(8, 2)
    codes = pa.array(np.arange(N) % 2).cast(pa.decimal128(20, 0))
    cells = {"a": pa.array(A).cast(kind), "b": pa.array(B).cast(kind), "y": codes}
    pq.write_table(pa.table(cells), tmp_path / "t.parquet")
    data = taken(tmp_path / "t.parquet", tmp_path, **form)
    rows = data.rows.read(0, N)
    np.testing.assert_allclose(rows, np.column_stack([A, B]), rtol=1e-6)
    assert [*data.classes] == [0, 1]
    assert data.read_codes(0, N).tolist() == [k % 2 for k in range(N)]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (pa.array(["in", None] * (N // 2)), "row 1 .* has no label; leave rows without one out"),
        (pa.array([b"in", b"out"] * (N // 2)), "labels of type binary .*; write them as numbers"),
    ],
    ids=["null", "bytes"],
)
def test_labels_of_parquet_that_are_none(labels: Any, message: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array(A), "y": labels}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=message):
        taken(tmp_path / "t.parquet", tmp_path)
