"""Commands and scripts of the tutorial and of other pages run, and print what the page shows.

Times and memory depend on the machine, and so do the candidates that a search has time for, thus
the model that it ends in: these are not compared. Of other numbers the last digits may differ.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
MEASURED = re.compile(r"\d+:\d\d\b|[\d.]+(?= s\b)|(?<=^ms a row ).*|(?<=^memory )\s+\d.*")
ELSEWHERE = "..."
"""A line that stands for others."""
WHATEVER_IS_FOUND = ("largest class", "linear SVM")
"""Lines about a search whose numbers do not depend on what it has time for."""
FIRST_FIT, EDGE = "dcsvm_dask is compiling", "note               the best "
"""The begin of a line that only a new installation prints."""
FIRST_SEARCH = re.compile(r", and \d+ s for compiling, once$", re.MULTILINE)
"""The end of a line that only a new installation prints."""
LINEAR = "0.7560"
"""The accuracy of its linear SVM."""
LAST_DIGITS = 5e-4
OTHER_CLUSTERS = 0.02
"""How far numbers of an early model may lie apart: a last digit may lead to other clusters."""


def numbers_of(line: str) -> tuple[str, list[float]]:
    """Return a line with # for each number and ~ for what is measured, and the numbers."""
    line = MEASURED.sub("~", line)
    found = [float(number.replace(",", "")) for number in NUMBER.findall(line)]
    return " ".join(NUMBER.sub("#", line).split()), found


def alike(shown: str, printed: str, *, searched: bool = False, apart: float = LAST_DIGITS) -> bool:
    """Return whether a line of the page is one that was printed, but for last digits.

    Parameters
    ----------
    shown, printed : str
    searched : bool, default False
        Whether its numbers are those of the model of a search.
    apart : float, default LAST_DIGITS
        How far numbers may lie apart, relative and absolute.
    """
    (text, numbers), (other, others) = numbers_of(shown), numbers_of(printed)
    if text != other:
        return False
    if searched and not shown.startswith(WHATEVER_IS_FOUND):
        return True
    return len(numbers) == len(others) and all(
        math.isclose(a, b, rel_tol=apart, abs_tol=apart)
        for a, b in zip(numbers, others, strict=True)
    )


def first_missing(shown: list[str], printed: list[str], **how: Any) -> str | None:
    """Return the first line of the page that was not printed where the page has it.

    Lines follow each other as they were printed, but for those that `ELSEWHERE` stands for. `how`
    is handed on to `alike`.
    """
    place, anywhere = 0, False
    for line in shown:
        if line == ELSEWHERE:
            anywhere = True
            continue
        places = range(place, len(printed) if anywhere else min(place + 1, len(printed)))
        found = next((k for k in places if alike(line, printed[k], **how)), None)
        if found is None:
            return line
        place, anywhere = found + 1, False
    return None if anywhere or place == len(printed) else f"nothing for {printed[place]!r}"


def steps(page: str, section: str) -> list[tuple[str, list[str]]]:
    """Return each command or script of a page with the lines that it shows of the output.

    Of the section with that heading; empty: of the whole page.
    """
    shown = (DOCS / page).read_text()
    if section:
        shown = shown.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found: list[tuple[str, list[str]]] = []
    for kind, text in BLOCK.findall(shown):
        if kind == "python":
            found.append((text, []))
        elif kind == "text":
            found[-1][1].extend(text.splitlines())
        else:
            for line in text.splitlines():
                if line.startswith("$ "):
                    found.append((line[2:], []))
                else:
                    found[-1][1].append(line)
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("page", "section", "least"),
    [("tutorial.md", "", 12), ("choosing.md", "Rare classes", 6)],
    ids=["tutorial", "rare classes"],
)
def test_a_page_runs_and_prints_what_it_shows(
    page: str, section: str, least: int, tmp_path: Path
) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    script = tmp_path / "script.py"
    ran = steps(page, section)
    assert len(ran) >= least
    stale = []
    for step, shown in ran:
        words = ["sh", "-c", step]
        if "\n" in step:
            script.write_text(step)
            words = [sys.executable, str(script)]
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "DCSVM_REPORT": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{step}\n{done.stdout}"
        # On a busy machine the time allowed may not suffice for the linear SVM.
        said = FIRST_SEARCH.sub("", done.stdout).replace("not solved in time", LINEAR)
        printed = [line for line in said.splitlines() if not line.startswith((FIRST_FIT, EDGE))]
        early = "--stop-at 1" in step or step.startswith("dcsvm evaluate run2")
        apart = OTHER_CLUSTERS if early else LAST_DIGITS
        missing = first_missing(shown, printed, searched="easy" in step, apart=apart)
        if missing is not None:
            stale.append(f"$ {step}\nthe page has {missing}\n{said}")
    assert not stale, "\n\n".join(stale)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("    class -1: 8,184 rows (51.1%)", "    class -1: 8,206 rows (51.3%)", False),
        ("accuracy   0.8400 on 4,000 held-out rows", "accuracy   0.8393 on 4,000 rows", False),
        ("accuracy   0.8400", "accuracy   0.8393", False),
        ("accuracy           0.84000", "accuracy           0.84025", True),
        ("Kiel,yes,8.782458939235399", "Kiel,yes,8.782458930000001", True),
        ("Kiel,yes,8.782458939235399", "Kiel,yes,8.882458939235399", False),
        ("-1,-1.0002521492942305", "1,-1.0002521492942305", False),
        ("state      complete, in 0:07", "state      complete, in 1:22", True),
        ("ms a row           0.01347", "ms a row           0.1021", True),
        ("memory     631 MiB a worker at most", "memory     9 MiB a worker at most", True),
        ("memory: about 631 MiB", "memory: about 300 MiB", False),
        ("about 6.3 s, 3.2e+08 kernel values", "about 9 s, 3.2e+08 kernel values", True),
        ("about 6.3 s, 3.2e+08 kernel values", "about 6.3 s, 3.2e+07 kernel values", False),
    ],
)
def test_stale_numbers_are_seen_and_times_are_not(shown: str, printed: str, same: bool) -> None:
    assert alike(shown, printed) is same


def test_the_model_of_a_search_may_be_another_but_not_what_it_is_compared_with() -> None:
    model = "model              C 8, gamma 0.301887, 7,733 support vectors; best of 39 candidates"
    other = "model              C 64, gamma 0.1, 6,857 support vectors; best of 9 candidates"
    assert alike(model, other, searched=True)
    assert not alike("largest class  0.5182", "largest class  0.5128", searched=True)


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        (["one", "two", "three"], None),
        (["...", "three"], None),
        (["one", "..."], None),
        (["..."], None),
        (["one", "three"], "three"),
        (["two", "..."], "two"),
        (["...", "two"], "nothing for 'three'"),
        ([], "nothing for 'one'"),
    ],
)
def test_lines_that_are_left_out_are_marked(shown: list[str], missing: str | None) -> None:
    assert first_missing(shown, ["one", "two", "three"]) == missing
