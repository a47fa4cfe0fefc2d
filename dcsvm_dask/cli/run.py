"""``dcsvm run``: a pipeline file."""

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


@click.command("run")
@click.argument("file", type=click.Path())
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="Override a key of FILE, such as data.train_rows=1000 or method.C=8.",
)
@execution_options
@report_option
@log_json_option
@verbose_option
@silent_option
def command(
    file: str,
    changes: tuple[str, ...],
    execution: Any,
    report: bool,
    log_json: bool,
    verbose: bool,
    quiet: bool,
) -> None:
    """Run the pipeline FILE (TOML): take in its data, train, resume what was begun."""
    from dcsvm_dask import api
    from dcsvm_dask.diagnostics.report.page import available
    from dcsvm_dask.diagnostics.results import results, tests

    def begin(planned: Any) -> None:
        if planned.name and not quiet and not log_json:
            click.echo(f"-- {planned.name}", err=True)

    runs = api.run_pipeline(
        file,
        changes=changes,
        execution=execution,
        quiet=quiet,
        report=report,
        progress=progress_of(log_json),
        begin=begin,
    )
    found = "" if quiet else tests([run.folder for run in runs])
    if len(runs) == 1:
        finish(runs[0], quiet, log_json, verbose=verbose)
        if found and not log_json:
            click.echo(found)
        return
    folder = runs[0].folder.place.parent
    if report and available():
        api.compare(runs, folder / "comparison.html", csv=folder / "comparison", overwrite=True)
    if not quiet:
        click.echo(results([run.folder for run in runs]))
        if found:
            click.echo(found)
        if report and available():
            click.echo(f"side by side: {folder / 'comparison.html'}")
