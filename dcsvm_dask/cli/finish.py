"""How commands that carry a run end."""

from __future__ import annotations

import sys
from typing import Any

import click

NOT_CONVERGED = 3


def finish(run: Any, quiet: bool) -> None:
    """Print the summary; leave with status 3 where the rounds ended without convergence."""
    from dcsvm_dask.diagnostics.summary import is_exact, summary

    status = run.status()
    if not quiet:
        click.echo(summary(status))
    if status["state"] == "complete" and is_exact(status) and not status["converged"]:
        sys.exit(NOT_CONVERGED)
