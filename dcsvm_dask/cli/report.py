"""``dcsvm report``."""

from __future__ import annotations

import click

from dcsvm_dask.cli.options import overwrite_option, silent_option


@click.command("report")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--out", help="HTML file; RUN/report.html, of several runs ./comparison.html.")
@click.option(
    "--csv", "csv_folder", metavar="FOLDER", help="Save every table as CSV in this folder, too."
)
@overwrite_option
@click.option("--fast", is_flag=True, help="Leave out what needs kernel values.")
@silent_option
def command(
    runs: tuple[str, ...],
    out: str | None,
    csv_folder: str | None,
    overwrite: bool,
    fast: bool,
    quiet: bool,
) -> None:
    """Write a report of RUN, or of several side by side: one HTML file that needs no network.

    An older report is replaced, tables with --overwrite only.
    What costs kernel values (naive prediction, decision regions) is kept in RUN/report.
    """
    from dcsvm_dask import api

    opened = [api.open_run(run) for run in runs]
    if len(opened) == 1:
        place = opened[0].report(out, csv=csv_folder, compute=not fast, overwrite=overwrite)
    else:
        place = api.compare(opened, out or "comparison.html", csv=csv_folder, overwrite=overwrite)
    if not quiet:
        click.echo(place)
