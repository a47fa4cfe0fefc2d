"""What belongs to a release: one version everywhere, and files of the forms that others read."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from dcsvm_dask import __version__

ROOT = Path(__file__).resolve().parents[1]


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    found = {project["version"], citation["version"], heading[1]}
    pages = [*(ROOT / "cluster").iterdir(), *(ROOT / "docs" / "clusters").iterdir()]
    for page in pages:
        if page.is_file():
            found.update(re.findall(r"dcsvm-dask:(\d[\w.]*\w)", page.read_text()))
    assert found == {__version__}


def test_the_citation_says_what_the_project_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["license"] == project["license"]
    assert citation["abstract"] == project["description"]
    assert citation["keywords"] == project["keywords"]


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.citation-file-format", "CITATION.cff"),
        ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE/*.yml"),
    ],
)
def test_files_for_others_have_their_form(schema: str, files: str) -> None:
    found = sorted(ROOT.glob(files))
    assert found
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    options = ["--default-filetype", "yaml"]
    done = subprocess.run([*command, *options, *map(str, found)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
