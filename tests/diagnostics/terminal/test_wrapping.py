"""Lines on terminals of 80 and 140 columns: broken between words, or left whole."""

from __future__ import annotations

import io
import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcsvm_dask.diagnostics.terminal.wrapping import fitted

SENTENCE = (
    "   47.5 s  training on 3,200 rows with C 1 and gamma 2.12506: about 8 s by what the search "
    "took, beyond --minutes, which do not cut it off"
)
WHOLE = [
    "next       dcsvm evaluate a/rather/long/place/of/a/run another/long/place/of/a/data/set.zarr",
    "  dcsvm predict a/rather/long/place/of/a/run NEW.csv --out a/rather/long/place/of/results.csv",
    "short      line",
    "",
]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True, params=[80, 140])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    size = os.terminal_size((request.param, 24))
    monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: size)
    return int(request.param)


def test_a_sentence_continues_below_its_beginning(columns: int) -> None:
    lines = fitted(f"{SENTENCE}; {SENTENCE[11:]}", Terminal()).split("\n")
    assert len(lines) == {80: 4, 140: 2}[columns]
    for line in lines[1:]:
        assert len(line) <= columns
        assert line[:11].isspace()
        assert line[11] != " "


def test_the_last_columns_of_a_row_go_below_the_others(columns: int) -> None:
    row = "conquer-001       4        44 MiB       1.02e+07      0.122 s        2  solve > commit"
    lines = fitted(row, Terminal()).split("\n")
    first = row.removesuffix("  solve > commit")
    assert lines == ([row] if columns == 140 else [first, "    solve > commit"])


@pytest.mark.parametrize("line", WHOLE)
def test_commands_and_short_lines_stay_whole(line: str) -> None:
    assert fitted(line, Terminal()) == line


def test_files_and_pipes_get_whole_lines() -> None:
    assert fitted(SENTENCE, io.StringIO()) == SENTENCE


@given(words=st.lists(st.text("abc-.,", min_size=1, max_size=30), max_size=40))
def test_no_word_is_lost_or_broken(words: list[str]) -> None:
    text = "label      " + " ".join(words)
    assert fitted(text, Terminal()).split() == text.split()
