"""Lines above and below the names of columns, row names, notes: each message has its remedy."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask import api
from dcsvm_dask.errors import InputError

N = 40
RNG = np.random.default_rng(0)
A = RNG.integers(0, 99, N) / 8
FRAME = pd.DataFrame({"mass": A, "width": A[::-1], "kind": np.where(A > 6, "in", "out")})


def written(folder: Path, text: str) -> Path:
    path = folder / "t.csv"
    path.write_text(text)
    return path


def refused(path: Path, **words: Any) -> str:
    with pytest.raises(InputError) as error:
        api.ingest(path, path.with_suffix(".zarr"), **{"label": "kind", **words})
    return str(error.value)


def check(path: Path, folder: Path, **words: Any) -> None:
    """Check that a file is read as the table."""
    data = api.ingest(path, folder / "d.zarr", label="kind", scale="none", **words)
    np.testing.assert_array_equal(data.rows.read(0, N), FRAME[["mass", "width"]])
    assert np.array(data.classes)[data.read_codes(0, N)].tolist() == FRAME["kind"].tolist()


@pytest.mark.parametrize(
    ("above", "separator"),
    [
        ("Report of May,,\n,,\n", ","),
        ("sep=;\n", ";"),
        ("Logger X,serial 12\nstart 12:00\n\n", ","),
        ("Some logger\n12\n", "\t"),
    ],
    ids=["sheet", "sep=", "titles", "tabs"],
)
@pytest.mark.parametrize("how", [{}, {"missing": "median"}], ids=["plain", "prepared"])
def test_the_line_of_the_names_is_reported_and_the_advice_works(
    above: str, separator: str, how: dict[str, Any], tmp_path: Path
) -> None:
    path = written(tmp_path, above + FRAME.to_csv(index=False, sep=separator))
    line = above.count("\n") + 1
    problem = refused(path, **how)
    if f"tail -n +{line} FILE > NEW" not in problem:
        assert "remove the lines above the names of the columns, or begin them with #" in problem
    new = tmp_path / "new.csv"
    new.write_bytes(subprocess.check_output(["tail", "-n", f"+{line}", str(path)]))
    check(new, tmp_path, **how)


def test_titles_among_blanks_are_reported(tmp_path: Path) -> None:
    above = "Logger X200 Serial 1234\nStart: 12:00\n\n"
    table = FRAME.to_csv(index=False)
    for how in ({}, {"missing": "median"}):
        problem = refused(written(tmp_path, above + table), **how)
        assert "is no row of the table below it; remove the lines above the names" in problem
    check(written(tmp_path, "# Logger X200 Serial 1234\n# Start: 12:00\n\n" + table), tmp_path)


@pytest.mark.parametrize("label", ["in", "kid"])
def test_a_name_that_is_in_no_header_is_reported_alone(label: str, tmp_path: Path) -> None:
    problem = refused(written(tmp_path, FRAME.to_csv(index=False)), label=label)
    assert problem.endswith(f"no column {label!r}; there are: mass, width, kind")


@pytest.mark.parametrize("how", [{}, {"one_hot": "auto"}], ids=["plain", "prepared"])
def test_row_names_of_r(how: dict[str, Any], tmp_path: Path) -> None:
    header, *rows = FRAME.to_csv(index=False).splitlines()
    named = "\n".join(f'"r{k}",{row}' for k, row in enumerate(rows))
    problem = refused(written(tmp_path, f"{header}\n{named}\n"), **how)
    assert "line 2: more than 3 cells; " in problem
    assert problem.endswith("such as the row names of R, put a name before those of line 1")
    check(written(tmp_path, f"row,{header}\n{named}\n"), tmp_path, drop=["row"], **how)


@pytest.mark.parametrize("how", [{}, {"one_hot": "auto"}], ids=["plain", "prepared"])
def test_a_note_below_the_table(how: dict[str, Any], tmp_path: Path) -> None:
    problem = refused(written(tmp_path, FRAME.to_csv(index=False) + "Source: us\n"), **how)
    assert problem.endswith(
        f"line {N + 2}: fewer than 3 cells; delete the line where it is no row of the table, such "
        "as a note, or complete it"
    )


def test_quoted_names_between_blanks(tmp_path: Path) -> None:
    header, *rows = FRAME.to_csv(index=False, sep=" ").splitlines()
    quoted = " ".join(f'"{name}"' for name in header.split())
    named = "\n".join(f'"{k}" {row}' for k, row in enumerate(rows, 1))
    problem = refused(written(tmp_path, f"{quoted}\n{named}\n"))
    assert "write the table with commas between the cells (in R write.csv(..., row.names" in problem


@pytest.mark.parametrize("above", ["", "% by us\n\n%\n"])
def test_arff_after_comments(above: str, tmp_path: Path) -> None:
    problem = refused(written(tmp_path, f"{above}@Relation r\n@attribute a numeric\n@data\n1\n"))
    assert problem.endswith("is an ARFF file: write its rows as CSV (scipy.io.arff reads it)")


@pytest.mark.parametrize("how", [{}, {"missing": "median"}], ids=["plain", "prepared"])
def test_a_comma_in_a_name_does_not_separate(how: dict[str, Any], tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False, sep=";").replace("width", "width, mm", 1)
    path = written(tmp_path, text)
    data = api.ingest(path, tmp_path / "d.zarr", scale="none", **how)
    assert data.feature_names == ["mass", "width, mm"]
    np.testing.assert_array_equal(data.rows.read(0, N), FRAME[["mass", "width"]])
    path.write_text(text.replace(".", ","))
    assert "give --decimal , where a comma begins the decimals" in refused(path, **how)


def test_semicolons_in_quotes_do_not_separate(tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False).replace("width", '"width; in; mm; of; one"', 1)
    data = api.ingest(written(tmp_path, text), tmp_path / "d.zarr", scale="none")
    assert data.feature_names == ["mass", "width; in; mm; of; one"]


def test_a_header_that_is_repeated_is_reported_once(tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False)
    path = written(tmp_path, text + text)
    message = refused(path)
    line = len(text.splitlines()) + 1
    assert message == (
        f"{path}, line {line}: column 1 ('mass') is the name of the column again; leave out lines "
        "that repeat the header"
    )
    header, *rows = (text + text).splitlines()
    check(written(tmp_path, "\n".join([header, *(one for one in rows if one != header)])), tmp_path)


@pytest.mark.parametrize("how", [{}, {"missing": "median"}], ids=["plain", "prepared"])
def test_a_comma_in_a_quoted_name_does_not_separate(how: dict[str, Any], tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False, sep=";").replace("width", '"width, mm"', 1)
    data = api.ingest(written(tmp_path, text), tmp_path / "d.zarr", scale="none", **how)
    assert data.feature_names == ["mass", "width, mm"]
    np.testing.assert_array_equal(data.rows.read(0, N), FRAME[["mass", "width"]])


@pytest.mark.parametrize(("tab", "end"), [("\t", "\t"), ("\t\t", "")], ids=["at the end", "two"])
def test_rows_with_more_tabs_than_cells_below_names_with_blanks(
    tab: str, end: str, tmp_path: Path
) -> None:
    rows = [
        tab.join((*map(str, row), str(k % 2))) + end
        for k, row in enumerate(zip(A, A[::-1], strict=True))
    ]
    path = written(tmp_path, "\n".join(["mass width kind", *rows, ""]))
    data = api.ingest(path, tmp_path / "d.zarr", label="kind", scale="none")
    np.testing.assert_array_equal(data.rows.read(0, N), FRAME[["mass", "width"]])
    assert data.read_codes(0, N).tolist() == [k % 2 for k in range(N)]


def test_a_word_of_a_name_in_line_1_is_no_title(tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False).replace("kind", "the kind", 1)
    problem = refused(written(tmp_path, text))
    assert problem.endswith("no column 'kind'; there are: mass, width, the kind")


def test_semicolons_within_cells_do_not_separate(tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False).replace("width", "width (in; mm; of; one)", 1)
    data = api.ingest(written(tmp_path, text), tmp_path / "d.zarr", label="kind", scale="none")
    assert data.feature_names == ["mass", "width (in; mm; of; one)"]
    rows = [f"{m},{'red;' * (3 - k % 3)}blue,{k % 2}" for k, m in enumerate(A)]
    path = written(tmp_path, "\n".join([*rows, ""]))
    how: dict[str, Any] = {"label": -1, "one_hot": "auto", "scale": "none", "overwrite": True}
    data = api.ingest(path, tmp_path / "d.zarr", **how)
    np.testing.assert_array_equal(data.rows.read(0, N)[:, 0], A)


@pytest.mark.parametrize("line", ["sep=;", '"sep=,"', "SEP=\t", "\ufeffsep=;;;;"])
@pytest.mark.parametrize("words", [False, True])
def test_a_line_for_excel_is_refused_by_the_reason(words: bool, line: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    text = FRAME.assign(c="u").to_csv(index=False, sep=";") if words else FRAME.to_csv(index=False)
    path.write_text(f"{line}\n{text}", encoding="utf-8")
    problem = refused(path, one_hot="auto") if words else refused(path)
    assert problem.startswith(f"{path}, line 1: '")
    assert problem.endswith(
        " tells Excel what separates the cells; delete it (tail -n +2 FILE > NEW)"
    )
