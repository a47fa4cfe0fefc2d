"""Columns that mix decimals after a point and after a comma are refused, whatever is chosen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import DcsvmWarning, InputError

PRICES = ["1,980.11", "11,32", "12.50", "850", "1,200.00", "7.05"]


def refused(path: Path, prices: list[str], separator: str = ";", **words: Any) -> str:
    """Return the message that the ingest of a table with these prices ends with."""
    lines = [separator.join((f'"{price}"', str(k % 2))) for k, price in enumerate(prices)]
    path.write_text("\n".join([separator.join(("price", "sold")), *lines]) + "\n")
    with pytest.raises(InputError) as error:
        api.ingest(path, path.with_suffix(".zarr"), label="sold", **words)
    return str(error.value)


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize(
    ("prices", "line", "wrong", "other"),
    [
        (PRICES, 3, "11,32", "1,980.11"),
        (["0.99", "1.980,11", "5,00", "1,95"], 3, "1.980,11", "0.99"),
        (["1,980.11", "11,32", "9,99", "4,00"], 3, "11,32", "1,980.11"),
        ([*(f"{k}.25" for k in range(3000)), "11,32"], 3002, "11,32", "0.25"),
    ],
    ids=["mostly points", "thousands", "mostly commas", "far down"],
)
def test_the_cell_its_place_and_the_other_mark_are_named(
    prices: list[str], line: int, wrong: str, other: str, separator: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    assert refused(path, prices, separator, one_hot="auto") == (
        f"{path}, line {line}: column 1 ('price') is not a number: '{wrong}'; the column has "
        f"'{other}', too: write all decimals with the same mark"
    )


@pytest.mark.parametrize("prices", [PRICES, ["1,980.11", "11,32", "9,99"]])
def test_so_they_are_where_commas_begin_the_decimals(prices: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    assert refused(path, prices, decimal=",") == (
        f"{path}, line 2: column 1 ('price') is not a number: '1,980.11'; with --decimal , a dot "
        "separates thousands: write all decimals with the same mark"
    )


def test_dots_between_thousands_are_no_other_mark(tmp_path: Path) -> None:
    message = refused(tmp_path / "t.csv", ["1.250", "11,32", "850", "3,5"])
    assert message.endswith("'11,32'; give --decimal , where a comma begins the decimals")


@pytest.mark.parametrize(
    "prices",
    [
        ["55 670,00", "1 234,5", "7,25"],
        ["55\u202f670,00", "1\u202f234,5", "7,25"],
        ["1'234,50", "7,25", "-8,5"],
        ["1,340000E+01", "2,0e-3", "5,567000E+02"],
    ],
    ids=["blanks", "narrow blanks", "apostrophes", "exponents"],
)
def test_thousands_and_exponents_are_no_words(prices: list[str], tmp_path: Path) -> None:
    message = refused(tmp_path / "t.csv", prices)
    assert message.endswith(f"{prices[0]!r}; give --decimal , where a comma begins the decimals")
    how: dict[str, Any] = {"label": "sold", "decimal": ",", "scale": "none"}
    data = api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)
    plain = [re.sub(r"[ '\u202f]", "", one).replace(",", ".") for one in prices]
    np.testing.assert_allclose(data.rows.read(0, 3)[:, 0], [*map(float, plain)], rtol=1e-7)


def test_addresses_are_words_that_one_hot_takes(tmp_path: Path) -> None:
    addresses = ["192.168.0.12", "192.168.68.3", "10.0.0.1"]
    message = refused(tmp_path / "t.csv", addresses)
    assert "holds words (3 categories, such as '192.168.0.12')" in message
    how: dict[str, Any] = {"label": "sold", "one_hot": "auto"}
    data = api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)
    assert data.feature_names == [f"price={one}" for one in sorted(addresses)]


@pytest.mark.parametrize("limit", ["<0.05", ">500", "12.5*", "~3", "8.79%"])
def test_a_number_with_something_else_is_refused_with_what_to_do(
    limit: str, tmp_path: Path
) -> None:
    message = refused(tmp_path / "t.csv", ["0.5", "0.7", "1.5", limit])
    assert message.endswith(
        f"line 5: column 1 ('price') is not a number: {limit!r}; write it as a number, or where "
        "such cells are categories give --one-hot price"
    )
    how: dict[str, Any] = {"label": "sold", "one_hot": ["price"]}
    assert api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how).n_features == 4


@pytest.mark.parametrize(
    ("odd", "instead"),
    [
        ("1.2k", "all its digits, such as 1200 for 1.2k"),
        ("3 M", "all its digits, such as 1200 for 1.2k"),
        ("1.5-", "the minus before the number"),
        ("1D+02", "the exponent with E, such as 1E+02 for 1D+02"),
    ],
)
def test_other_forms_of_numbers(odd: str, instead: str, tmp_path: Path) -> None:
    found = refused(tmp_path / "t.csv", ["0.5", "0.7", "1.5", odd])
    assert f"not a number: {odd!r}; write {instead}, or where such cells are categories" in found


@pytest.mark.parametrize("one_hot", [(), "auto"])
def test_a_column_of_fortrans_numbers(one_hot: Any, tmp_path: Path) -> None:
    few = ["0.93D+02", "-.5d-01", "1.D0", "0.93D+02"]
    found = refused(tmp_path / "t.csv", few, one_hot=one_hot)
    assert (
        "line 2: column 1 ('price') is not a number: '0.93D+02'; write the exponent with " in found
    )
    how: dict[str, Any] = {"label": "sold", "one_hot": ["price"]}
    assert api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how).n_features == 3


@pytest.mark.parametrize("odd", ["k.A.", "11,06 %"])
def test_decimal_commas_beside_a_word_or_with_a_sign(odd: str, tmp_path: Path) -> None:
    prices = [f"{k},{k} %" if "%" in odd else f"{k},{k}" for k in range(1, 9)]
    message = refused(tmp_path / "t.csv", [odd, *prices], one_hot="auto")
    assert "the column 'price' holds numbers with decimal commas, such as '" in message
    assert ": give --decimal , (in Python decimal=','), or --one-hot price where" in message
    how: dict[str, Any] = {"label": "sold", "decimal": ",", "scale": "none"}
    if odd == "k.A.":
        how |= {"missing": "drop", "missing_words": [odd]}
    data = api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)
    values = [float(one.rstrip(" %").replace(",", ".")) for one in prices]
    np.testing.assert_allclose(data.rows.read(0, data.n_rows)[-8:, 0], values, rtol=1e-6)


def test_thousands_beside_a_word_are_no_decimal_commas(tmp_path: Path) -> None:
    prices = ["1,234", "2,345", "12,000", "unknown"]
    message = refused(tmp_path / "t.csv", prices)
    assert "--decimal" not in message
    assert "line 5: column 1 ('price') is not a number: 'unknown'; " in message
    how: dict[str, Any] = {"missing": "drop", "missing_words": ["unknown"], "scale": "none"}
    with pytest.warns(DcsvmWarning, match="they are read as thousands"):
        data = api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", label="sold", **how)
    assert data.rows.read(0, 3)[:, 0].tolist() == [1234.0, 2345.0, 12000.0]
