"""What is said at the end of a run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from dcsvm_dask import open_run
from dcsvm_dask.diagnostics.terminal.closing import closing, next_commands
from tests.diagnostics.conftest import Trained


def test_the_closing_says_what_came_of_it_and_what_can_be_next(trained: Trained) -> None:
    status, folder = trained.run.status(), trained.run.folder
    text = closing(folder, status)
    assert "complete, converged, in 0:0" in text
    said = r"^accuracy   0\.\d{4} on 200 held-out rows, of which the largest class has 0\.\d{4}$"
    assert re.search(said, text, re.MULTILINE)
    assert f"dcsvm evaluate {trained.run.url} {trained.data}/test" in text
    assert "report" not in text
    early = {**status, "model": "level-1", "converged": False}
    assert f"next       dcsvm resume {trained.run.url} --stop-at 0" in closing(folder, early)
    early["state"] = "interrupted"
    text = closing(folder, early)
    assert f"next       dcsvm resume {trained.run.url}" in text
    assert "early prediction by level-1" in text


def test_commands_can_be_copied_from_a_folder_with_blanks(trained: Trained, tmp_path: Path) -> None:
    place = tmp_path / "my runs"
    shutil.copytree(trained.run.url, place)
    run = open_run(place)
    text = closing(run.folder, run.status())
    assert f"dcsvm evaluate '{place}' {trained.data}/test" in text


def test_a_run_that_goes_on_is_not_to_be_resumed(trained: Trained) -> None:
    status = {**trained.run.status(), "state": "running", "model": None}
    assert next_commands(trained.run.folder, status) == []
