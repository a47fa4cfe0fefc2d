"""What an ingest warns of: labels, classes, identifiers, dates and NA that are doubtful."""

from __future__ import annotations

import unicodedata
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.readers.identifiers import names_identifier

N = 60
EVERY = np.arange(N)
RNG = np.random.default_rng(0)
LABELS = np.array(["yes", "no"])[EVERY % 2]
WORDS = np.array(["x", "y", "z"])[EVERY % 3]


def warned(
    folder: Path, columns: dict[str, Any], y: Any = LABELS, separator: str = ",", **words: Any
) -> list[str]:
    """Return what the ingest of a table warns of, each warning once."""
    frame = pd.DataFrame({"height": RNG.normal(size=len(y)), **columns, "y": y})
    mark = words.get("decimal", ".")
    frame.to_csv(folder / "t.csv", index=False, sep=separator, decimal=mark)
    how = {"one_hot": "auto", "dates": "parts", "missing": "median", "overwrite": True, **words}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = ingest(folder / "t.csv", folder / "d.zarr", **how)
    assert all(issubclass(one.category, DcsvmWarning) for one in caught)
    assert data.warnings == [str(one.message) for one in caught]
    return [text.partition(": ")[2] for text in data.warnings]


def test_an_ordinary_table_warns_of_nothing(tmp_path: Path) -> None:
    days = (pd.Timestamp("2023-01-01") + pd.to_timedelta(9 * EVERY, "D")).strftime("%m/%d/%Y")
    columns = {
        "word": WORDS,
        "day": days,
        "room_id": EVERY // 2,
        "paid": 100 + 3 * EVERY,
        "few": np.where(EVERY % 30 == 1, "NA", WORDS),
        "age": np.where(EVERY % 5 == 1, np.nan, EVERY % 7),
    }
    assert warned(tmp_path, columns) == []


def test_labels_that_differ_by_case(tmp_path: Path) -> None:
    labels = np.where(EVERY % 4 == 0, " Yes", LABELS)
    (said,) = warned(tmp_path, {}, labels)
    assert said == (
        "labels differ only by case, blanks or Unicode form: 'Yes' and 'yes'; write them alike "
        "where they mean one class"
    )


def test_labels_whose_accents_are_coded_in_two_ways(tmp_path: Path) -> None:
    word = "d\u00e9j\u00e0"
    other = unicodedata.normalize("NFD", word)
    labels = np.where(EVERY % 4 == 0, other, np.where(EVERY % 2 == 0, word, "no"))
    (said,) = warned(tmp_path, {}, labels)
    assert f"{other!a} and {word!a};" in said


@pytest.mark.parametrize("words", [("no", "yes", "Y"), ("F", "T", "True"), ("0", "1", "yes")])
def test_more_than_two_classes_that_are_words_for_yes_and_no(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    (said,) = warned(tmp_path, {}, np.array(words)[EVERY % 3])
    assert said == (
        f"the 3 classes are all words for yes or no: {', '.join(sorted(words))}; write them alike "
        "where they mean the same"
    )
    assert warned(tmp_path, {}, np.array([*words, "x"])[EVERY % 4]) == []


def test_categories_that_differ_by_case_or_blanks(tmp_path: Path) -> None:
    towns = np.array(["New York", "new york", "Bonn", "NewYork"])[EVERY // 2 % 4]
    (said,) = warned(tmp_path, {"town": towns})
    assert said.startswith(
        "the column 'town' has categories that differ only by case, blanks or Unicode form: "
    )
    assert "'New York' and 'NewYork' and 'new york';" in said


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((31, 29), None),
        ((3, 2), None),
        ((55, 5), "b (5)"),
        ((300, 9), "b (9)"),
        ((300, 10), None),
        ((12_000, 11), "b (11)"),
    ],
)
def test_classes_of_few_rows(counts: tuple[int, int], said: str | None, tmp_path: Path) -> None:
    found = warned(tmp_path, {}, np.repeat(["a", "b"], counts))
    if said is None:
        assert found == []
        return
    n = sum(counts)
    assert found[0].startswith(
        f"1 class has few of the {n:,} training rows: {said}; correct labels"
    )


