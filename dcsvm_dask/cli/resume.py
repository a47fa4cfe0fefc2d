"""``dcsvm resume``."""

from __future__ import annotations

from typing import Any

import click

from dcsvm_dask.cli.finish import finish
from dcsvm_dask.cli.options import execution_options, quiet_option


@click.command("resume")
@click.argument("run_place", metavar="RUN")
@click.option("--tol", type=float, help="Another violation to end at.")
@click.option("--stop-at", type=int, help="Another level to end at; 0: exact.")
@click.option("--max-rounds", type=int, help="Another limit of rounds.")
@execution_options
@quiet_option
def command(
    run_place: str,
    tol: float | None,
    stop_at: int | None,
    max_rounds: int | None,
    execution: Any,
    quiet: bool,
) -> None:
    """Go on with RUN from what it has committed."""
    from dcsvm_dask import api

    run = api.resume(
        run_place,
        execution=execution,
        tol=tol,
        stop_at=stop_at,
        max_rounds=max_rounds,
        quiet=quiet,
    )
    finish(run, quiet)
