"""The notebooks of ``examples`` run from their first cell to the last."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.ipynb"))


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A kernel of this environment, whatever is installed for the user.
    specs = tmp_path / "kernels" / "python3"
    specs.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": command, "display_name": "Python 3", "language": "python"}
    (specs / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=240).execute(cwd=str(tmp_path))
    printed = [cell["outputs"] for cell in notebook.cells if cell["cell_type"] == "code"]
    assert all(printed[0:2])
    exported = printed[-1][0]["data"]["text/plain"]
    assert "'labels that differ': 0" in exported