def test_a_column_that_identifies_rows(tmp_path: Path) -> None:
    numbers = RNG.permutation(3 * N)[:N] + 10_000
    (said,) = warned(tmp_path, {"Customer ID": numbers})
    assert said.startswith("1 feature looks like an identifier, by name and by distinct whole")
    assert "numbers: 'Customer ID'; drop what identifies rows" in said
    assert warned(tmp_path, {"Customer ID": numbers // 100}) == []
    assert warned(tmp_path, {"income": numbers}) == []
    (said,) = warned(tmp_path, {"id": EVERY})  # as a row number, once
    assert "looks like a row number" in said


@pytest.mark.parametrize(
    "name", ["id", "ID", "user_id", "userid", "customerId", "CustomerID", "Order ID", "invoice nr",
             "Number", "key", "serial-number"],
)  # fmt: skip
def test_names_of_identifiers(name: str) -> None:
    assert names_identifier(name)


@pytest.mark.parametrize(
    "name", ["paid", "citric acid", "grid", "number of rooms", "width", "idle", "id2", "", "7"]
)
def test_other_names(name: str) -> None:
    assert not names_identifier(name)


def test_dates_that_could_be_two_ways_round(tmp_path: Path) -> None:
    days = [f"{1 + k % 12:02}/{1 + k % 7:02}/2023" for k in range(N)]
    (said,) = warned(tmp_path, {"day": days})
    assert said == (
        "the dates of the column 'day', such as '01/01/2023', are read as month/day/year, but all "
        "could be day/month/year, too; write them as year-month-day where that is meant"
    )
    clear = [f"{day[6:]}-{day[3:5]}-{day[:2]}" for day in days]
    assert warned(tmp_path, {"day": clear}) == []
    assert warned(tmp_path, {"day": [day.replace("/", ".") for day in days]}) == []


@pytest.mark.parametrize("missing", ["median", "drop", "indicator"])
def test_na_in_a_column_of_words(missing: str, tmp_path: Path) -> None:
    words = np.where(EVERY % 5 == 1, "NA", WORDS)
    numbers = np.where(EVERY % 5 == 1, "NA", "7")
    said = warned(tmp_path, {"alley": words, "age": numbers}, missing=missing)
    if missing == "indicator":  # a feature says where NA stands
        assert said == []
    else:
        assert said == [
            (
                "NA stands in 20% of the cells of the column 'alley' and is read as an empty cell; "
                "where it is a category, name the words of empty cells without it: --missing-words "
                'WORD,..., or "" for none (in Python missing_words=[])'
            )
        ]
    other = np.where(EVERY % 5 == 1, "", WORDS)
    assert warned(tmp_path, {"alley": other}, missing=missing) == []


THOUSANDS = np.array(["850", "2.329", "1.854", "999", "12.000"])[EVERY % 5]


@pytest.mark.parametrize("form", ["plain", "with words", "with missing cells", "with a sign"])
def test_dots_that_may_separate_thousands(form: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "plain": {"price": THOUSANDS},
        "with words": {"word": WORDS, "price": THOUSANDS},
        "with missing cells": {"price": np.where(EVERY % 7 == 3, "", THOUSANDS)},
        "with a sign": {"price": np.char.add(THOUSANDS, " €")},
    }[form]
    sample = "2.329 €" if form == "with a sign" else "2.329"
    said = (
        f"the values of the column 'price' with a dot, such as {sample!r}, all have three digits "
        "after it, and others are whole numbers; they are read as decimals: where dots separate "
        "thousands, "
    )
    assert warned(tmp_path, columns) == [f"{said}write them without"]
    found = warned(tmp_path, columns, separator=";")
    assert found == [f"{said}give --decimal , (in Python decimal=',')"]
    assert warned(tmp_path, columns, separator=";", decimal=",") == []


def test_dots_are_doubted_beside_a_median_that_is_no_thousandth(tmp_path: Path) -> None:
    values = np.array(["2.329", "2.330", "850", "1.001"])[EVERY % 4]
    columns = {"price": np.where(EVERY < 4, "", values)}  # their median is 2.3295
    (said,) = warned(tmp_path, columns)
    assert "'price' with a dot, such as '2.329', all have" in said


@pytest.mark.parametrize(
    "values",
    [
        ["1.234", "2.329", "9.999"],  # no whole numbers
        ["1.234", "0.500", "7"],
        ["1.234", "2.5", "7"],
        ["1.234", "2.3290", "7"],
        ["1.234", "-0.329", "0"],
        ["1.234", "2.329", "7500"],
        ["1.5", "2", "850"],
        ["1", "2", "850"],
    ],
)
def test_dots_before_decimals(values: list[str], tmp_path: Path) -> None:
    assert warned(tmp_path, {"price": np.array(values)[EVERY % 3]}) == []
    cells = np.where(EVERY % 7 == 1, "", np.array(values)[EVERY % 3])
    assert warned(tmp_path, {"price": cells}) == []


COMMAS = np.char.replace(THOUSANDS, ".", ",")


@pytest.mark.parametrize("form", ["plain", "none below a thousand", "with missing cells", "signed"])
def test_commas_that_may_begin_the_decimals(form: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "plain": {"dose": COMMAS},
        "none below a thousand": {"dose": np.where(EVERY // 2 % 2 == 1, "2,329", "1,854")},
        "with missing cells": {"dose": np.where(EVERY % 7 == 3, "", COMMAS)},
        "signed": {"dose": np.char.add(COMMAS, " €")},
    }[form]
    (said,) = warned(tmp_path, columns, separator=";", missing="median")
    assert "column 'dose' with a comma, such as" in said
    assert "are read as thousands: where a comma begins the decimals, give --decimal ," in said
    assert warned(tmp_path, columns, separator=";", decimal=",", missing="median") == []
    # Between commas decimals have points as a rule.
    assert warned(tmp_path, columns, missing="median") == []


@pytest.mark.parametrize(
    "values", [["1,234", "2,329.50", "7"], ["1,234", "1,234,567", "7"], ["1,234", "7500", "7"]]
)
def test_commas_between_thousands(values: list[str], tmp_path: Path) -> None:
    assert warned(tmp_path, {"dose": np.array(values)[EVERY % 3]}, separator=";") == []


def test_labels_with_a_space_of_no_width(tmp_path: Path) -> None:
    labels = np.where(EVERY % 4 == 0, "yes\u200b", LABELS)
    (said,) = warned(tmp_path, {}, labels)
    assert r"Unicode form: 'yes' and 'yes\u200b'; write them alike" in said


@pytest.mark.parametrize(
    ("label", "others"), [("NA", ["yes", "no"]), ("None", ["yes", "no"]), ("-999", ["0", "1"])]
)
def test_labels_that_mean_no_value(label: str, others: list[str], tmp_path: Path) -> None:
    labels = np.where(EVERY % 4 == 0, label, np.array(others)[EVERY % 2])
    (said,) = warned(tmp_path, {}, labels, one_hot=(), missing="refuse", dates=None)
    shown = label if label == "-999" else repr(label)
    assert said == (
        f"the label means no value in many tables, but became a class: {shown}; where that is "
        "meant here, leave such rows out of the table"
    )


@pytest.mark.parametrize("labels", [[-1, 1], [0, 99], [1, 2, 9], [100, 999], [-99, -98]])
def test_other_labels_that_are_numbers(labels: list[int], tmp_path: Path) -> None:
    assert warned(tmp_path, {}, np.array(labels)[EVERY % len(labels)]) == []


def test_a_target_that_stands_for_a_missing_one(tmp_path: Path) -> None:
    targets = np.where(EVERY % 6 == 0, -999, RNG.normal(size=N).round(3))
    (said,) = warned(tmp_path, {}, targets, task="regression")
    assert said.startswith("the target -999 lies outside of all others (16.7% of the rows; others")
    assert said.endswith("where it stands for a missing target, leave such rows out of the table")
    assert warned(tmp_path, {}, RNG.normal(size=N).round(3), task="regression") == []


@pytest.mark.parametrize("dash", ["\u2013", "\u2014"])
def test_dashes_that_may_stand_in_empty_cells(dash: str, tmp_path: Path) -> None:
    (said,) = warned(tmp_path, {"word": np.where(EVERY % 5 == 1, dash, WORDS)}, missing="median")
    assert said.startswith(
        f"the column 'word' has the category {dash!r} (U+{ord(dash):04X}); where"
    )
    assert said.endswith(f"{dash}'")
    words = {"missing_words": [dash], "missing": "median"}
    assert warned(tmp_path, {"word": np.where(EVERY % 5 == 1, dash, WORDS)}, **words) == []
    (said,) = warned(
        tmp_path, {}, np.array(["a", dash])[EVERY % 2], one_hot=(), dates=None, missing="refuse"
    )
    assert f"became a class: {dash!r}" in said


def test_labels_with_exponents(tmp_path: Path) -> None:
    (said,) = warned(tmp_path, {}, np.array(["1E5", "1e5", "100000", "A1"])[EVERY % 4])
    assert said == (
        "labels are written with exponents, such as 1e5, which is the class 100000 now, as others "
        "of the same number are; put a letter before them where they are codes"
    )


@pytest.mark.parametrize("word", [False, True])
def test_labels_with_leading_zeros(word: bool, tmp_path: Path) -> None:
    columns = {"word": WORDS} if word else {}
    how: dict[str, Any] = {} if word else {"one_hot": (), "missing": "refuse", "dates": None}
    (said,) = warned(tmp_path, columns, RNG.choice(["007", "7", "12"], N), **how)
    assert said == (
        "labels are written with leading zeros, such as 007, which is the class 7 now, as others "
        "that differ by zeros alone are; put a letter before them where they are codes"
    )
    for others in (["7", "0"], ["0.5", "1"], ["a7", "007x"]):
        assert warned(tmp_path, columns, RNG.choice(others, N), **how) == []


def test_numbers_that_may_be_real_targets(tmp_path: Path) -> None:
    said = "the labels are 30 different numbers, most of them in fewer than 10 of the training rows"
    prices = np.arange(30)[EVERY % 30] * 7 + 100
    assert any(text.startswith(said) for text in warned(tmp_path, {}, prices))
    assert any(text.startswith(said) for text in warned(tmp_path, {}, prices / 2))
    codes = np.arange(30)[EVERY % 30]
    assert not any("real targets" in text for text in warned(tmp_path, {}, codes))
    often = np.tile(np.arange(30) * 7, 20)
    assert not any("real targets" in text for text in warned(tmp_path, {}, often))
    words = np.array([f"c{k}" for k in prices])
    assert not any("real targets" in text for text in warned(tmp_path, {}, words))


def test_svmlight_of_real_targets(tmp_path: Path) -> None:
    lines = [f"{7 * (k % 30)} 1:{k} 2:{k % 7}\n" for k in range(N)]
    (tmp_path / "t.svm").write_text("".join(lines))
    with pytest.warns(DcsvmWarning, match="30 different numbers.*give --task regression"):
        ingest(tmp_path / "t.svm", tmp_path / "d.zarr")
