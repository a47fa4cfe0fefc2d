"""Lines that are no rows: units below the names, totals at the end."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.prediction.batches import open_batches
from dcsvm_dask.storage.preparation import Preparation

N = 40
RNG = np.random.default_rng(0)
VALUES = enumerate(RNG.normal(size=(N, 2)).tolist())
ROWS = [f"r{k},{a:.2f},{b:.3f},{'no' if k % 3 else 'yes'}" for k, (a, b) in VALUES]
HOW: dict[str, Any] = {"label": "y", "drop": ["id"]}


def written(folder: Path, *lines: str, separator: str = ",") -> Path:
    path = folder / "t.csv"
    path.write_text("\n".join(line.replace(",", separator) for line in lines) + "\n")
    return path


def message_of(path: Path, **how: Any) -> str:
    """Return the one warning of an ingest that speaks of totals; "" where there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ingest(path, path.parent / "d.zarr", overwrite=True, **{**HOW, **how})
    return "".join(str(one.message) for one in caught if "totals of" in str(one.message))


@pytest.mark.parametrize(
    "units", [",cm,kg,", ",[m],[s],[-]", "-,mm,m/s,", ",,kg,", "unit,cm,kg,class", ",°C,%,"]
)
@pytest.mark.parametrize("missing", ["refuse", "median"])
def test_units_are_refused_by_one_sentence(units: str, missing: str, tmp_path: Path) -> None:
    path = written(tmp_path, "id,a,b,y", units, *ROWS)
    with pytest.raises(InputError) as caught:
        ingest(path, tmp_path / "d.zarr", missing=missing, **HOW)
    assert str(caught.value).startswith(f"{path}, line 2: looks like a line of units (")
    remedy = "; delete it (sed 2d FILE > NEW), or the line above it where that only groups columns"
    assert str(caught.value).endswith(remedy)
    assert "\n" not in str(caught.value)
    assert ingest(written(tmp_path, "id,a,b,y", *ROWS), tmp_path / "d.zarr", **HOW).n_rows == N


@pytest.mark.parametrize("units", [",cm,kg,,", ",cm"])
def test_units_with_another_number_of_cells(units: str, tmp_path: Path) -> None:
    path = written(tmp_path, "id,a,b,y", units, *ROWS, separator=";")
    with pytest.raises(InputError, match=r"line 2: .* than 4 cells; .*where line 2 holds units"):
        ingest(path, tmp_path / "d.zarr", **HOW)


def test_units_between_blanks(tmp_path: Path) -> None:
    path = written(tmp_path, "id,a,b,y", "-,cm,kg,c", *ROWS, separator=" ")
    with pytest.raises(InputError, match=r"line 2: .*'cm'.*where line 2 holds units, delete it"):
        ingest(path, tmp_path / "d.zarr", label="y", drop=["id"])


def test_a_word_in_the_first_row_is_no_unit(tmp_path: Path) -> None:
    rows = ["r,1,unknown,no", *ROWS]
    with pytest.raises(InputError, match=r"line 2: column 3 \('b'\).*--missing-words"):
        ingest(written(tmp_path, "id,a,b,y", *rows), tmp_path / "d.zarr", **HOW)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("total", ["Total,9,9,40", "Gesamt:,9,9,no", "r,9,9,Sum", '"Summe",9,9,no'])
def test_totals_are_warned_of_by_their_line(total: str, separator: str, tmp_path: Path) -> None:
    path = written(tmp_path, "id,a,b,y", *ROWS, total, "", separator=separator)
    message = message_of(path)
    assert message.startswith(
        f"{path}: line {N + 2} looks like a row of totals of those above it ("
    )
    assert message.endswith("; delete it where it is no row")
    assert message_of(path, one_hot=["id"], drop=[]) == message


@pytest.mark.parametrize("total", ["r,Total,9,no", "r,9,Sum,"])
@pytest.mark.parametrize("missing", ["refuse", "median"])
def test_totals_among_numbers_are_refused(total: str, missing: str, tmp_path: Path) -> None:
    path = written(tmp_path, "id,a,b,y", *ROWS, total)
    with pytest.raises(InputError, match=f"line {N + 2}: looks like a row of totals.*; delete it$"):
        ingest(path, tmp_path / "d.zarr", missing=missing, **HOW)


def test_totals_after_the_rows_that_are_taken_are_not_warned_of(tmp_path: Path) -> None:
    path = written(tmp_path, "id,a,b,y", *ROWS, "Total,1,2,no")
    assert "line 42 looks like a row of totals" in message_of(path)
    assert message_of(path, rows=(0, N)) == ""


def test_a_category_that_rows_above_have_is_no_total(tmp_path: Path) -> None:
    path = written(tmp_path, "id,a,b,y", "Total,1,2,no", *ROWS, "Total,9,9,no")
    assert message_of(path) == ""
    path = written(tmp_path, "id,a,b,Total", "r,1,2,no", *ROWS, "Total,9,9,no")
    assert message_of(path, label="Total") != ""


def frame_of(*rows: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO("\n".join(["id,a,b,y", *rows])))


