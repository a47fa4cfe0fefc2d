"""Options of the commands that predict."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from dcsvm_dask.cli.options import cluster_option

Command = Callable[..., Any]


def predicting_options(command: Command) -> Command:
    """Add the options that say which model predicts, and where."""
    command = encoding_option(place_options(command))
    for option in (
        click.option(
            "--precision",
            type=click.Choice(["float32", "float64"]),
            default="float32",
            show_default=True,
            help="Precision of kernel values; sums are float64.",
        ),
        click.option("--level", type=int, help="A committed level; by default the lowest."),
        click.option(
            "--mode",
            type=click.Choice(["exact", "early", "naive", "committee"]),
            help="exact where the exact model is committed, else early.",
        ),
    ):
        command = option(command)
    return command


def place_options(command: Command) -> Command:
    """Add the options that say where to predict; they become one `execution`."""

    @click.option(
        "--workers",
        type=int,
        help="Local worker processes; 0: this process, one thread; none: one thread a core.",
    )
    @click.option("--scheduler", help="Address of a running Dask scheduler.")
    @click.option("--scheduler-file", help="File that a running Dask scheduler wrote.")
    @cluster_option
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        workers: int | None,
        scheduler: str | None,
        scheduler_file: str | None,
        cluster: str | None,
        **kwargs: Any,
    ) -> Any:
        from dcsvm_dask.runtime.execution import Execution

        execution = Execution(
            workers=workers, scheduler=scheduler, scheduler_file=scheduler_file, cluster=cluster
        )
        return command(*args, execution=execution, **kwargs)

    return wrapped


encoding_option = click.option(
    "--encoding",
    help="Encoding of DATA's text without a byte order mark; by default that of the training data.",
)


sort_option = click.option(
    "--sort-quantiles",
    is_flag=True,
    help="Sort the predictions of several quantiles in each row, so that they do not cross.",
)


def test_part_note(data: str) -> str | None:
    """Return a hint where a data set with a test part was named without a part."""
    from dcsvm_dask.storage.dataset import DataSet
    from dcsvm_dask.storage.dataset_commit import is_data_set
    from dcsvm_dask.storage.location import Location

    if not is_data_set(data):
        return None
    found = DataSet.open(data)
    if found.place != Location.of(data) or "test" not in found.parts:
        return None
    return f"{data}: its training part is taken; {found.place}/test is its test part"
