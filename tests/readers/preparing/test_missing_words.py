"""Which words mean a cell without a value is chosen, stored, and the same for later tables."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dcsvm_dask import api
from dcsvm_dask.cli import main
from dcsvm_dask.errors import InputError
from dcsvm_dask.prediction.table_export import onnx_columns
from dcsvm_dask.readers.columns import Expected
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.preparing.choices import parse_names
from dcsvm_dask.readers.preparing.preparation import ColumnPreparation
from dcsvm_dask.storage.dataset import DataSet

N = 40
ALLEY = np.array(["NA", "Grvl", "Pave", "?"])[np.arange(N) % 4]
SIZE = np.where(np.arange(N) % 5 == 2, "-999", np.arange(N).astype(str))
FRAME = pd.DataFrame({"size": SIZE, "alley": ALLEY, "y": np.arange(N) % 2})
HOW: dict[str, Any] = {"scale": "none", "one_hot": ["alley"], "overwrite": True}


def taken(tmp_path: Path, **words: Any) -> DataSet:
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    return api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **{**HOW, **words})


def test_without_words_a_cell_of_na_is_a_category(tmp_path: Path) -> None:
    data = taken(tmp_path, missing_words=[])
    assert data.feature_names == ["size", "alley=?", "alley=Grvl", "alley=NA", "alley=Pave"]
    np.testing.assert_array_equal(data.rows.read(0, N)[:, 3], ALLEY == "NA")


def test_chosen_words_are_empty_cells_and_others_are_not(tmp_path: Path) -> None:
    data = taken(tmp_path, missing_words=["-999", " ? "], missing="median")
    assert data.feature_names == ["size", "alley=Grvl", "alley=NA", "alley=Pave"]
    left = np.arange(N)[SIZE != "-999"]
    np.testing.assert_array_equal(data.rows.read(0, N)[SIZE == "-999", 0], np.median(left))
    with pytest.raises(InputError, match=r"line 2: column 2 .'alley'. is empty .'NA'., as .*"):
        taken(tmp_path)
    with pytest.raises(
        InputError, match=r'if .NA. is a category, .* --missing-words WORD,..., or ""'
    ):
        taken(tmp_path)


def test_later_tables_and_graphs_read_cells_alike(tmp_path: Path) -> None:
    data = taken(tmp_path, missing_words=["-999"], missing="median")
    made = data.columns
    assert made is not None
    assert ColumnPreparation.from_json(made.to_json()) == made
    FRAME.iloc[::-1].to_csv(tmp_path / "later.csv", index=False)
    expected = Expected(len(made.features), made.features, "y", 2, made)
    (rows, _), *_ = open_source(tmp_path / "later.csv", expected=expected).blocks()
    np.testing.assert_array_equal(rows[::-1], data.rows.read(0, N))
    assert [one.missing for one in onnx_columns(made)] == [(), ("", "-999")]
    usual = dataclasses.replace(made, missing_words=None)
    assert "missing_words" not in usual.to_json()
    assert "NA" in onnx_columns(usual)[1].missing


def test_data_frames_have_the_same_words(tmp_path: Path) -> None:
    how = {**HOW, "missing_words": ["?"], "missing": "median"}
    data = api.ingest(FRAME.assign(size=1.0), tmp_path / "d.zarr", label="y", **how)
    assert data.feature_names == ["size", "alley=Grvl", "alley=NA", "alley=Pave"]


def test_the_command_takes_words_or_none(tmp_path: Path) -> None:
    FRAME.assign(size=1).to_csv(tmp_path / "t.csv", index=False)
    for number, (given, features) in enumerate(
        {"": ["?", "Grvl", "NA", "Pave"], "NA,?": ["Grvl", "Pave"]}.items()
    ):
        out = str(tmp_path / f"{number}.zarr")
        words = ["--one-hot", "auto", "--missing", "median", "--missing-words", given]
        result = CliRunner().invoke(
            main, ["ingest", str(tmp_path / "t.csv"), "--out", out, "--quiet", *words]
        )
        assert result.exit_code == 0, result.output
        assert DataSet.open(out).feature_names == ["size", *(f"alley={one}" for one in features)]


def test_the_warning_about_na_names_the_option(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="NA stands in 25% .* --missing-words WORD,..., or"):
        taken(tmp_path, missing="median", ordinal=None)


def test_words_of_a_wrong_kind(tmp_path: Path) -> None:
    for wrong in ("NA", [1]):
        with pytest.raises(InputError, match="missing_words must be a list of words, got"):
            taken(tmp_path, missing_words=wrong)


def test_named_columns_beside_auto(tmp_path: Path) -> None:
    frame = FRAME.assign(size=np.arange(N) % 3, town=ALLEY)
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {**HOW, "missing_words": [], "label": "y"}
    data = api.ingest(
        tmp_path / "t.csv", tmp_path / "d.zarr", **{**how, "one_hot": ["size", "auto"]}
    )
    assert data.feature_names is not None
    assert data.feature_names[:4] == ["size=0", "size=1", "size=2", "alley=?"]
    words = [
        "--label",
        "y",
        "--one-hot",
        "size",
        "--one-hot",
        "auto",
        "--missing-words",
        "",
        "--quiet",
    ]
    out = str(tmp_path / "e.zarr")
    result = CliRunner().invoke(main, ["ingest", str(tmp_path / "t.csv"), "--out", out, *words])
    assert result.exit_code == 0, result.output
    assert DataSet.open(out).feature_names == data.feature_names


USUAL = (
    "'NA,<NA>,N/A,n/a,na,NaN,nan,-nan,null,NULL,\\N,None,NaT,?,-,--,.,#N/A,#NA,#DIV/0!,#VALUE!,"
    "#REF!,#NAME?,#NUM!,#NULL!"
)


@pytest.mark.parametrize("far", [False, True])
def test_words_among_numbers_are_named_as_empty_cells(far: bool, tmp_path: Path) -> None:
    n = 20_000 if far else 0  # beyond the beginning of the file, which is plain numbers
    numbers = [f"{k}.5,{k % 2}" for k in range(n + 5)]
    lines = ["area,y", *numbers, "k.A.,1", "7,0", "tba,0", "k.A.,1", "8,0"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError) as error:
        api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr")
    assert str(error.value).endswith(
        f"line {n + 7}: column 1 ('area') is not a number: 'k.A.'; where a word is an empty "
        f"cell, give --missing median, indicator or drop with --missing-words {USUAL},k.A.,tba'"
    )
    kept = shlex.split(str(error.value).rpartition("--missing-words ")[2])[0]
    found = api.ingest(
        tmp_path / "t.csv",
        tmp_path / "d.zarr",
        missing="median",
        missing_words=parse_names(kept),
    )
    assert found.feature_names == ["area"]


def test_words_of_several_columns_have_one_answer(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("area,rooms,y\n1,2,0\n2,tba,1\nk.A.,3,1\n4,5,0\n")
    with pytest.raises(InputError) as error:
        api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr")
    first, second, answer = str(error.value).splitlines()
    assert first.endswith("line 4: column 1 ('area') is not a number: 'k.A.'")
    assert second.endswith("line 3: column 2 ('rooms') is not a number: 'tba'")
    assert answer.endswith(f"drop with --missing-words {USUAL},k.A.,tba'")


def test_words_are_added_to_those_that_were_chosen(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("area,y\n1,0\n2,1\n3,1\nk. A.,1\n-,0\n")
    how: dict[str, Any] = {"missing": "drop", "missing_words": ["-"]}
    with pytest.raises(InputError, match=r"; where a word is .* give --missing-words '-,k. A.'$"):
        api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)
    (tmp_path / "t.csv").write_text("area,y\n1,0\n2,1\n3,1\n12k,1\n")
    with pytest.raises(InputError, match=r"'12k'; write all its digits, .*, or .* --one-hot area$"):
        api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)


def test_two_dots_in_a_number_separate_thousands(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("area;y\n1.234.567;0\n850;1\n3;1\n")
    with pytest.raises(InputError, match=r"'1.234.567'; give --decimal , where a comma"):
        api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr")
    data = api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", decimal=",", scale="none")
    assert data.rows.read(0, 1)[0, 0] == 1_234_567


@pytest.mark.parametrize("word", ["<NA>", "\\N"])
def test_what_pandas_and_mysql_write_for_no_value_is_no_category(word: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    cells = ["red", word, "blue", "red"] * 10
    path.write_text(
        "a,c,y\n" + "".join(f"{k // 2},{one},{k % 3 % 2}\n" for k, one in enumerate(cells))
    )
    data = api.ingest(path, tmp_path / "d.zarr", one_hot="auto", missing="indicator")
    assert data.feature_names == ["a", "c=blue", "c=red", "c missing"]


@pytest.mark.parametrize("word", ["∞", "-∞"])
def test_infinity_is_no_empty_word(word: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"area,y\n1,0\n2,1\n{word},1\n4,0\n", encoding="utf-8")
    message = f"is not a number: '{word}'; features are finite: write a large number, or leave the "
    with pytest.raises(InputError, match=f"{message}cell empty and give --missing median"):
        api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr")
    with pytest.raises(InputError, match=f"{message}cell empty$"):
        api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr", missing="drop")
    (tmp_path / "t.csv").write_text(f"area,y\n1,0\n2,1\n{word},1\ntba,0\n3,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"--missing-words .*,#NULL!,tba'$"):
        api.ingest(tmp_path / "t.csv", tmp_path / "d.zarr")
