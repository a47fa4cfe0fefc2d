"""How commands that carry a run show it, and how they end."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

NOT_CONVERGED = 3


def finish(run: Any, quiet: bool, log_json: bool = False) -> None:
    """Print what came of a run; leave with status 3 where it ended without convergence."""
    from dcsvm_dask.diagnostics.summary import is_exact

    status = run.status()
    if log_json:
        from dcsvm_dask.diagnostics.json_lines import json_line

        click.echo(json_line("Status", time.time(), {"status": status}))
    elif not quiet:
        click.echo(told(run, status))
    if status["state"] == "complete" and is_exact(status) and not status["converged"]:
        sys.exit(NOT_CONVERGED)


def told(run: Any, status: dict[str, Any]) -> str:
    """Return what came of a run: a summary, on a terminal with what can be next."""
    if sys.stdout.isatty():
        from dcsvm_dask.diagnostics.terminal.closing import closing

        return "\n" + closing(run.folder, status)
    from dcsvm_dask.diagnostics.summary import summary

    return summary(status)


def progress_of(log_json: bool) -> str:
    """Return how progress is shown."""
    return "json" if log_json else "auto"
