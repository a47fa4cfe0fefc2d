"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from dcsvm_dask.errors import InputError

Command = Callable[..., Any]

TRAINING_OPTIONS = (
    "kernel",
    "gamma",
    "degree",
    "coef0",
    "C",
    "k",
    "stop_at",
    "fit_intercept",
    "tol",
    "seed",
    "n_samples_clustering",
    "block_cap",
    "max_rounds",
)

quiet_option = click.option("--quiet", is_flag=True, help="Print results and errors only.")
cluster_option = click.option(
    "--cluster", metavar="FILE", help="Cluster file to start workers from; see `dcsvm cluster`."
)


def execution_options(command: Command) -> Command:
    """Add the options that say where and how long to run; they become one `execution`."""

    @click.option("--workers", type=int, help="Local worker processes; 0: in this process.")
    @click.option("--scheduler", help="Address of a running Dask scheduler.")
    @click.option("--scheduler-file", help="File that a running Dask scheduler wrote.")
    @cluster_option
    @click.option("--memory-limit", help="Memory of each local worker, for example 1GB.")
    @click.option("--time-budget", help="Stop after 90s, 10m, 1h30m; the best level is the model.")
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        workers: int | None,
        scheduler: str | None,
        scheduler_file: str | None,
        cluster: str | None,
        memory_limit: str | None,
        time_budget: str | None,
        **kwargs: Any,
    ) -> Any:
        from dcsvm_dask.pipeline.training import parse_duration
        from dcsvm_dask.runtime.execution import Execution

        execution = Execution(
            workers=workers,
            scheduler=scheduler,
            scheduler_file=scheduler_file,
            cluster=cluster,
            memory_limit=memory_limit,
            time_budget=None if time_budget is None else parse_duration(time_budget),
        )
        return command(*args, execution=execution, **kwargs)

    return wrapped


def training_options(command: Command) -> Command:
    """Add the options that say what to train; they become one dict `parameters`."""

    @click.option(
        "--kernel",
        type=click.Choice(["rbf", "poly", "linear", "sigmoid", "laplacian"]),
        default="rbf",
        show_default=True,
    )
    @click.option("--gamma", type=float, default=1.0, show_default=True, help="Kernel coefficient.")
    @click.option("--degree", type=int, default=3, show_default=True, help="Degree of poly.")
    @click.option(
        "--coef0", type=float, default=0.0, show_default=True, help="Constant of poly, sigmoid."
    )
    @click.option("-C", "--C", "C", type=float, default=1.0, show_default=True, help="Penalty.")
    @click.option("--levels", default="auto", show_default=True, help="auto, or a number; 0: none.")
    @click.option("--k", type=int, default=8, show_default=True, help="Level l has k^l clusters.")
    @click.option("--clusters", help="Clusters of each level, bottom first: 256,64,16.")
    @click.option("--stop-at", type=int, default=0, show_default=True, help="Last level; 0: exact.")
    @click.option("--fit-intercept", is_flag=True, help="With a bias (y'alpha = 0).")
    @click.option(
        "--tol", type=float, default=1e-3, show_default=True, help="Violation at the end."
    )
    @click.option("--seed", type=int, default=0, show_default=True)
    @click.option("--n-samples-clustering", type=int, default=1000, show_default=True)
    @click.option("--block-cap", type=int, help="Most rows whose kernel matrix a task holds.")
    @click.option("--max-rounds", type=int, default=1000, show_default=True)
    @functools.wraps(command)
    def wrapped(*args: Any, levels: str, clusters: str | None, **kwargs: Any) -> Any:
        parameters = {name: kwargs.pop(name) for name in TRAINING_OPTIONS}
        parameters |= {"levels": parse_levels(levels), "clusters": parse_clusters(clusters)}
        return command(*args, parameters=parameters, **kwargs)

    return wrapped


def parse_levels(text: str) -> int | str:
    """Return `auto` or a number."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError as error:
        raise InputError(f"levels: {text!r} is not possible; give auto or a number") from error


def parse_clusters(text: str | None) -> tuple[int, ...] | None:
    """Return the numbers of a comma-separated list."""
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(
            f"clusters: {text!r} is not possible; give numbers like 256,64,16"
        ) from error
