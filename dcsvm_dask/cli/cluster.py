"""``dcsvm cluster``."""

from __future__ import annotations

import click

from dcsvm_dask.cli.options import quiet_option


@click.command("cluster")
@click.argument("file", type=click.Path())
@quiet_option
def command(file: str, quiet: bool) -> None:
    """Show what the cluster file FILE would start or submit, without doing it."""
    del quiet  # what is printed is the result
    from dcsvm_dask.runtime.cluster.outline import outline

    click.echo(outline(file))
