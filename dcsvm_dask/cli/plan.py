"""``dcsvm plan``."""

from __future__ import annotations

import json
from typing import Any

import click

from dcsvm_dask.cli.options import overwrite_option, quiet_option, training_options


@click.command("plan")
@click.argument("data")
@training_options
@click.option(
    "--workers", type=int, help="Worker processes that times are for; by default all cores."
)
@click.option("--memory-limit", help="Memory of each of them, for example 1GB.")
@click.option("--svg", type=click.Path(), help="Draw the graph into this file.")
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@quiet_option
def command(
    data: str,
    parameters: dict[str, Any],
    workers: int | None,
    memory_limit: str | None,
    svg: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show what training on DATA would do, without doing it."""
    del quiet  # what is printed is the result
    from dcsvm_dask import api
    from dcsvm_dask.diagnostics.drawing import draw
    from dcsvm_dask.diagnostics.outline import outline
    from dcsvm_dask.storage.outputs import output

    target = None if svg is None else output(svg, "svg", overwrite=overwrite)
    execution = api.Execution(workers=workers, memory_limit=memory_limit)
    planned = api.plan(data, execution=execution, **parameters)
    count = max(1, execution.n_workers())
    if target is not None:
        target.write_bytes(draw(planned).encode())
    click.echo(json.dumps(planned.to_json(count), indent=1) if as_json else outline(planned, count))
