"""Options that several commands share.

Options that say how a run shares a scheduler's workers with others.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable
from typing import Any

import click

from dcsvm_dask.diagnostics.terminal.wrapping import fitted
from dcsvm_dask.errors import InputError
from dcsvm_dask.masking import printable
from dcsvm_dask.parameters import Described, as_text, described
from dcsvm_dask.pipeline.parameters import TrainingParameters

Command = Callable[..., Any]


def placing_options(command: Command) -> Command:
    """Add the options that say which workers run the tasks, and before or after whose."""

    @click.option(
        "--priority", type=float, help="Priority of the run's tasks in Dask, by default 0."
    )
    @click.option(
        "--resources",
        "resources",
        multiple=True,
        metavar="NAME=N",
        help="Worker resources that each task requires; only workers that have them run tasks.",
    )
    @click.option(
        "--worker",
        "names",
        multiple=True,
        metavar="NAME",
        help="Run tasks on this worker only (name, address or host); may be repeated.",
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
        raise InputError(f"resources must be NAME=N with N above 0, got {text!r:.80}")
    return name, found


quiet_option = click.option("--quiet", is_flag=True, help="Print results and errors only.")
silent_option = click.option("--quiet", is_flag=True, help="Print warnings and errors only.")
verbose_option = click.option(
    "--verbose", is_flag=True, help="Print the figures of the solution and of the work, too."
)
overwrite_option = click.option(
    "--overwrite", is_flag=True, help="Replace an older file, once the new one is whole."
)
report_option = click.option(
    "--report/--no-report",
    default=True,
    envvar="DCSVM_REPORT",
    help="Write RUN/report.html at the end; or DCSVM_REPORT=0 in the environment.",
)
log_json_option = click.option(
    "--log-json",
    is_flag=True,
    help="Everything that happens, as JSON objects, one a line, on standard output.",
)
cluster_option = click.option(
    "--cluster", metavar="FILE", help="Cluster file to start workers from; see `dcsvm cluster`."
)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text; labels, names and messages of a foreign folder do not drive the terminal."""
    stream = sys.stderr if err else sys.stdout
    click.echo(fitted(printable(text), stream), err=err, nl=nl)


def _take_memory_bound(ctx: click.Context, _: click.Parameter, size: str | None) -> None:
    if size is not None:
        from dcsvm_dask.readers.memory import memory_bound

        ctx.with_resource(memory_bound(size))


memory_bound_option = click.Option(
    ["--memory-bound"],
    metavar="SIZE",
    expose_value=False,
    callback=_take_memory_bound,
    help="Most memory to read a file with, by default 1GiB; or DCSVM_MEMORY_BOUND in the "
    "environment.",
)


def execution_options(command: Command) -> Command:
    """Add the options that say where and how long to run; they become one `execution`."""

    @click.option("--workers", type=int, help="Local worker processes; 0: in this process.")
    @click.option("--scheduler", help="Address of a running Dask scheduler.")
    @click.option("--scheduler-file", help="File that a running Dask scheduler wrote.")
    @cluster_option
    @click.option("--memory-limit", help="Memory of each local worker, for example 1GB.")
    @click.option("--time-budget", help="Stop after 90s, 10m, 1h30m; the best level is the model.")
    @click.option(
        "--wait",
        help="Time to wait for the first worker; by default 10m, in a queue without limit.",
    )
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        workers: int | None,
        scheduler: str | None,
        scheduler_file: str | None,
        cluster: str | None,
        memory_limit: str | None,
        time_budget: str | None,
        wait: str | None,
        **kwargs: Any,
    ) -> Any:
        from dcsvm_dask.pipeline.goals import parse_duration
        from dcsvm_dask.runtime.execution import Execution

        execution = Execution(
            workers=workers,
            scheduler=scheduler,
            scheduler_file=scheduler_file,
            cluster=cluster,
            memory_limit=memory_limit,
            time_budget=None if time_budget is None else parse_duration(time_budget),
            wait=None if wait is None else parse_duration(wait, "wait"),
        )
        return command(*args, execution=execution, **kwargs)

    return placing_options(wrapped)


