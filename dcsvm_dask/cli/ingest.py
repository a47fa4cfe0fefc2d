"""dcsvm ingest: take a file into a data set."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import click

from dcsvm_dask.cli.options import quiet_option
from dcsvm_dask.errors import InputError


@click.command()
@click.argument("source")
@click.option(
    "--out", required=True, metavar="DATA.zarr", help="Folder or URL of the new data set."
)
@click.option("--test", metavar="SOURCE", help="Rows of the test part.")
@click.option(
    "--label",
    metavar="NAME_OR_POSITION",
    help="Label column of a table (position from 0), or array of an archive; else the last column; "
    "none: there is no label.",
)
@click.option("--header/--no-header", default=None, help="Whether line 1 of a table holds names.")
@click.option(
    "--encoding",
    help="Encoding of text without a byte order mark, such as cp1252; by default UTF-8.",
)
@click.option("--drop", multiple=True, metavar="COL,...", help="Columns to leave out.")
@click.option(
    "--columns",
    multiple=True,
    metavar="COL,...",
    help="Columns to take as features; by default all but the label.",
)
@click.option(
    "--one-hot",
    multiple=True,
    metavar="auto|COL,...",
    help="Columns of words that become a feature for each category; auto: all that have up to 50.",
)
@click.option(
    "--ordinal",
    multiple=True,
    metavar="COL:LOW<MID<HIGH",
    help="Column of ordered words, which become 0, 1, 2, ...; may be repeated.",
)
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop", "median", "indicator"]),
    default="refuse",
    show_default=True,
    help="Cells without a value: refuse them, drop their rows, fill in the median (of categories "
    "the most frequent), or that with a feature that says where.",
)
@click.option(
    "--dates",
    type=click.Choice(["drop", "parts"]),
    help="Columns of dates: drop them, or take year, month, day, weekday, hour.",
)
@click.option(
    "--decimal",
    type=click.Choice([".", ","]),
    default=".",
    show_default=True,
    help="Mark before the decimals of numbers.",
)
@click.option("--data", metavar="NAME", help="Array of an archive that holds the rows; else X.")
@click.option("--target", metavar="NAME", help="Array that holds the labels, or label column.")
@click.option(
    "--scale",
    type=click.Choice(["auto", "minmax", "standard", "unit", "none"]),
    help="Scaling, learned on the training part and applied to all later rows; by default auto, "
    "for a data set none.",
)
@click.option("--test-fraction", type=float, help="Share of rows, at random, for the test part.")
@click.option("--shuffle", is_flag=True, help="Put training rows in random order.")
@click.option("--train-rows", type=int, help="Keep so many of the training rows in that order.")
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
@quiet_option
def command(
    source: str,
    out: str,
    positive: str | None,
    rows: str | None,
    drop: tuple[str, ...],
    columns: tuple[str, ...],
    one_hot: tuple[str, ...],
    ordinal: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    r"""Take SOURCE into a data set in Zarr.

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
    """
    from dcsvm_dask.cli.info import describe, show
    from dcsvm_dask.data.ingest import ingest
    from dcsvm_dask.readers.preparing.choices import AUTO, parse_names, parse_ordinal

    hot = parse_names(",".join(one_hot))
    with Progress(quiet) as progress:
        data = ingest(
            source,
            out,
            positive=None if positive is None else positive.split(","),
            rows=parse_rows(rows),
            drop=parse_names(",".join(drop)),
            columns=parse_names(",".join(columns)),
            one_hot=AUTO if hot == (AUTO,) else hot,
            ordinal=parse_ordinal(ordinal),
            report=progress.tell,
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
        self.tell("reading (the first run on a machine compiles for some seconds)")
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            click.echo("\r" + " " * self._width + "\r", nl=False, err=True)

    def tell(self, line: str) -> None:
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