def given(form: str, frame: pd.DataFrame, folder: Path) -> Any:
    """Return a frame in some form that is no text."""
    if form == "polars":
        return pytest.importorskip("polars").from_pandas(frame)
    if form == "parquet":
        frame.to_parquet(folder / "t.parquet", row_group_size=10)
        return folder / "t.parquet"
    if form == "jsonl":
        frame.to_json(folder / "t.jsonl", orient="records", lines=True)
        return folder / "t.jsonl"
    return frame


FORMS = ["pandas", "polars", "parquet", "jsonl"]


@pytest.mark.parametrize("form", FORMS)
def test_totals_of_other_formats(form: str, tmp_path: Path) -> None:
    def message(*rows: str, **how: Any) -> str:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            source = given(form, frame_of(*rows), tmp_path)
            ingest(source, tmp_path / "d.zarr", overwrite=True, **{**HOW, **how})
        return "".join(str(one.message) for one in caught if "totals of" in str(one.message))

    where = f"line {N + 1}" if form == "jsonl" else f"row {N} (counted from 0)"
    for how in ({}, {"one_hot": ["id"], "drop": []}):
        found = message(*ROWS, "Total,9,9,no", **how)
        assert f"{where} looks like a row of totals of those above it ('Total'); delete" in found
    assert message(*ROWS, "Total,9,9,no", rows=(0, N)) == ""
    assert message("Total,1,2,no", *ROWS, "Total,9,9,no") == ""
    assert message(*ROWS) == ""


def test_several_json_objects_in_a_line_and_one_in_several(tmp_path: Path) -> None:
    lines = [f'{{"a": {k}.5, "c": "{"uv"[k % 2]}", "y": "{k % 3 > 0}"}}' for k in range(1200)]
    for last in (f"{lines[0]}{lines[1]}", lines[0].replace(",", ",\n").replace("}", "\n}")):
        path = tmp_path / "t.jsonl"
        path.write_text("\n".join([*lines, last, ""]))
        data = ingest(path, tmp_path / "d.zarr", one_hot="auto", overwrite=True)
        assert data.n_rows == 1200 + last.count("{")


@pytest.mark.parametrize("form", ["pandas", "parquet", "jsonl"])
def test_totals_among_numbers_of_other_formats_are_refused(form: str, tmp_path: Path) -> None:
    frame = frame_of(*ROWS, "r,Total,9,no")
    if form != "parquet":
        frame["a"] = [*map(float, frame["a"][:-1]), "Total"]
    where = f"line {N + 1}" if form == "jsonl" else rf"row {N} \(counted from 0\)"
    with pytest.raises(InputError, match=f"{where}: looks like a row of totals.*; delete it$"):
        ingest(given(form, frame, tmp_path), tmp_path / "d.zarr", **HOW)


def test_totals_of_a_pivot_table_are_named_by_the_index(tmp_path: Path) -> None:
    frame = frame_of(*ROWS).set_index("id")
    total = pd.DataFrame([[9.0, 9.0, "no"]], ["All"], frame.columns)
    with pytest.warns(DcsvmWarning, match="the last row, 'All' by its index, looks like a row of"):
        ingest(pd.concat([frame, total]), tmp_path / "d.zarr", label="y")


def test_totals_in_a_column_that_is_no_feature_are_noted_at_prediction(tmp_path: Path) -> None:
    data = ingest(written(tmp_path, "id,a,b,y", *ROWS), tmp_path / "d.zarr", **HOW)
    prepared = Preparation.of(data)
    later = [row.rpartition(",")[0] for row in ROWS]
    for lines, note in (([*later, "Total,9,9"], f"line {N + 2} looks like a row of"), (later, "")):
        rows = open_batches(str(written(tmp_path, "id,a,b", *lines)), prepared, labelled=False)
        assert sum(batch.n_rows for batch in rows.batches()) == len(lines)
        assert len(rows.doubts) == bool(note)
        assert note in "".join(rows.doubts)


def test_words_for_no_value_in_the_first_row_are_no_units(tmp_path: Path) -> None:
    path = written(tmp_path, "id,a,b,y", "r,missing,unknown,no", *ROWS)
    with pytest.raises(
        InputError, match=r"line 2: column 2 \('a'\) is not a number: 'missing'"
    ) as e:
        ingest(path, tmp_path / "d.zarr", **HOW)
    assert "give --missing median" in str(e.value)


def test_a_header_that_is_repeated_among_words(tmp_path: Path) -> None:
    rows = [f"{'uv'[k % 2]},{'st'[k % 3 % 2]},{'pq'[k % 5 % 2]}" for k in range(N)]
    path = written(tmp_path, "c,d,y", *rows[:20], "c,d,y", *rows[20:])
    with pytest.raises(InputError, match="line 22: repeats the header; delete it"):
        ingest(path, tmp_path / "d.zarr", label="y", one_hot="auto")
    path = written(tmp_path, "c,d,y", "c,s,p", "u,d,q", *rows)  # categories that are called so
    assert ingest(path, tmp_path / "d.zarr", label="y", one_hot="auto").n_rows == N + 2
