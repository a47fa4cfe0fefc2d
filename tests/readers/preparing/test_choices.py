"""What is chosen for columns: words, ordered words, dates, missing cells; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.choices import Choices, parse_ordinal
from dcsvm_dask.readers.preparing.preparation import ColumnPreparation
from dcsvm_dask.storage.dataset import DataSet
from tests.stored import split_of

N = 80
RNG = np.random.default_rng(1)
GRADE = RNG.choice(["low", "mid", "high"], N)
TOWN = RNG.choice(["Bonn", "Kiel", "Ulm"], N, p=[0.6, 0.2, 0.2])
AGE = RNG.integers(18, 80, N).astype(float)
Y = np.where(AGE > 50, 1, 0)
FRAME = pd.DataFrame({"nr": np.arange(N), "age": AGE, "grade": GRADE, "town": TOWN, "y": Y})
GONE = np.arange(N) % 7 == 3


def taken(frame: pd.DataFrame, tmp_path: Path, **words: Any) -> DataSet:
    frame.to_csv(tmp_path / "t.csv", index=False)
    how: dict[str, Any] = {"scale": "none", "drop": ["nr"], "overwrite": True, **words}
    return api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)


def columns(data: DataSet) -> dict[str, Any]:
    rows = data.rows.read(0, data.n_rows)
    assert data.feature_names is not None
    return dict(zip(data.feature_names, rows.T, strict=True))


def test_categories_and_ordered_words(tmp_path: Path) -> None:
    data = taken(FRAME, tmp_path, one_hot=["town"], ordinal={"grade": ["low", "mid", "high"]})
    found = columns(data)
    assert list(found) == ["age", "grade", "town=Bonn", "town=Kiel", "town=Ulm"]
    order = {"low": 0, "mid": 1, "high": 2}
    np.testing.assert_array_equal(found["grade"], [order[word] for word in GRADE])
    np.testing.assert_array_equal(found["town=Kiel"], TOWN == "Kiel")
    assert data.columns is not None
    assert ColumnPreparation.from_json(data.columns.to_json()) == data.columns


def test_columns_that_are_named_are_the_features(tmp_path: Path) -> None:
    data = taken(FRAME, tmp_path, columns=["age", "town"], one_hot="auto", drop=[], label="y")
    assert list(columns(data)) == ["age", "town=Bonn", "town=Kiel", "town=Ulm"]


def test_columns_of_words_are_refused_with_what_to_do(tmp_path: Path) -> None:
    message = (
        r"the column 'grade' holds words \(3 categories, such as '\w+'\): give --one-hot grade .*, "
        r"--ordinal grade:low<mid<high, or --drop grade"
    )
    with pytest.raises(InputError, match=message):
        taken(FRAME, tmp_path)
    many = FRAME.assign(town=[f"t{k}" for k in range(N)])
    with pytest.raises(InputError, match=r"'town' holds words \(80 categories"):
        taken(many, tmp_path, one_hot="auto", drop=["nr", "grade"])


def test_columns_beyond_the_first_eight_are_named(tmp_path: Path) -> None:
    words = {f"word {k}": TOWN for k in range(9)}
    with pytest.raises(InputError) as error:
        taken(FRAME[["nr", "y"]].assign(**words), tmp_path, label="y")
    *message, last = str(error.value).splitlines()
    assert len(message) == 8
    assert last.endswith(".csv: 1 more column needs a choice: word 8")
    words |= {f"word {k}": TOWN for k in range(9, 18)}
    with pytest.raises(InputError, match=r": 10 more columns .*: word 8, .* word 15 and 2 more$"):
        taken(FRAME[["nr", "y"]].assign(**words), tmp_path, label="y")


@pytest.mark.parametrize("hole", ["", "NA", "?", "null"])
def test_missing_cells_are_refused_with_their_line(hole: str, tmp_path: Path) -> None:
    frame = FRAME.assign(age=np.where(GONE, hole, AGE.astype(int).astype(str)))
    message = r"line 5: column 2 \('age'\) is empty.* as 11 .*--missing"
    with pytest.raises(InputError, match=message):
        taken(frame, tmp_path, one_hot="auto")


def holes() -> pd.DataFrame:
    return FRAME.assign(age=np.where(GONE, np.nan, AGE), town=np.where(GONE, None, TOWN))


def test_rows_with_missing_cells_are_dropped(tmp_path: Path) -> None:
    data = taken(holes(), tmp_path, one_hot="auto", missing="drop")
    assert data.dropped["missing"] == GONE.sum()
    np.testing.assert_array_equal(columns(data)["age"], AGE[~GONE])
    np.testing.assert_array_equal(data.read_codes(0, data.n_rows), Y[~GONE])
    weights = np.ones(N)
    with pytest.raises(InputError, match="missing: drop changes which row is which"):
        taken(holes(), tmp_path, one_hot="auto", missing="drop", weights=weights)


def test_medians_and_the_most_frequent_category_fill(tmp_path: Path) -> None:
    found = columns(taken(holes(), tmp_path, one_hot="auto", missing="median"))
    np.testing.assert_array_equal(found["age"], np.where(GONE, np.median(AGE[~GONE]), AGE))
    np.testing.assert_array_equal(found["town=Bonn"], GONE | (TOWN == "Bonn"))
    assert "age missing" not in found


def test_indicators_mark_missing_cells(tmp_path: Path) -> None:
    found = columns(taken(holes(), tmp_path, one_hot="auto", missing="indicator"))
    np.testing.assert_array_equal(found["age missing"], GONE)
    np.testing.assert_array_equal(found["town missing"], GONE)
    assert not found["town=Bonn"][GONE].any()
    assert "grade missing" not in found  # none is


def test_it_is_learned_on_training_rows_alone(tmp_path: Path) -> None:
    train, test = split_of(Y, N // 2)
    frame = holes()
    frame.loc[test[0], "town"] = "Rome"
    data = taken(frame, tmp_path, one_hot=["town", "grade"], missing="median", test_fraction=0.5)
    found = columns(data.open_part("test"))
    assert "town=Rome" not in found
    assert not any(found[f"town={town}"][0] for town in ("Bonn", "Kiel", "Ulm"))
    middle = np.median(AGE[train][~GONE[train]])
    np.testing.assert_array_equal(found["age"], np.where(GONE[test], middle, AGE[test]))


def test_dates_are_refused_dropped_or_taken_apart(tmp_path: Path) -> None:
    days = pd.Timestamp("2023-12-30") + pd.to_timedelta(np.arange(N), "h")
    frame = FRAME.assign(day=days.strftime("%d.%m.%Y %H:%M"))[["age", "day", "y"]]
    words: dict[str, Any] = {"drop": []}
    with pytest.raises(InputError, match=r"'day' holds dates, such as '30.12.2023 00:00'; give"):
        taken(frame, tmp_path, **words)
    assert list(columns(taken(frame, tmp_path, dates="drop", **words))) == ["age"]
    found = columns(taken(frame, tmp_path, dates="days", scale="standard", **words))
    passed = np.arange(N) / 24 - np.mean(np.arange(N) / 24)
    np.testing.assert_allclose(found["day days"], passed / np.std(passed), atol=1e-5)
    found = columns(taken(frame, tmp_path, dates="parts", **words))
    for part, values in (("year", days.year), ("weekday", days.day_of_week), ("hour", days.hour)):
        np.testing.assert_array_equal(found[f"day {part}"], values)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"one_hot": ["twon"]}, "no feature 'twon'; there are: age, grade, town"),
        ({"columns": ["twon"]}, "no column 'twon'; there are"),
        ({"ordinal": {"grade": ["low", "high"]}}, "has the word 'mid', which --ordinal"),
        ({"ordinal": {"grade": ["low"]}}, "ordinal grade: give two or more different words"),
        ({"one_hot": ["grade"], "ordinal": {"grade": ["a", "b"]}}, "named by one_hot and by"),
        ({"missing": "mean"}, "missing must be one of 'refuse', 'drop', 'median', 'indicator'"),
        ({"dates": "keep"}, "dates must be one of 'drop', 'parts', 'days'"),
        ({"decimal": ";"}, "decimal must be one of '.', ','"),
        ({"one_hot": "grade"}, "one_hot must be a list of names of columns or"),
        ({"label": "y", "target": "y"}, "give label or target, not both"),
    ],
)
def test_impossible_choices(words: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        taken(FRAME, tmp_path, **words)


def test_arrays_and_data_sets_have_no_columns_to_choose(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing cannot be used: an array has no names"):
        api.ingest((AGE[:, None], Y), tmp_path / "a.zarr", missing="median")
    data = api.ingest((AGE[:, None], Y), tmp_path / "b.zarr")
    with pytest.raises(InputError, match="one_hot cannot be used with a data set"):
        api.ingest(data.place, tmp_path / "c.zarr", one_hot="auto")


def test_a_hint_for_decimal_commas(tmp_path: Path) -> None:
    text = "a;b;y\n" + "".join(f"{k},5;{k};{k % 2}\n" for k in range(20))
    (tmp_path / "t.csv").write_text(text.replace("3,5", "3"))
    with pytest.raises(InputError, match="--decimal ,"):
        api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr")


def test_words_of_the_command() -> None:
    assert parse_ordinal(["size:s<m< l", "a:b:x<y"]) == {"size": ("s", "m", "l"), "a:b": ("x", "y")}
    with pytest.raises(InputError, match="ordinal must be COL:low<mid<high, got 'size'"):
        parse_ordinal(["size"])
    assert Choices.of().given == {}
    assert Choices.of(missing="drop").given == {"missing": "drop"}
