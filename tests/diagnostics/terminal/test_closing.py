"""What is said at the end of a run."""

from __future__ import annotations

import re

from dcsvm_dask.diagnostics.terminal.closing import closing
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