class KernelName(click.Choice[str]):
    """A kernel's name. The kernels are imported when they are looked at: that takes a second."""

    def __init__(self) -> None:
        self.case_sensitive = True

    def __getattr__(self, name: str) -> Any:
        if name != "choices":
            raise AttributeError(name)
        from dcsvm_dask.kernels import KERNELS

        self.choices = tuple(KERNELS)
        return self.choices


# The lowest click that is allowed has no generic ParamType.
class Gamma(click.ParamType):  # type: ignore[type-arg]
    """A number, or a word for a rule by which it follows from the rows."""

    name = "float|scale|auto"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        """Return the number or the word."""
        if value in ("scale", "auto"):
            return str(value)
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r:.80} is neither a number nor scale or auto", param, ctx)


def training_options(command: Command) -> Command:
    """Add the options of a training; those that are given become one dict `parameters`."""

    @functools.wraps(command)
    def wrapped(*args: Any, own: tuple[str, ...], **kwargs: Any) -> Any:
        given = {name: kwargs.pop(name) for name in names}
        parameters = {
            name: PARSERS[name](value) if name in PARSERS else value
            for name, value in given.items()
            if value is not None
        }
        return command(*args, parameters=parameters | parse_own(own), **kwargs)

    options = [one for one in described(TrainingParameters) if one[1].in_command]
    names = [field.name for field, _ in options]
    made: Command = click.option(
        "-P",
        "--param",
        "own",
        multiple=True,
        metavar="KEY=VALUE",
        help="A parameter of the method; see `dcsvm methods NAME`.",
    )(wrapped)
    for field, about in reversed(options):
        made = training_option(field, about)(made)
    return made


def training_option(field: dataclasses.Field[Any], about: Described) -> Callable[..., Command]:
    """Return the option of a parameter of every training."""
    name, kind = field.name, str(field.type)
    flags = ["-C", "--C", "C"] if name == "C" else [f"--{name.replace('_', '-')}", name]
    if kind == "bool":
        return click.option(*flags, is_flag=True, default=None, help=f"{about.help}.")
    types: dict[str, Any] = {"float": float, "int": int}
    kind = kind.removesuffix(" | None")
    chosen = click.Choice(about.choices) if about.choices else types.get(kind)
    if name == "kernel":
        chosen = KernelName()
    if name == "gamma":
        chosen = Gamma()
    default = about.default_text or as_text(field.default)
    return click.option(*flags, type=chosen, help=f"{about.help}; by default {default}.")


def parse_class_weight(text: str) -> str | dict[str, float]:
    """Return the weights of classes that were given as LABEL=WEIGHT,...; or the one word."""
    if "=" not in text:
        return text
    found: dict[str, float] = {}
    for part in text.split(","):
        label, _, weight = part.rpartition("=")
        if label.strip() in found:
            raise InputError(f"class-weight must be one weight a label, got two of {label!r:.80}")
        try:
            found[label.strip()] = float(weight)
        except ValueError as error:
            raise InputError(f"class-weight must be LABEL=WEIGHT, got {part!r:.80}") from error
    return found


def parse_own(texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters of a method that were given as KEY=VALUE; values as in TOML."""
    import tomllib

    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise InputError(f"param must be KEY=VALUE, got {text!r:.80}")
        try:
            found[key.strip().replace("-", "_")] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:  # a word
            found[key.strip().replace("-", "_")] = value.strip()
    return found


def parse_levels(text: str) -> int | str:
    """Return `auto` or a number."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError as error:
        raise InputError(f"levels must be auto or a number, got {text!r}") from error


def parse_clusters(text: str) -> tuple[int, ...]:
    """Return the numbers of a comma-separated list."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(f"clusters must be numbers like 256,64,16, got {text!r}") from error


def parse_quantile(text: str) -> float | tuple[float, ...]:
    """Return a number, or the numbers of a comma-separated list."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(
            f"quantile must be a number, or several like 0.1,0.5,0.9, got {text!r:.80}"
        ) from error
    return found if len(found) > 1 else found[0]


PARSERS: dict[str, Callable[[str], Any]] = {
    "class_weight": parse_class_weight,
    "levels": parse_levels,
    "clusters": parse_clusters,
    "quantile": parse_quantile,
}
"""Parameters of a training that commands take as text."""
