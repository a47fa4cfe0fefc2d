"""``dcsvm train``."""

from __future__ import annotations

from typing import Any

import click

from dcsvm_dask.cli.finish import finish, progress_of
from dcsvm_dask.cli.options import (
    execution_options,
    log_json_option,
    report_option,
    silent_option,
    training_options,
    verbose_option,
)


@click.command("train")
@click.argument("data")
@click.option("--run", "run_place", required=True, help="Folder or URL of the new run.")
@training_options
@click.option(
    "--holdout", help="Held-out rows on which every model is scored, such as DATA.zarr/test."
)
@click.option(
    "--or-resume",
    is_flag=True,
    help="Resume the run if it exists: for jobs that a queue may start again.",
)
@execution_options
@report_option
@log_json_option
@verbose_option
@silent_option
def command(
    data: str,
    run_place: str,
    parameters: dict[str, Any],
    holdout: str | None,
    or_resume: bool,
    execution: Any,
    report: bool,
    log_json: bool,
    verbose: bool,
    quiet: bool,
) -> None:
    """Train a kernel SVM on the data set DATA (its train part)."""
    from dcsvm_dask import api

    train = api.train_or_resume if or_resume else api.train
    run = train(
        data,
        run_place,
        holdout=holdout,
        execution=execution,
        quiet=quiet,
        report=report,
        progress=progress_of(log_json),
        **parameters,
    )
    finish(run, quiet, log_json, verbose=verbose)
