"""Parameters in messages as the user gives them: ``--overwrite``, in Python ``overwrite=True``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_in_command: ContextVar[bool] = ContextVar("in_command", default=False)


@contextmanager
def as_options() -> Iterator[None]:
    """Name parameters inside the block as options of a command."""
    token = _in_command.set(True)
    try:
        yield
    finally:
        _in_command.reset(token)


def flag(name: str) -> str:
    """Return a switch that is on."""
    return f"--{name.replace('_', '-')}" if _in_command.get() else f"{name}=True"


def option(name: str) -> str:
    """Return the name of a parameter that has a value."""
    return f"--{name.replace('_', '-')}" if _in_command.get() else name
