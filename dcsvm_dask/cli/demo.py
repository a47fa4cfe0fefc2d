"""``dcsvm demo``: the main job on data that ships with the package."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from typing import Any

import click

from dcsvm_dask.cli.finish import finish, progress_of, summary_of
from dcsvm_dask.cli.options import execution_options, log_json_option, silent_option


@click.command("demo")
@execution_options
@log_json_option
@silent_option
def command(execution: Any, log_json: bool, quiet: bool) -> None:
    """Train on 16,000 rows of Covertype, test on 4,000; results go to .demo."""
    from dcsvm_dask import api
    from dcsvm_dask.diagnostics.summary import exact_line
    from dcsvm_dask.pipeline.file import read_pipeline

    with resources.as_file(resources.files("dcsvm_dask.demo")) as folder:
        file = folder / "covtype.toml"
        pipeline = read_pipeline(file)
        api.forget(pipeline)
        if execution.is_local and execution.workers is None and execution.file is None:
            # The run is short, but the workers and their dashboard are to be seen.
            execution = replace(execution, workers=execution.n_workers())
        how = progress_of(log_json)
        [run] = api.run_pipeline(file, execution=execution, quiet=quiet, progress=how)
    if log_json:
        finish(run, quiet, log_json)
        return
    status = run.status()
    if not quiet:
        click.echo(summary_of(run, status))
    click.echo(exact_line(status))
