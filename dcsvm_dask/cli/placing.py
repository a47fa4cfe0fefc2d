"""Options that say how a run shares a scheduler's workers with others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from dcsvm_dask.errors import InputError

Command = Callable[..., Any]


def placing_options(command: Command) -> Command:
    """Add the options that say which workers run the tasks, and before or after whose."""

    @click.option("--priority", type=float, help="Dask's, of the run's tasks; 0: as others'.")
    @click.option(
        "--resources",
        "resources",
        multiple=True,
        metavar="NAME=N",
        help="What each task takes of a worker's resources: only workers that have it run tasks.",
    )
    @click.option(
        "--worker",
        "names",
        multiple=True,
        metavar="NAME",
        help="Name, address or host of a worker: only those that are named run tasks.",
    )
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        priority: float | None,
        resources: tuple[str, ...],
        names: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        if priority is None and not resources and not names:
            return command(*args, **kwargs)
        if kwargs.get("scheduler") is None and kwargs.get("scheduler_file") is None:
            given = "priority" if priority is not None else "resources" if resources else "worker"
            raise InputError(f"{given}: is for the workers of a scheduler; give --scheduler, too")
        import dask

        annotations: dict[str, Any] = {} if priority is None else {"priority": priority}
        if names:
            annotations["workers"] = list(names)
        if resources:
            annotations["resources"] = dict(map(parse_resource, resources))
        with dask.annotate(**annotations):
            return command(*args, **kwargs)

    return wrapped


def parse_resource(text: str) -> tuple[str, float]:
    """Return the name and the number of NAME=N."""
    name, _, number = text.partition("=")
    try:
        found = float(number)
    except ValueError:
        found = 0.0
    if not name or not 0 < found < float("inf"):
        raise InputError(f"resources: {text!r:.80} is not possible; write NAME=N, N above 0")
    return name, found
