"""``dcsvm status``."""

from __future__ import annotations

import json

import click

from dcsvm_dask.cli.options import quiet_option


@click.command("status")
@click.argument("run_place", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@quiet_option
def command(run_place: str, as_json: bool, quiet: bool) -> None:
    """Show where RUN stands, from its folder alone."""
    del quiet  # what is printed is the result
    from dcsvm_dask import api
    from dcsvm_dask.diagnostics.summary import summary

    found = api.open_run(run_place).status()
    click.echo(json.dumps(found, indent=1) if as_json else summary(found))
