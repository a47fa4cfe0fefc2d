"""``dcsvm run``: a pipeline file."""

from __future__ import annotations

from typing import Any

import click

from dcsvm_dask.cli.finish import finish
from dcsvm_dask.cli.options import execution_options, quiet_option


@click.command("run")
@click.argument("file", type=click.Path())
@execution_options
@quiet_option
def command(file: str, execution: Any, quiet: bool) -> None:
    """Run the pipeline FILE (TOML): take in its data, train, resume what was begun."""
    from dcsvm_dask import api

    finish(api.run_pipeline(file, execution=execution, quiet=quiet), quiet)
