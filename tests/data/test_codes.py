"""Columns of numbers that are codes or dates are warned of; ordinary numbers are not."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError

N = 60
RNG = np.random.default_rng(0)
CODES = [f"{code:05d}" for code in RNG.integers(501, 99_999, N).tolist()]
DATES = pd.Timestamp("2020-01-20") + pd.to_timedelta(RNG.integers(0, 700, N), "D")
DAYS = DATES.strftime("%Y%m%d")
Y = np.array(["yes", "no"])[RNG.integers(0, 2, N)]


def warned(folder: Path, columns: dict[str, Any], kind: str = "csv", **how: Any) -> list[str]:
    frame = pd.DataFrame({"height": RNG.normal(size=N).round(3), **columns, "y": Y})
    source: Any = folder / "t.csv"
    frame.to_csv(source, index=False)
    if kind != "csv":
        source = pd.read_csv(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = ingest(source, folder / "d.zarr", label="y", overwrite=True, **how)
    return [text.partition(": ")[2] for text in data.warnings]


@pytest.mark.parametrize("word", [False, True])
def test_leading_zeros(word: bool, tmp_path: Path) -> None:
    columns = {"branch no": CODES, **({"c": RNG.choice(["u", "v"], N)} if word else {})}
    how = {"one_hot": "auto"} if word else {}
    (said,) = warned(tmp_path, columns, **how)
    assert said.startswith("the numbers of the column 'branch no', such as '0")
    assert "where these are codes, give --one-hot 'branch no', or leave it out" in said
    one_hot = ["branch no", *(["auto"] if word else [])]
    assert warned(tmp_path, columns, one_hot=one_hot) == []


@pytest.mark.parametrize("name", ["zip", "ZIPCode", "zip_code", "PLZ", "home postcode", "zip_no"])
def test_postal_codes_by_their_name(name: str, tmp_path: Path) -> None:
    (said,) = warned(tmp_path, {name: [int(code) for code in CODES]}, "frame")
    assert said.startswith(f"the numbers of the column {name!r} are codes by its name")


@pytest.mark.parametrize("name", ["zip_population", "Zip Code Income", "zip_size_bytes", "unzip"])
def test_what_lies_at_postal_codes_is_no_code(name: str, tmp_path: Path) -> None:
    assert warned(tmp_path, {name: [int(code) for code in CODES]}, "frame") == []


@pytest.mark.parametrize("kind", ["csv", "frame"])
def test_dates_that_are_numbers(kind: str, tmp_path: Path) -> None:
    (said,) = warned(tmp_path, {"day": DAYS, "seen": DAYS[::-1]}, kind)
    assert said.startswith(f"the numbers of the columns 'day', 'seen', such as {DAYS[0]}, look")
    written = f"{DAYS[0][:4]}-{DAYS[0][4:6]}-{DAYS[0][6:]}"
    assert f"write them as {written} and give --dates parts" in said
    days = pd.to_datetime(DAYS).strftime("%Y-%m-%d")
    assert warned(tmp_path, {"day": days, "seen": days[::-1]}, dates="parts") == []


@pytest.mark.parametrize("none", ["0", "99999999", "99991231"])
def test_dates_with_a_number_for_none(none: str, tmp_path: Path) -> None:
    days = np.where(np.arange(N) % 5 == 0, none, DAYS)
    said = [one for one in warned(tmp_path, {"paid": days}) if "look like dates" in one]
    assert len(said) == 1
    assert said[0].startswith(f"the numbers of the column 'paid', such as {DAYS[1]}, look")
    rare = np.where(np.arange(N) % 3 == 0, DAYS, "0")
    assert not any("dates" in one for one in warned(tmp_path, {"paid": rare}))


@pytest.mark.parametrize("kind", ["csv", "frame"])
def test_months_that_are_numbers(kind: str, tmp_path: Path) -> None:
    months = pd.date_range("2011-03-01", periods=N, freq="MS").strftime("%Y%m")
    (said,) = warned(tmp_path, {"paid": months}, kind)
    assert said.startswith("the numbers of the column 'paid', such as 20110301, look like dates")
    others = 201_000 + RNG.integers(0, 100, N)
    assert not any("dates" in one for one in warned(tmp_path, {"paid": others}, kind))


def test_identifiers_that_a_spreadsheet_has_rounded(tmp_path: Path) -> None:
    form = "{:.5E}".format
    cells = [form(4e12 + 1e9 * k) for k in range(N)]
    (said,) = warned(tmp_path, {"account": cells})
    assert said.startswith(
        "the numbers of the column 'account', such as 4.00000E+12, are rounded, as spreadsheets "
        "write long numbers, so that different ones may be equal; where these are identifiers, "
        "leave them out (--drop account"
    )
    for other in ([form(4e8 + 1e6 * k) for k in range(N)], [f"{4e12 + k:.6e}" for k in range(N)]):
        assert not any("rounded" in one for one in warned(tmp_path, {"account": other}))


@pytest.mark.parametrize("kind", ["csv", "frame"])
def test_whole_numbers_beyond_float64(kind: str, tmp_path: Path) -> None:
    cells = [2**60 + 7 * k for k in range(N)]
    said = [one for one in warned(tmp_path, {"u": cells}, kind) if "rounded, beyond 2^53" in one]
    assert len(said) == 1
    assert f"'u', such as {2**60}, are" in said[0]


@pytest.mark.parametrize(
    "values",
    [
        RNG.integers(0, 100_000, N),  # of different widths
        [f"{value:03d}" for value in RNG.integers(0, 2, N) + 8 * RNG.integers(0, 99, N)],
        RNG.integers(1950, 2030, N),
        20_200_000 + 131 * RNG.integers(0, 100, N),
        RNG.integers(19_000_101, 21_000_101, N),
    ],
)
def test_ordinary_numbers(values: Any, tmp_path: Path) -> None:
    assert [said for said in warned(tmp_path, {"paid": values}) if "numbers of" in said] == []


@pytest.mark.parametrize("one_hot", [(), "auto"])
@pytest.mark.parametrize("form", ["{:02d}:{}", "{:02d}:{}:05", "{}:{} PM", "{}:{}:07.5"])
def test_times_without_a_date_are_refused(form: str, one_hot: Any, tmp_path: Path) -> None:
    times = [form.format(1 + k % 12, 30) for k in range(N)]
    with pytest.raises(InputError, match="'t' holds times or durations without a date"):
        warned(tmp_path, {"t": times}, one_hot=one_hot)
    warned(tmp_path, {"t": times}, one_hot=["t"])


def test_decimal_commas_beside_words_are_both_named(tmp_path: Path) -> None:
    cells = np.where(np.arange(N) % 9 == 4, "high", [f"{k},5" for k in range(N)])
    with pytest.raises(InputError, match=r"decimal commas, such as '0,5', beside .* 'high': give"):
        warned(tmp_path, {"a": cells}, one_hot="auto")


def test_decimals_beside_a_frequent_word_are_no_categories(tmp_path: Path) -> None:
    cells = np.where(np.arange(N) % 4, ">5", [f"{k / 8:.3f}" for k in range(N)])
    with pytest.raises(InputError, match=r"column 2 \('a'\) is not a number: '>5'; write it as"):
        warned(tmp_path, {"a": cells}, one_hot="auto")
    assert warned(tmp_path, {"a": cells}, one_hot=["a"]) == []


@pytest.mark.parametrize("form", ["{}.5K", "{} km", "{}/12", "<{}mg", "{}m²"])
def test_categories_that_are_quantities(form: str, tmp_path: Path) -> None:
    cells = [form.format(value) for value in RNG.integers(0, 12, N).tolist()]
    (said,) = warned(tmp_path, {"a": cells}, one_hot="auto")
    assert said.startswith("the categories of the column 'a', such as ")
    assert said.endswith("write them as plain numbers of one unit where they are quantities")
    assert warned(tmp_path, {"a": cells}, one_hot=["a"]) == []
    with_plain = [cell if k % 3 else str(k % 4) for k, cell in enumerate(cells)]
    (said,) = warned(tmp_path, {"a": with_plain}, one_hot="auto")
    assert said.startswith("the categories of the column 'a', such as ")
    few = [form.format(value) for value in RNG.integers(0, 3, N).tolist()]
    assert warned(tmp_path, {"a": few}, one_hot="auto") == []


@pytest.mark.parametrize("form", ["{}/{:02d}", "{}–{:02d}", "{}/20{:02d}"])
@pytest.mark.parametrize("several", [3, 14])
def test_categories_that_are_school_years(several: int, form: str, tmp_path: Path) -> None:
    cells = [form.format(2010 + k % several, 11 + k % several) for k in range(N)]
    (said,) = warned(tmp_path, {"a": cells}, one_hot="auto")
    assert said == (
        f"the categories of the column 'a', such as {cells[0]!r}, are years, of which no order is "
        "learned, and later years are none of them; write the year that each begins in, such as "
        "2010, where their order matters"
    )
    assert warned(tmp_path, {"a": cells}, one_hot=["a"]) == []
    others = [form.format(2010 + k % several, 17 + k % several) for k in range(N)]
    assert not any("are years" in one for one in warned(tmp_path, {"a": others}, one_hot="auto"))


def test_one_value_that_makes_all_others_equal(tmp_path: Path) -> None:
    values = RNG.normal(size=N)
    values[9] = -1e9
    (said,) = warned(tmp_path, {"a": values})
    assert said.startswith("the value -1e+09 of the column 'a' is so far from the others (")
    assert warned(tmp_path, {"a": np.exp(3 * RNG.normal(size=N))}) == []


def test_one_value_far_from_a_sample(tmp_path: Path) -> None:
    n = 100_000
    values, heavy = RNG.normal(size=n), RNG.pareto(0.7, n)
    values[9], heavy[9] = -1e9, 1e12  # the others of a heavy tail are not only those of the sample
    rows = np.column_stack([values, heavy])
    frame = pd.DataFrame(rows, columns=["a", "heavy"]).assign(y=RNG.choice(["u", "v"], n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (said,) = ingest(frame, tmp_path / "d.zarr", label="y").warnings
    assert "the value -1e+09 of the column 'a' is so far from the others (" in said


@pytest.mark.parametrize("name", ["median_income_zip", "avg price zip code", "pop_per_plz"])
def test_quantities_of_postal_codes_are_no_codes(name: str, tmp_path: Path) -> None:
    assert warned(tmp_path, {name: [int(code) for code in CODES]}, "frame") == []


VERSIONS = [f"1.{k}" for k in RNG.integers(8, 13, N).tolist()]


def test_versions_lose_their_zeros(tmp_path: Path) -> None:
    (said,) = warned(tmp_path, {"app": VERSIONS})
    assert said == (
        "the numbers of the column 'app' may be versions: 1.10 is read as 1.1; where they are, "
        "give --one-hot app, or leave it out (--drop app, in Python drop=[NAME])"
    )
    assert warned(tmp_path, {"app": VERSIONS}, one_hot=["app"]) == []
    tens = ["2.10", "2.20", "3.1"] * (N // 3)
    (said,) = warned(tmp_path, {"App Version": tens, "c": ["u", "v"] * (N // 2)}, one_hot=["c"])
    assert "'App Version' may be versions: 2.10 is read as 2.1; where they are, give" in said


@pytest.mark.parametrize(
    "cells",
    [
        ["1.10", "1.90", "2.05"],  # decimals of one width
        ["1.1", "1.9", "2.05"],
        ["1.20", "1.5", "10"],
        ["-1.10", "1.9", "1.1"],
        ["0.5", "0.50", "1"],
        ["2.5", "2.49", "2.50"],
    ],
)
def test_ordinary_decimals_are_no_versions(cells: list[str], tmp_path: Path) -> None:
    for name in ("price", "release_price"):
        assert warned(tmp_path, {name: cells * (N // 3)}) == []


def test_exponents_without_a_sign_are_those_of_codes(tmp_path: Path) -> None:
    (said,) = warned(tmp_path, {"slot": ["1E5", "2E7", "31E2", "40000"] * (N // 4)})
    assert said.startswith(
        "the numbers of the column 'slot', such as '1E5', have exponents without"
    )
    assert warned(tmp_path, {"slot": ["1e+05", "2E+07", "31e2", "40000"] * (N // 4)}) == []


@pytest.mark.parametrize(
    "cell", ["mar{:02d}", "2024-{:02d}", "2024Q{}", "2024-W0{}", "{}:30", "${}"]
)
def test_refusals_of_categories_keep_auto(cell: str, tmp_path: Path) -> None:
    cells = [cell.format(1 + k % 4) for k in range(N)]
    if cell == "${}":
        cells = [*cells[1:], "7 €"]
    for hot, words in (("a,auto", {"one_hot": "auto"}), ("a", {})):
        with pytest.raises(InputError, match=f"--one-hot {hot}$"):
            warned(tmp_path, {"a": cells}, **words)


def test_the_sample_of_numbers_with_signs_has_one(tmp_path: Path) -> None:
    cells = [f"${k}.5" if k % 3 else f"{k}.5" for k in range(N)]
    with pytest.raises(InputError, match=r"signs or units, such as '\$1\.5':"):
        warned(tmp_path, {"a": cells})
