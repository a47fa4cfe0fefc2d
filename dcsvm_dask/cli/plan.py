"""``dcsvm plan``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from dcsvm_dask.cli.options import quiet_option, training_options


@click.command("plan")
@click.argument("data")
@training_options
@click.option("--svg", type=click.Path(), help="Draw the graph into this file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@quiet_option
def command(
    data: str, parameters: dict[str, Any], svg: str | None, as_json: bool, quiet: bool
) -> None:
    """Show what training on DATA would do, without doing it."""
    del quiet  # what is printed is the result
    from dcsvm_dask import api
    from dcsvm_dask.diagnostics.drawing import draw
    from dcsvm_dask.diagnostics.outline import outline, outline_json

    planned = api.plan(data, **parameters)
    if svg is not None:
        Path(svg).write_text(draw(planned), encoding="utf-8")
    click.echo(json.dumps(outline_json(planned), indent=1) if as_json else outline(planned))
