"""Messages about paths at which nothing is name what may be meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dcsvm_dask.absent import no_such
from tests.command_line import invoke


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder: one with a table, and a folder that looks like a data set."""
    (tmp_path / "rows.csv").write_text("a,label\n1,x\n2,y\n")
    (tmp_path / ".rows.cvs").write_text("")
    (tmp_path / "mine.zarr").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("rows.cvs", "there is no such file; did you mean rows.csv?"),
        ("ROW.CSV", "there is no such file; did you mean rows.csv?"),
        ("{here}/rows.csv.gz", "there is no such file; did you mean {here}/rows.csv?"),
        ("", "the name of the file is empty; give a path"),
        ("mine", "there is no such file; did you mean mine.zarr?"),
        ("elsewhere", "there is no such file; check the path"),
        ("lakes.csv", "there is no such file; check the path"),  # only the ending is alike
        (
            "mine.zar/a",
            "there is no such file, and no folder mine.zar in .; did you mean mine.zarr?",
        ),
        ("rows.csv/a", "there is no such file; check the path"),
        ("s3://rows.cvs", "there is no such file; check the path"),
    ],
)
def test_the_name_that_is_most_alike_in_the_same_folder(here: Path, path: str, said: str) -> None:
    assert no_such("file", path.format(here=here)) == said.format(here=here)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_may_not_be_listed(here: Path) -> None:
    (here / "mine.zarr").chmod(0)
    try:
        assert no_such("file", "mine.zarr/a").endswith("; check the path")
    finally:
        (here / "mine.zarr").chmod(0o700)


@pytest.mark.parametrize(
    "words",
    [
        "train rows.cvs --run r",
        "plan rows.cvs",
        "search rows.cvs --run r",
        "info rows.cvs",
        "easy rows.cvs",
        "ingest rows.cvs --out d.zarr",
        "ingest rows.csv --test rows.cvs --out d.zarr",
    ],
)
def test_commands_that_take_rows(here: Path, words: str) -> None:
    done = invoke(*words.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert "there is no such file" in done.stderr
    assert done.stderr.endswith("rows.csv?\n")
    assert sorted(one.name for one in here.iterdir()) == [".rows.cvs", "mine.zarr", "rows.csv"]


@pytest.mark.parametrize("command", ["predict", "evaluate", "status", "resume"])
def test_commands_that_take_a_run(here: Path, command: str) -> None:
    (here / "run").mkdir()
    own = {"predict": ("rows.csv", "--out", "p.csv"), "evaluate": ("rows.csv",)}.get(command, ())
    done = invoke(command, "run1", *own)
    assert done.exit_code == 2
    assert f"there is no run: there is no such folder; did you mean {here}/run?" in done.stderr


def test_what_to_do_where_no_name_is_alike(here: Path) -> None:
    done = invoke("train", "elsewhere.zarr", "--run", "r")
    reported = (
        "no data set there: there is no such file or folder; check the path, or make one with"
    )
    assert f"{here}/elsewhere.zarr: {reported} dcsvm ingest\n" in done.stderr


def test_standard_input_is_no_file() -> None:
    assert no_such("file", "-") == (
        "there is no such file, and standard input cannot be read: data are read more than once; "
        "write them to a file first"
    )


@pytest.mark.parametrize("words", ["train rows.csv --run", "ingest rows.csv --out", "evaluate"])
def test_an_empty_path_is_refused(here: Path, words: str) -> None:
    more = ("rows.csv",) if words == "evaluate" else ()
    done = invoke(*words.split(), "", *more)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "the path is empty; give a path or a URL" in done.stderr
    assert sorted(one.name for one in here.iterdir()) == [".rows.cvs", "mine.zarr", "rows.csv"]
