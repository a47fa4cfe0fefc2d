"""``dcsvm methods``."""

from __future__ import annotations

import dataclasses

import click

from dcsvm_dask.cli.options import quiet_option
from dcsvm_dask.errors import InputError


@click.command("methods")
@click.argument("name", required=False)
@quiet_option
def command(name: str | None, quiet: bool) -> None:
    """List the methods of training; of one, NAME, its own parameters."""
    del quiet  # what is printed is the result
    from dcsvm_dask.methods.registry import METHODS

    if name is not None and name not in METHODS:
        raise InputError(f"method: {name!r:.80} is unknown; known: {', '.join(METHODS)}")
    for one in METHODS if name is None else (name,):
        click.echo(f"{one:<10} {METHODS[one].about}")
    if name is None:
        return
    for field in dataclasses.fields(METHODS[name].options):
        default = tomlish(field.default)
        click.echo(f"  -P {field.name}={default:<{16 - len(field.name)}} {field.metadata['about']}")


def tomlish(value: object) -> str:
    """Return a default as one writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
