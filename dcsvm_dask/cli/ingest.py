"""dcsvm ingest: take a file into a data set."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import click

from dcsvm_dask.cli.columns import column_options
from dcsvm_dask.cli.options import silent_option
from dcsvm_dask.errors import InputError


@click.command()
@click.argument("source")
@click.option(
    "--out", required=True, metavar="DATA.zarr", help="Folder or URL of the new data set."
)
@click.option("--test", metavar="SOURCE", help="Rows of the test part.")
@column_options
@click.option(
    "--scale",
    type=click.Choice(["auto", "minmax", "standard", "unit", "none"]),
    help="Scaling, learned on the training part and applied to all later rows; by default auto, "
    "for a data set none.",
)
@click.option("--test-fraction", type=float, help="Share of rows, by class, for the test part.")
@click.option("--shuffle", is_flag=True, help="Put training rows in random order.")
@click.option("--train-rows", type=int, help="Keep so many training rows, by class.")
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of that order.")
@click.option(
    "--task",
    type=click.Choice(["classification", "regression", "quantile", "one-class"]),
    default="classification",
    show_default=True,
    help="What the labels are: classes, real targets, or +1 and -1 that only score (one-class).",
)
@click.option("--positive", metavar="LABEL,...", help="Two classes: +1 for these labels, else -1.")
@click.option("--rows", metavar="START:STOP", help="Take these rows of SOURCE only.")
@click.option("--weights", metavar="FILE", help="Factors of C, a line for each row; 0: left out.")
@click.option("--chunk-rows", type=int, help="Rows per chunk; by default about 4 MB, at most 8192.")
@click.option("--sparse/--dense", default=None, help="How to store; by default as the source is.")
@click.option("--overwrite", is_flag=True, help="Replace a data set once the new one is whole.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@silent_option
def command(
    source: str,
    out: str,
    positive: str | None,
    rows: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Take SOURCE into a data set in Zarr.

    SOURCE is svmlight / LIBSVM text, CSV or TSV, JSON lines (plain, .gz, .bz2, .xz), .npy, .npz
    with X_train, y_train, X_test, y_test (or CSR parts of them), Parquet, a Zarr group or another
    data set; a path or a URL such as s3://BUCKET/KEY. Memory stays bounded; text is copied in
    binary form to the folder for temporary files (TMPDIR) meanwhile.

    Without --label the last column is the label; a table of which another column has a usual name
    of one (label, target, class, y) is refused until --label says which it is.

    \b
    auto      dense rows standard, sparse rows minmax; none where values lie in [-1, 1] or are
              standardised already
    minmax    dense rows to [0, 1]; sparse rows divided by the largest absolute value
    standard  divided by the standard deviation; dense rows centred, sparse rows not
    unit      every row to Euclidean length 1
    """  # noqa: D301 (click wants the character \\b)
    from dcsvm_dask.cli.info import describe, show
    from dcsvm_dask.data.ingest import ingest

    with Progress(quiet) as progress:
        data = ingest(
            source,
            out,
            positive=None if positive is None else positive.split(","),
            rows=parse_rows(rows),
            report=progress.show,
            **options,
        )
    if as_json:
        click.echo(json.dumps(describe(data.place), indent=1))
    elif not quiet:
        show(describe(data.place), warned=True)


class Progress:
    """Shows the last line of progress on a terminal, at most five times a second."""

    def __init__(self, quiet: bool) -> None:
        self._shown = not quiet and sys.stderr.isatty()
        self._last = 0.0
        self._width = 0

    def __enter__(self) -> Progress:
        self.show("reading (the first run on a machine compiles for some seconds)")
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)

    def show(self, line: str) -> None:
        """Show a line in place of the one before."""
        now = time.monotonic()
        if not self._shown or now < self._last + 0.2:
            return
        line = line[-100:]
        click.echo("\r" + line.ljust(self._width), nl=False, err=True)
        self._width = len(line)
        self._last = now


def parse_rows(text: str | None) -> tuple[int | None, int | None]:
    """Return the limits of START:STOP, either of which may be left out."""
    if text is None:
        return None, None
    start, colon, stop = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return int(start) if start else None, int(stop) if stop else None
    except ValueError as error:
        raise InputError(f"--rows {text}: give START:STOP, for example 0:100000") from error
