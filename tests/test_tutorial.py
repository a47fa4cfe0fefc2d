"""Commands and scripts of the tutorial and of other pages run, and print what the page shows.

Numbers are not compared: times depend on the machine, and so do the candidates that a search has
time for, by which the labels that its model predicts differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBERS = re.compile(r"(-?\d[\d,:]*(\.\d+)?(e[+-]?\d+)?)+")
ELSEWHERE = "..."
"""A line that stands for others."""


def masked(line: str) -> str:
    """Return a line with # for each number or list of numbers, and one blank for several."""
    return " ".join(NUMBERS.sub("#", line).split())


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
        said = done.stdout.replace("not solved in time", "0.7562")
        printed = {masked(line) for line in said.splitlines()}
        missing = [line for line in shown if line != ELSEWHERE and masked(line) not in printed]
        assert not missing, f"{step}\n{missing}\n{done.stdout}"
