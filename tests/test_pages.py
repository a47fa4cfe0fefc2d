"""Links and names of files in the pages; Sphinx checks those between pages of ``docs``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from dcsvm_dask import api
from dcsvm_dask.cli import COMMANDS, main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *(
        path
        for name in ("benchmarks", "cluster", "pipelines")
        for path in (ROOT / name).glob("*.md")
    ),
    *(path for path in (ROOT / "docs").rglob("*.md") if "generated" not in path.parts),
]
MEASURED = ("docs/comparison.md", "docs/compress.md")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
NAMED = re.compile(
    r"\b((?:docs|cluster|examples|pipelines|tests)/[\w/.-]*[a-z0-9]\.(?:md|py|yaml|sh|toml|ipynb|txt))\b"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_names_of_files_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    absent = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    if page.name != "CHANGELOG.md":  # which names files of earlier versions, too
        absent += [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    assert not absent


def test_docstrings_name_pages_that_are_there() -> None:
    named = {
        name
        for path in (ROOT / "dcsvm_dask").rglob("*.py")
        for name in re.findall(r"\bdocs/[\w/]+\.md\b", path.read_text())
    }
    assert len(named) >= 2
    assert all((ROOT / name).exists() for name in named), named


def test_rows_of_a_data_set_are_read_as_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wine = load_wine()
    labels = np.array(["a", "b", "c"])[wine.target]
    api.ingest((wine.data, labels), tmp_path / "mine.zarr", scale="standard")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/data.md").read_text(), re.DOTALL)
    found: dict[str, Any] = {}
    exec(block, found)
    assert found["X"].dtype == np.float32
    assert found["X"] == pytest.approx(StandardScaler().fit_transform(wine.data), abs=1e-5)
    assert found["y"].tolist() == labels.tolist()
    assert found["names"] is None


@pytest.mark.parametrize("name", ["README.md", "docs/choosing.md"])
def test_figures_are_those_of_the_pages_that_have_their_commands(name: str) -> None:
    figure = re.compile(r"(?<!\d)\.\d{3,4}\b")
    reported = {one for page in MEASURED for one in figure.findall((ROOT / page).read_text())}
    found = figure.findall((ROOT / name).read_text())
    assert len(found) >= 10
    assert set(found) <= reported


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_pages_have_the_options_that_they_are_given(page: Path) -> None:
    # A command in a block of code begins a line; it may go on in the next ones.
    lines = re.sub(r"\\\n\s*", " ", page.read_text()).splitlines()
    for line in lines:
        words = re.sub(r"\s#.*", "", line.strip()).removeprefix("$ ").split()
        if words[:1] != ["dcsvm"] or len(words) < 2 or words[1] not in COMMANDS:
            continue
        command = main.get_command(click.Context(main), words[1])
        assert command is not None
        known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
        given = {word.split("=")[0] for word in words if re.match(r"--?[A-Za-z]", word)}
        assert given <= known | {"--help"}, line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_no_marks_of_its_layout(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    assert command.help
    assert "\\b" not in command.help
