"""``dcsvm train``."""

from __future__ import annotations

from typing import Any

import click

from dcsvm_dask.cli.finish import finish, progress_of
from dcsvm_dask.cli.options import (
    execution_options,
    log_json_option,
    quiet_option,
    report_option,
    training_options,
)


@click.command("train")
@click.argument("data")
@click.option("--run", "run_place", required=True, help="Folder or URL of the new run.")
@training_options
@click.option("--holdout", help="Rows on which every level is scored: DATA.zarr/test.")
@execution_options
@report_option
@log_json_option
@quiet_option
def command(
    data: str,
    run_place: str,
    parameters: dict[str, Any],
    holdout: str | None,
    execution: Any,
    report: bool,
    log_json: bool,
    quiet: bool,
) -> None:
    """Train a kernel SVM on the data set DATA (its train part)."""
    from dcsvm_dask import api

    run = api.train(
        data,
        run_place,
        holdout=holdout,
        execution=execution,
        quiet=quiet,
        report=report,
        progress=progress_of(log_json),
        **parameters,
    )
    finish(run, quiet, log_json)
