"""The examples run as a newcomer would call them."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from dcsvm_dask.api import open_run

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.long
def test_early_stopping_ends_a_run_whose_accuracy_stops_rising(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["early_stopping.py", "--out", str(tmp_path / "out"), "--workers", "0"]
    monkeypatch.setattr(sys, "argv", argv)
    runpy.run_path(str(EXAMPLES / argv[0]), run_name="__main__")
    assert "is no longer rising" in capsys.readouterr().out
    run = open_run(tmp_path / "out" / "run")
    status = run.status()
    assert (status["state"], status["level"]) == ("interrupted", 1)
    assert status["model"] == "level-1"
    scores = [point["accuracy"] for point in run.history()]
    assert len(scores) == 3
    assert scores[-1] < scores[-2] + 0.002
