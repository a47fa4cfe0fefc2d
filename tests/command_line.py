"""The dcsvm command as tests call it."""

from __future__ import annotations

import sys

from click.testing import CliRunner, Result

from dcsvm_dask.cli import main

COMMAND = [sys.executable, "-c", "from dcsvm_dask.cli.process import run; run()"]
"""The words that start it as a process."""


def invoke(*words: object) -> Result:
    """Call it in this process."""
    return CliRunner().invoke(main, [str(word) for word in words])
