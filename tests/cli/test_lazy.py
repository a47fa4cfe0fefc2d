"""Commands import what they use, and no more: each package costs its user tenths of a second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dcsvm_dask.data.ingest import ingest

CALL = """
import sys
from dcsvm_dask.cli import main
try:
    main({words!r})
except SystemExit as end:
    assert not end.code, end.code
heavy = "bokeh", "dask", "distributed", "numba", "onnx", "pandas", "pyarrow", "rich", "sklearn"
print("imported", *(name for name in heavy if name in sys.modules))
"""


def imported(*words: str) -> list[str]:
    code = CALL.format(words=list(words))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


def test_help_imports_none_of_the_large_packages() -> None:
    assert imported("--help") == []


@pytest.mark.long
def test_a_short_training_imports_neither_dask_nor_what_shows(tmp_path: Path) -> None:
    X = np.random.default_rng(0).random((60, 2))
    ingest((X, np.sign(X[:, 0] - 0.5)), tmp_path / "d.zarr")
    run = str(tmp_path / "run")
    words = ["train", str(tmp_path / "d.zarr"), "--run", run, "--no-report", "--quiet"]
    assert imported(*words) == ["numba"]
    for words in (["status", run, "--json"], ["evaluate", run, str(tmp_path / "d.zarr"), "--json"]):
        assert set(imported(*words)) <= {"numba"}
