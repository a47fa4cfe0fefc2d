"""``dcsvm plan``."""

from __future__ import annotations

import json
from typing import Any

import click

from dcsvm_dask.cli.options import echo, overwrite_option, quiet_option, training_options


@click.command("plan")
@click.argument("data")
@training_options
@click.option("--workers", type=int, help="Number of workers to plan for; by default all cores.")
@click.option("--memory-limit", help="Memory of each of them, for example 1GB.")
@click.option("--cluster", metavar="FILE", help="Plan for the workers of this cluster file.")
@click.option("--scheduler", help="Plan for the workers that this running Dask scheduler has now.")
@click.option("--svg", type=click.Path(), help="Draw the graph into this file.")
@overwrite_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@quiet_option
def command(
    data: str,
    parameters: dict[str, Any],
    workers: int | None,
    memory_limit: str | None,
    cluster: str | None,
    scheduler: str | None,
    svg: str | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show what training on DATA would do, without doing it.

    Kernel values are timed in this process, for workers of other machines as well.
    """
    from dcsvm_dask import api
    from dcsvm_dask.api.planning import gamma_note
    from dcsvm_dask.diagnostics.drawing import draw
    from dcsvm_dask.diagnostics.outline import outline
    from dcsvm_dask.runtime.short import here_if_short, seconds_beside, threads_here
    from dcsvm_dask.storage.outputs import output

    target = None if svg is None else output(svg, "svg", overwrite=overwrite)
    execution = api.Execution(
        workers=workers, memory_limit=memory_limit, cluster=cluster, scheduler=scheduler
    )

    def show(line: str) -> None:
        if not quiet:
            echo(line, err=True)

    found = api.planned_workers(execution, show)
    planned = api.plan_on(data, found, execution, show, **parameters)
    if target is not None:
        target.write_bytes(draw(planned).encode())
    chosen = here_if_short(execution, planned)
    count, threads, beside = found.count, found.threads, seconds_beside(chosen)
    if chosen is not execution:  # it would run in this process
        count, threads = chosen.side_by_side(), threads_here(execution, chosen)
    if as_json:
        made = planned.to_json(count, threads) | {"beside_seconds": beside}
        echo(json.dumps(made, indent=1))
    else:
        if gamma := gamma_note(data, **parameters):
            echo(gamma)
        echo(outline(planned, count, threads, beside))
