"""``dcsvm methods``."""

from __future__ import annotations

import click

from dcsvm_dask.cli.options import quiet_option
from dcsvm_dask.errors import InputError
from dcsvm_dask.parameters import Described, as_text, described


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
    for field, about in described(METHODS[name].options):
        default = about.default_text or as_text(field.default)
        default = default.ljust(16 - len(field.name))
        click.echo(f"  -P {field.name}={default} {about.help}{ranged(about)}")


def ranged(about: Described) -> str:
    """Return the range or the choices of a parameter as a phrase in brackets."""
    if about.choices:
        return f" ({', '.join(about.choices)})"
    return f" ({about.wanted})" if about.has_range else ""
