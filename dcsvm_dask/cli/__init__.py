"""The dcsvm command, one file a sub-command.

A module of this folder defines ``command``, a click command, and has a line in `COMMANDS`. It is
imported when it is called, so that the rest of the program starts fast.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import importlib
import signal
import warnings
from collections.abc import Iterator
from typing import Any

import click

from dcsvm_dask import __version__
from dcsvm_dask.cli.options import memory_bound_option
from dcsvm_dask.errors import DcsvmError, DcsvmWarning, Terminated
from dcsvm_dask.masking import masked, printable
from dcsvm_dask.runtime.compilation import use_own_cache
from dcsvm_dask.spelling import as_options

WRONG_PATH = (
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
"""Failures that the system reports and that another name would mend."""

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 and the number of SIGINT, as shells have it."""
TERMINATED = 143
"""Exit status after SIGTERM, likewise."""

COMMANDS = {
    "demo": "Train on data that ships with the package.",
    "easy": "Train on a file, with C and gamma chosen within some minutes.",
    "ingest": "Take a file into a data set in Zarr.",
    "info": "Show what a data set holds.",
    "train": "Train a kernel SVM on a data set.",
    "search": "Choose C and the kernel's parameters.",
    "methods": "List the methods of training and their parameters.",
    "merge-tables": "Write the tables by which bsgd merges support vectors.",
    "plan": "Show what a training would do.",
    "cluster": "Show what a cluster file would start.",
    "run": "Run a pipeline file.",
    "resume": "Go on with a run from what it has committed.",
    "status": "Show where a run stands.",
    "report": "Write a report of a run, or of several side by side.",
    "predict": "Write labels and decision values of rows, or their targets.",
    "evaluate": "Compare predictions with labels or targets.",
    "compress": "Leave support vectors out of a model, within a bound.",
    "export": "Write a model in another program's format.",
}
"""Name of a sub-command (its module's name, with - for _) and its line in the help."""

READ_NOTHING = ("cluster", "demo", "merge-tables", "methods")
"""Commands that take no ``--memory-bound``."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of `COMMANDS`."""
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        use_own_cache()
        module = importlib.import_module(f"{__name__}.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        if cmd_name not in READ_NOTHING and memory_bound_option not in command.params:
            command.params.append(memory_bound_option)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors that users can mend are one line and an exit status."""
        try:
            with as_options(), shown_warnings(), terminable():
                return super().invoke(ctx)
        except DcsvmError as error:
            _complain(str(error))
            ctx.exit(error.exit_status)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _complain(f"{where}{error.strerror or error}")
            wrong = isinstance(error, WRONG_PATH) or error.errno == errno.EROFS
            ctx.exit(2 if wrong else 1)
        except MemoryError as error:
            detail = f" ({error})" if str(error) else ""
            click.echo(
                f"dcsvm: the system has not enough memory{detail}; a run that was going on can be "
                "resumed where there is more",
                err=True,
            )
            ctx.exit(1)
        except KeyboardInterrupt as error:
            # One more of them on the way out would change the status.
            for number in (signal.SIGINT, signal.SIGTERM):
                atexit.register(signal.signal, number, signal.SIG_IGN)
            _complain(str(error) or "interrupted")
            ctx.exit(TERMINATED if isinstance(error, Terminated) else INTERRUPTED)


def _complain(text: str) -> None:
    """Show an error: names from files of others must neither drive the terminal nor leak."""
    click.echo(f"dcsvm: {printable(masked(text))}", err=True)


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, but for its exit status; a second one is too late.

    Queues, Kubernetes and Docker send it some time before they kill.
    """

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    try:
        mine = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        before = signal.signal(signal.SIGTERM, end) if mine else None
    except ValueError:  # not the main thread: whoever has that one decides
        before = None
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def shown_warnings() -> Iterator[None]:
    """Write warnings about a user's data as a line on standard error; others as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DcsvmWarning)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, DcsvmWarning):
                _complain(f"warning: {message}")
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show
        yield


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="dcsvm-dask")
def main() -> None:
    """Kernel support vector machines by divide and conquer, on Dask and Zarr."""
