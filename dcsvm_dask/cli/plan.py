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
@click.option(
    "--workers", type=int, help="Worker processes that times are for; by default all cores."
)
@click.option("--memory-limit", help="Memory of each of them, for example 1GB.")
@click.option("--svg", type=click.Path(), help="Draw the graph into this file.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@quiet_option
def command(
    data: str,
    parameters: dict[str, Any],
    workers: int | None,
    memory_limit: str | None,
    svg: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show what training on DATA would do, without doing it."""
    del quiet  # what is printed is the result
    from dcsvm_dask import api
    from dcsvm_dask.diagnostics.drawing import draw
    from dcsvm_dask.diagnostics.outline import outline

    execution = api.Execution(workers=workers, memory_limit=memory_limit)
    planned = api.plan(data, execution=execution, **parameters)
    count = max(1, execution.n_workers())
    if svg is not None:
        Path(svg).write_text(draw(planned), encoding="utf-8")
    click.echo(json.dumps(planned.to_json(count), indent=1) if as_json else outline(planned, count))
