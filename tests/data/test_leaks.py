"""Columns that tell the label alone are named; those of sets that are only easy are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.leaks import leaks
from dcsvm_dask.errors import DcsvmWarning

RNG = np.random.default_rng(0)
N = 400
YES = RNG.random(N) < 0.3
GRADE = RNG.integers(0, 3, N)


def found(columns: Any, y: Any) -> list[str]:
    rows = np.asarray(columns, np.float64).reshape(len(y), -1)
    named = [(str(j), slice(j, j + 1)) for j in range(rows.shape[1])]
    return [one.name for one in leaks(rows, np.unique(y, return_inverse=True)[1], named)]


@pytest.mark.parametrize(
    ("column", "y"),
    [
        (YES, YES), (~YES, YES), (7 * GRADE - 3, GRADE), (np.arange(N) % 2 + 2 * YES, YES),
        (np.where(YES, 5000, 0) + RNG.permutation(N), YES),
        (1000 * ((GRADE + 1) % 3) + RNG.permutation(N), GRADE),
    ],
    ids=["copy", "opposite", "three classes", "several values", "numbers", "numbers of three"],
)  # fmt: skip
def test_columns_that_tell_the_label(column: Any, y: Any) -> None:
    assert found(column, y) == ["0"]
    assert found(column[:90], y[:90]) == ["0"]
    assert found(column[:49], y[:49]) == []
    wrong = column.copy()
    wrong[0] = column[np.flatnonzero(y != y[0])[0]]
    assert found(wrong, y) == []  # one of 400 is more than a thousandth


@pytest.mark.parametrize("wrong", [0, 5, 6])
def test_a_thousandth_of_the_rows_may_be_others(wrong: int) -> None:
    y = RNG.random(5000) < 0.4
    column = y.copy()
    column[:wrong] ^= True
    assert found(column, y) == (["0"] if wrong <= 5 else [])
    measured = np.where(column, 2.0, 1.0) + RNG.random(5000) / 2
    # A range has the rows that its class has, so that each wrong row shifts another one.
    assert found(measured, y) == (["0"] if wrong == 0 else [])


def test_classes_of_few_rows_hide_no_copy() -> None:
    y = np.where(YES, "yes", "no").astype(object)
    y[[3, 5]] = "Yes", "Yse"  # slips of the pen, for which the column has 1 and 0 as for others
    assert found(YES, y) == ["0"]
    rows = np.column_stack([YES, RNG.random(N)]).astype(float)
    codes = np.unique(y, return_inverse=True)[1]
    (one,) = leaks(rows, codes, [("ended", slice(0, 1)), ("dose", slice(1, 2))])
    assert one == ("ended", 1 - 2 / N)
    y[:21] = [f"code {k}" for k in range(21)]
    assert found(YES, y) == []  # more than a twentieth of the rows


def test_what_is_no_sign_of_a_leak() -> None:
    rare = np.arange(5000) % 700 == 0  # 8 rows
    assert found(rare, rare) == []
    rare = np.arange(5000) % 400 == 0
    assert found(np.zeros(5000), rare) == []  # right for all but 13 rows
    assert found(rare, rare) == ["0"]
    assert found(np.arange(5000) // 400, rare) == []
    assert found(np.where(YES, 2.0, 1.0) + RNG.random(N) / 2, YES) == []  # easy, and few rows
    assert found(RNG.random((N, 30)), YES) == []


def test_sets_that_are_easy() -> None:
    for load in (load_iris, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True)
        assert found(X, y) == []
    X, y = load_iris(return_X_y=True)
    assert found(X[:100], y[:100]) == []  # petals of setosa are far shorter


@pytest.mark.parametrize("name", ["kddcup99_10pct", "mnist", "shuttle", "skin_nonskin", "usps"])
def test_large_sets_that_are_easy(name: str, shared_data: Callable[[str], Any]) -> None:
    data = shared_data(name)
    places = np.linspace(0, len(data["y_train"]) - 1, 3000).astype(int)
    assert found(data["X_train"][places], data["y_train"][places]) == []


def table(tmp_path: Path, **columns: Any) -> Path:
    churned = np.where(YES, "yes", "no")
    frame = pd.DataFrame({"months": RNG.poisson(20, N), **columns, "churned": churned})
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    "column",
    [YES.astype(int), np.where(YES, "true", "false"), np.where(YES, "ended", "active"),
     np.where(YES, GRADE, 3 + GRADE).astype(str), np.array(list("abcdef"))[GRADE + 3 * YES]],
    ids=["0 and 1", "flags", "words", "numbers", "categories"],
)  # fmt: skip
def test_the_column_is_named_by_its_name(column: Any, tmp_path: Path) -> None:
    source = table(tmp_path, **{"state 2": column, "town": np.array(["Bonn", "Kiel"])[GRADE // 2]})
    with pytest.warns(DcsvmWarning) as caught:
        data = ingest(source, tmp_path / "d.zarr", one_hot="auto")
    assert [str(one.message) for one in caught] == data.warnings
    (said,) = data.warnings
    assert said == (
        f"{source}: the column 'state 2' alone predicts the label for all 400 rows; where it is a "
        "copy of the label, or known only with it, leave it out (--drop 'state 2', in Python "
        "drop=[NAME])"
    )
    how: dict[str, Any] = {"one_hot": "auto", "overwrite": True, "drop": ["state 2"]}
    assert ingest(source, tmp_path / "d.zarr", **how).warnings == []


def test_several_columns_have_one_warning(tmp_path: Path) -> None:
    source = table(tmp_path, ended=YES.astype(int), refund=np.where(YES, 9.5, 0.0))
    with pytest.warns(DcsvmWarning, match=r"each of the columns 'ended', 'refund' alone predicts"):
        ingest(source, tmp_path / "d.zarr")


def test_of_many_rows_a_sample_is_looked_at(tmp_path: Path) -> None:
    y = RNG.random(20_000) < 0.4
    frame = pd.DataFrame({"months": RNG.poisson(20, 20_000), "ended": y.astype(int), "y": y})
    frame.loc[:9, "ended"] = 1 - frame.loc[:9, "ended"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = r"'ended' alone predicts the label for (all|99\.9% of) \d,\d{3} rows of a sample;"
    with pytest.warns(DcsvmWarning, match=said):
        ingest(tmp_path / "t.csv", tmp_path / "d.zarr")
