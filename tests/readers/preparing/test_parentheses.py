"""Negative numbers in parentheses, as accountants and Excel write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.summary import summary_lines
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.cells import numbers_of
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.preparation import Preparation

N = 60
RNG = np.random.default_rng(0)
CASH = np.round(RNG.normal(0.0, 4000.0, N), 2)
OTHER = RNG.normal(size=N).round(3)


def accounted(values: Any, sign: str = "", *, german: bool = False) -> list[str]:
    """Return amounts as a sheet's accounting format writes them."""
    found = []
    for value in values:
        word = f"{abs(value):,.2f}"
        if german:
            word = word.translate(str.maketrans(",.", ".,"))
        found.append(f"({sign}{word})" if value < 0 else f"{sign}{word}")
    return found


def written(path: Path, cash: list[str], y: Any, decimal: str = ".") -> Path:
    others = [str(value).replace(".", decimal) for value in OTHER.tolist()]
    rows = [f"{a};{b};{c}" for a, b, c in zip(cash, others, y, strict=True)]
    path.write_text("\n".join(["cash;other;y", *rows]) + "\n")
    return path


def column(data: DataSet, k: int) -> Any:
    return data.rows.read(0, data.n_rows)[:, k]


@pytest.mark.parametrize(
    ("word", "decimal", "number"),
    [
        ("(902.00)", ".", -902.0),
        ("($1,200.00)", ".", -1200.0),
        ("$(1,200.00)", ".", -1200.0),
        ("( 1,200 )", ".", -1200.0),
        ("(.5)", ".", -0.5),
        ("(1.200,50 €)", ",", -1200.5),
        ("(1.200,50) €", ",", -1200.5),
        ("(12 %)", ".", -12.0),
    ],
)
def test_one_form(word: str, decimal: str, number: float) -> None:
    values, wrong, _ = numbers_of(pa.array([word]), decimal)
    assert values.tolist() == [number]
    assert not wrong.any()


@pytest.mark.parametrize(
    "word", ["(-5)", "-(5)", "(5", "5)", "((5))", "()", "(a)", "(5) 6", "(555) 123", "(1;2)"]
)
def test_other_parentheses_are_no_numbers(word: str) -> None:
    assert numbers_of(pa.array([word]), ".")[1].all()


@pytest.mark.parametrize(("sign", "german"), [("", False), ("$", False), ("£", False), ("", True)])
def test_features_and_targets(sign: str, german: bool, tmp_path: Path) -> None:
    cash, decimal = accounted(CASH, sign, german=german), "," if german else "."
    path = written(tmp_path / "t.csv", cash, cash[::-1], decimal)
    how: dict[str, Any] = {"decimal": decimal, "scale": "none"}
    data = ingest(path, tmp_path / "d.zarr", task="regression", **how)
    np.testing.assert_array_equal(column(data, 0), CASH.astype(np.float32))
    np.testing.assert_array_equal(data.read_y(0, N), CASH[::-1])
    form = f", written with {sign}" if sign else ""
    message = f"number{form}, negative where in parentheses"
    assert summary_lines(data)[2:] == [f"column cash: {message}", f"column y: {message}"]
    later = Preparation.of(data).y(np.array(cash, object), "LATER", 0)
    np.testing.assert_array_equal(later, CASH)


def test_targets_of_a_table_whose_features_are_plain_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", OTHER.astype(str).tolist(), accounted(CASH, "$"))
    data = ingest(path, tmp_path / "d.zarr", task="regression")
    assert data.columns is None
    np.testing.assert_array_equal(data.read_y(0, N), CASH)
    later = Preparation.of(data).y(np.array(accounted([-7.5], "$"), object), "LATER", 0)
    assert later.tolist() == [-7.5]


def test_later_tables_may_write_them_either_way(tmp_path: Path) -> None:
    plain = written(tmp_path / "t.csv", CASH.astype(str).tolist(), OTHER[::-1])
    cash = written(tmp_path / "u.csv", accounted(CASH), OTHER[::-1])
    how: dict[str, Any] = {"task": "regression", "scale": "none", "missing": "median"}
    for k, (train, test) in enumerate([(plain, cash), (cash, plain)]):
        data = ingest(train, tmp_path / f"{k}.zarr", test=test, **how)
        for part in (data, data.open_part("test")):
            np.testing.assert_array_equal(column(part, 0), CASH.astype(np.float32))


def test_a_column_with_another_word_is_refused_by_that(tmp_path: Path) -> None:
    cash = [*accounted(CASH[:-1]), "k.A."]
    path = written(tmp_path / "t.csv", cash, OTHER)
    message = (
        rf"line {N + 1}: column 1 \('cash'\) is not a number: 'k.A.'; where a word is an empty"
    )
    with pytest.raises(InputError, match=message):
        ingest(path, tmp_path / "d.zarr", task="regression")
    path = written(tmp_path / "t.csv", OTHER.astype(str).tolist(), cash)
    with pytest.raises(InputError, match=r"has the target 'k.A.', which is not a number"):
        ingest(path, tmp_path / "d.zarr", task="regression")


def test_categories_in_parentheses_stay_categories(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", ["(1)", "(2)", "other", "more"] * 15, [0, 1, 1] * 20)
    with pytest.raises(InputError, match=r"'cash' holds words \(4 categories, such as '\(1\)'\)"):
        ingest(path, tmp_path / "d.zarr")
    data = ingest(path, tmp_path / "d.zarr", one_hot="auto")
    assert data.feature_names == ["cash=(1)", "cash=(2)", "cash=more", "cash=other", "other"]
    path = written(tmp_path / "t.csv", OTHER.astype(str).tolist(), ["(1)", "(2)"] * 30)
    path.write_text(path.read_text().replace(".", ","))
    data = ingest(path, tmp_path / "e.zarr", decimal=",")
    assert data.classes == ["(1)", "(2)"]  # labels, not numbers


@pytest.mark.filterwarnings("ignore::dcsvm_dask.errors.DcsvmWarning")
def test_marks_within_parentheses_may_be_others(tmp_path: Path) -> None:
    for word, clear, message in (
        ("({},57{})", "({}.5)", "with a comma, such as '(1,570)', all have three digits after it"),
        ("({}.57{})", "({}.5)", "with a dot, such as '(1.570)', all have three digits after it"),
    ):
        cells = [word.format(k % 9 + 1, k % 10) if k % 3 else f"({k + 1})" for k in range(N)]
        cells[0] = word.format(1, 0)
        for last in ("(7)", clear.format(7)):
            path = written(tmp_path / "t.csv", [*cells[:-1], last], [0, 1] * 30)
            data = ingest(path, tmp_path / "d.zarr", overwrite=True)
            assert any(message in text for text in data.warnings) == (last == "(7)")


def test_a_column_of_nothing_but_small_numbers_in_parentheses_may_be_one_of_categories(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "t.csv", ["(1)", "(2)"] * 30, [0, 1, 1] * 20)
    with pytest.raises(InputError, match=r"every cell of the column 'cash' is in parentheses"):
        ingest(path, tmp_path / "d.zarr")
    data = ingest(path, tmp_path / "d.zarr", one_hot=["cash"])
    assert data.feature_names == ["cash=(1)", "cash=(2)", "other"]
    path = written(tmp_path / "t.csv", ["(100)", "(2)"] * 30, [0, 1, 1] * 20)
    assert column(ingest(path, tmp_path / "e.zarr", scale="none"), 0).min() == -100.0
