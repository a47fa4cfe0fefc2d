"""Options that say how the columns of a table become labels and features."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]


def column_options(command: Command) -> Command:
    """Add the options of columns; lists of names come to the command as `ingest` takes them."""

    @click.option(
        "--label",
        metavar="NAME_OR_POSITION",
        help="Label column of a table (position from 0), or array of an archive; else the last "
        "column; none: there is no label.",
    )
    @click.option(
        "--header/--no-header", default=None, help="Whether line 1 of a table holds names."
    )
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
        help="Columns of words that become a feature for each category; auto: all of up to 50, "
        "and others that are named beside it.",
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
        help="Cells without a value: refuse them, drop their rows, fill in the median (of "
        "categories the most frequent), or that with a feature that says where.",
    )
    @click.option(
        "--missing-words",
        metavar="WORD,...",
        help="Words that mean a cell without a value, instead of NA, NaN, null, None, ?, - and the "
        'like; "": only an empty cell.',
    )
    @click.option(
        "--dates",
        type=click.Choice(["drop", "parts", "days"]),
        help="Columns of dates: drop them, or take year, month, day, weekday, hour, or the days "
        "since 1970.",
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
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        drop: tuple[str, ...],
        columns: tuple[str, ...],
        one_hot: tuple[str, ...],
        ordinal: tuple[str, ...],
        missing_words: str | None,
        **kwargs: Any,
    ) -> Any:
        from dcsvm_dask.readers.preparing.choices import AUTO, parse_names, parse_ordinal

        hot = parse_names(",".join(one_hot))
        return command(
            *args,
            drop=parse_names(",".join(drop)),
            columns=parse_names(",".join(columns)),
            one_hot=AUTO if hot == (AUTO,) else hot,
            ordinal=parse_ordinal(ordinal),
            missing_words=None if missing_words is None else parse_names(missing_words),
            **kwargs,
        )

    return wrapped
