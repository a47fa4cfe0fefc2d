"""``dcsvm resume``."""

from __future__ import annotations

from typing import Any

import click

from dcsvm_dask.cli.finish import finish, progress_of
from dcsvm_dask.cli.options import (
    execution_options,
    log_json_option,
    report_option,
    silent_option,
    verbose_option,
)


@click.command("resume")
@click.argument("run_place", metavar="RUN")
@click.option("--tol", type=float, help="Another tolerance for the violation.")
@click.option("--stop-at", type=int, help="Another level to stop at; 0 for the exact model.")
@click.option("--max-rounds", type=int, help="Another maximum number of rounds.")
@click.option(
    "--committee/--no-committee", default=None, help="Calibrate levels for committee prediction."
)
@click.option("--data", metavar="DATA", help="Where the run's data set lies now, if it was moved.")
@execution_options
@report_option
@log_json_option
@verbose_option
@silent_option
def command(
    run_place: str,
    tol: float | None,
    stop_at: int | None,
    max_rounds: int | None,
    committee: bool | None,
    data: str | None,
    execution: Any,
    report: bool,
    log_json: bool,
    verbose: bool,
    quiet: bool,
) -> None:
    """Go on with RUN from what it has committed.

    The model is that of a run which was never interrupted, bit for bit on one kind of processor
    with one set of versions; where these are not those that it was begun with, a line says so.
    """
    from dcsvm_dask import api

    run = api.resume(
        run_place,
        execution=execution,
        tol=tol,
        stop_at=stop_at,
        max_rounds=max_rounds,
        committee=committee,
        data=data,
        quiet=quiet,
        report=report,
        progress=progress_of(log_json),
    )
    finish(run, quiet, log_json, verbose=verbose)
