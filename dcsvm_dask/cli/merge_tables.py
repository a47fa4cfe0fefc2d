"""``dcsvm merge-tables``."""

from __future__ import annotations

import click

from dcsvm_dask.cli.options import echo, overwrite_option, silent_option


@click.command("merge-tables")
@click.argument("file")
@click.option(
    "--table-size",
    type=click.IntRange(2, 4096),
    default=400,
    show_default=True,
    help="Points of each table in each direction.",
)
@overwrite_option
@silent_option
def command(file: str, table_size: int, overwrite: bool, quiet: bool) -> None:
    """Write the tables of merges of support vectors to FILE, an .npz archive.

    Its arrays h and wd are the best merge of two support vectors and what it costs, by the share of
    the lighter one, from 0 to 1/2, and the kernel value of both, from 0 to 1. Trainings read them:
    dcsvm train --method bsgd -P tables=FILE; without it they compute their own and keep them beside
    compiled code.
    """
    from dcsvm_dask.storage.merge_tables import as_bytes, computed_tables
    from dcsvm_dask.storage.outputs import output

    target = output(file, "file", overwrite=overwrite)
    target.write_bytes(as_bytes(computed_tables(table_size)))
    if not quiet:
        echo(f"tables of {table_size} x {table_size} points written to {target}")
