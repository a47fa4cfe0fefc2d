"""``dcsvm status``."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import click

from dcsvm_dask.cli.options import echo, quiet_option, verbose_option

LEFT = 130
"""Exit status where Ctrl-C ended the watching, as shells have it."""


@click.command("status")
@click.argument("run_place", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--watch", is_flag=True, help="Keep showing RUN until it ends, or until Ctrl-C.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="Seconds between two updates of --watch.",
)
@verbose_option
@quiet_option
def command(
    run_place: str, as_json: bool, watch: bool, interval: float, verbose: bool, quiet: bool
) -> None:
    """Show where RUN stands, from its folder alone.

    With --watch the exit status is 0 when RUN has ended, however it did, and 130 after Ctrl-C,
    which ends the watching and not the run; with --json everything that happens is an object in a
    line.
    """
    del quiet  # what is printed is the result
    from dcsvm_dask import api

    run = api.open_run(run_place)
    if watch:
        from dcsvm_dask.cli.finish import summary_of
        from dcsvm_dask.diagnostics.json_lines import json_line
        from dcsvm_dask.diagnostics.watch import watch as watch_run

        try:
            watch_run(run.folder, interval, as_json=as_json)
        except KeyboardInterrupt:
            sys.exit(LEFT)
        found = _status(run)
        echo(
            json_line("Status", time.time(), {"status": found})
            if as_json
            else summary_of(run, found, verbose=verbose)
        )
    elif as_json:
        echo(json.dumps(_status(run), indent=1))
    else:
        show(run, verbose=verbose)


def _status(run: Any) -> dict[str, Any]:
    """Return a run's status, of a search with its candidates."""
    from dcsvm_dask.diagnostics.search import is_search

    found: dict[str, Any] = run.status()
    return found | {"candidates": run.results()} if is_search(run.folder) else found


def show(run: Any, *, verbose: bool = False) -> None:
    """Print a run's summary, on a terminal below its tree."""
    from dcsvm_dask.cli.finish import summary_of_search
    from dcsvm_dask.diagnostics.search import is_search
    from dcsvm_dask.diagnostics.terminal.closing import closing

    found = run.status()
    if sys.stdout.isatty():
        from rich.console import Console

        from dcsvm_dask.diagnostics.terminal.table import table
        from dcsvm_dask.diagnostics.watch import seen

        console, progress = Console(highlight=False), seen(run.folder)
        if progress.stages:
            plain, many = console.options.ascii_only, 1000
            console.print(table(progress, time.time(), console.width, many, ascii_only=plain))
            console.print()
    if is_search(run.folder):
        echo(summary_of_search(run))
    else:
        echo(closing(run.folder, found, verbose=verbose))
