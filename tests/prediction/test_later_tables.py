"""Tables that differ from the training table are read as they are meant, or refused."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError

N = 60
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=N).round(2), RNG.integers(0, 9, N) / 4.0
Y = np.where(A + B > 1, "außen", "in")
FRAME = pd.DataFrame({"größe": A, "b": B, "y": Y})
HOW: dict[str, Any] = {"execution": api.Execution(workers=0), "quiet": True, "report": False}
Trained = Callable[..., api.Run]


@pytest.fixture
def trained(tmp_path: Path) -> Trained:
    def train(source: Any, **how: Any) -> api.Run:
        data = api.ingest(source, tmp_path / "d.zarr", **how)
        return api.train(data.place, tmp_path / "run", gamma=1.0, **HOW)

    return train


def csv(path: Path, frame: pd.DataFrame = FRAME, encoding: str = "utf-8", **how: Any) -> Path:
    path.write_bytes(frame.to_csv(index=False, **how).encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_a_later_text_in_another_encoding(encoding: str, trained: Trained, tmp_path: Path) -> None:
    run = trained(csv(tmp_path / "t.csv", encoding=encoding), encoding=encoding)
    later, out = csv(tmp_path / "l.csv"), tmp_path / "out.csv"
    for call in (run.predict, run.evaluate, lambda path: run.predict_file(path, out, keep=["b"])):
        with pytest.raises(InputError, match=r"seems to be utf-8, but .*: give --encoding utf-8, "):
            call(later)
    wanted = run.predict(tmp_path / "t.csv")
    np.testing.assert_array_equal(run.predict(later, encoding="utf-8"), wanted)
    plain = FRAME.rename(columns={"größe": "a"})
    later = csv(tmp_path / "ascii.csv", plain.drop(columns="y"))
    with pytest.raises(InputError, match="lacks 1 of the 2 features"):  # nothing to be seen
        run.predict(later)


def test_names_that_differ_by_case_or_blanks(trained: Trained, tmp_path: Path) -> None:
    run = trained(csv(tmp_path / "t.csv"))
    for name, other in (("GRÖSSE", None), ("Größe", "Größe"), ("b ", "b")):
        column = "b" if name == "b " else "größe"
        later = csv(tmp_path / "l.csv", FRAME.rename(columns={column: name}))
        if other == "b":
            run.predict(later)  # blanks around names count for nothing in a text
            FRAME.rename(columns={column: name}).to_parquet(tmp_path / "l.parquet")
            later, other = tmp_path / "l.parquet", name
        with pytest.raises(InputError, match=f"rename '{name}' to '{column}', and others alike$"):
            run.predict(later)


def test_flags_that_are_1_and_0_later(trained: Trained, tmp_path: Path) -> None:
    flag = np.arange(N) % 3 == 0
    words = np.where(flag, "yes", "no")
    run = trained(csv(tmp_path / "t.csv", FRAME.assign(f=words)), label="y")
    wanted = run.decision_function(tmp_path / "t.csv")
    for values in (flag.astype(int), flag.astype(float), flag):
        later = csv(tmp_path / "l.csv", FRAME.assign(f=values))
        np.testing.assert_array_equal(run.decision_function(later), wanted)
    later = csv(tmp_path / "l.csv", FRAME.assign(f=2 * flag.astype(int)))
    with pytest.raises(InputError, match=r"line 2: column 4 \('f'\) is neither yes nor no: '2'"):
        run.predict(later)


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("prepared", [False, True])
def test_yes_and_no_where_the_training_rows_have_numbers(
    prepared: bool, kind: str, trained: Trained, tmp_path: Path
) -> None:
    frame = FRAME.assign(n=RNG.integers(6, 996, N), w=np.where(B > 1, "u", "v"), f=B > 1)
    frame = frame if prepared else frame.drop(columns="w")
    run = trained(frame, label="y", **({"one_hot": "auto"} if prepared else {}))

    def warned(later: Any) -> list[str]:
        source: Any = later
        if kind == "csv":
            source = csv(tmp_path / "l.csv", later)
        elif kind == "parquet":
            source = tmp_path / "l.parquet"
            later.to_parquet(source)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            run.predict(source)
        return [str(one.message) for one in found]

    (said,) = warned(frame.assign(n=B > 1))
    low, high = frame["n"].min(), frame["n"].max()
    assert said.endswith(
        "the column 'n' holds yes and no, which are taken for 1 and 0, and the training rows have "
        f"{low} to {high} there: compare it with the training table, and write numbers of its kind"
    )
    assert warned(frame) == []
    assert warned(frame.assign(f=1 * (B > 1))) == []


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize(
    ("word", "remedy"),
    [
        ("1,234", "1234, without separators of thousands, or 1.234 where the comma begins the dec"),
        ("-1,234,567", "-1234567, without separators of thousands, and others alike"),
        ("12,345.5", "12345.5, without separators of thousands, and others alike"),
        ("1'234", "1234, without separators of thousands, and others alike"),
        ("1 234", "1234, without separators of thousands, and others alike"),
    ],
)
def test_thousands_far_down_in_a_later_table(
    word: str, remedy: str, separator: str, trained: Trained, tmp_path: Path
) -> None:
    run = trained(csv(tmp_path / "t.csv"))
    rows, path = 20_000, tmp_path / "l.csv"
    cells = ["1.25"] * rows + [f'"{word}"' if separator in word else word]
    lines = [f"{cell}{separator}0.5" for cell in cells]
    path.write_text("\n".join([f"größe{separator}b", *lines]) + "\n", encoding="utf-8")
    said = rf"line {rows + 2}: column 1 \('größe'\) is not a number: .*; write {remedy}"
    with pytest.raises(InputError, match=said):
        run.predict(path)


def test_numbers_that_are_words_in_parquet_later(trained: Trained, tmp_path: Path) -> None:
    run = trained(csv(tmp_path / "t.csv"))
    wanted, path = run.decision_function(tmp_path / "t.csv"), tmp_path / "l.parquet"
    for column in (pa.array(map(str, A)), pa.array(A).dictionary_encode()):
        pq.write_table(pa.table({"b": B, "größe": column}), path)
        np.testing.assert_array_equal(run.decision_function(path), wanted)
    pq.write_table(pa.table({"b": B, "größe": [*map(str, A[1:]), "high"]}), path)
    said = rf"row {N - 1}.*: column größe|row {N - 1} .*'größe'\) is not a number: 'high'"
    with pytest.raises(InputError, match=said):
        run.predict(path)


def test_labels_of_an_archive_have_one_of_their_usual_names(
    trained: Trained, tmp_path: Path
) -> None:
    rows = np.column_stack([A, B])
    np.savez(tmp_path / "t.npz", X_train=rows, y_train=Y)
    np.savez(tmp_path / "l.npz", X=rows, y=Y)
    run = trained(tmp_path / "t.npz")
    assert run.evaluate(tmp_path / "l.npz")["n_rows"] == N
    np.savez(tmp_path / "l.npz", X=rows, kind=Y)
    with pytest.raises(InputError, match="no labels y_train; there are: X, kind"):
        run.evaluate(tmp_path / "l.npz")


def test_an_open_quotation_mark_says_how_it_is_written(tmp_path: Path) -> None:
    words = [r'"a \" b"'] * N
    path = tmp_path / "t.csv"
    FRAME.assign(t=words)[["t", "b", "y"]].to_csv(path, index=False, quoting=3)
    with pytest.raises(InputError, match=re.escape("quotation mark; within a cell it is doubled")):
        api.ingest(path, tmp_path / "d.zarr", drop=["t"])


def test_an_index_of_pandas_is_not_counted_among_columns_without_names(
    trained: Trained, tmp_path: Path
) -> None:
    np.savez(tmp_path / "t.npz", X=np.column_stack([A, B]), y=Y)
    run, path = trained(tmp_path / "t.npz"), tmp_path / "l.parquet"
    some = FRAME[A > 0]
    some.to_parquet(path)
    assert "__index_level_0__" in pq.read_schema(path).names
    assert run.evaluate(path)["n_rows"] == len(some)
    wanted = run.decision_function(some[["größe", "b"]].to_numpy())
    np.testing.assert_array_equal(run.decision_function(path), wanted)
    some[["größe", "b"]].to_parquet(path)
    np.testing.assert_array_equal(run.decision_function(path), wanted)
