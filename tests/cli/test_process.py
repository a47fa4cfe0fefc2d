"""The command as a process: its status, and what is written at its end."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

CALL = "from dcsvm_dask.cli.process import run; run()"


def call(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(("words", "status"), [(["--version"], 0), (["status", "nowhere"], 2)])
def test_the_status_is_that_of_the_command(words: list[str], status: int) -> None:
    done = call(CALL, *words)
    assert done.returncode == status
    assert done.stdout + done.stderr != ""


def test_what_others_do_at_the_exit_is_done() -> None:
    later = "process.main = lambda: [atexit.register(print, 'later'), exit(3)]"
    done = call(f"import atexit; from dcsvm_dask.cli import process; {later}; process.run()")
    assert (done.returncode, done.stdout) == (3, "later\n")


def test_an_output_that_cannot_be_written_is_no_success() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full, where nothing can be written to")
    code = "from dcsvm_dask.cli import process; process.main = lambda: [print(1), exit(0)]"
    with full.open("w") as out:
        done = subprocess.run(
            [sys.executable, "-c", f"{code}; process.run()"], stdout=out, check=False
        )
    assert done.returncode != 0


def test_the_script_is_this_function() -> None:
    scripts = entry_points(group="console_scripts", name="dcsvm")
    assert {script.value for script in scripts} == {"dcsvm_dask.cli.process:run"}
