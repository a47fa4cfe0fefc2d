"""``dcsvm compress``."""

from __future__ import annotations

import json
from typing import Any

import click

from dcsvm_dask.cli.options import echo, quiet_option
from dcsvm_dask.cli.predicting import encoding_option, place_options, test_part_note


@click.command("compress")
@click.argument("run_place", metavar="RUN")
@click.argument("out")
@click.option(
    "--bound",
    type=float,
    required=True,
    help="Most that a decision value of the sample may change, above 0; the margin is 1.",
)
@click.option(
    "--data",
    help="Rows with labels to measure on; by default those held out, the test part of the "
    "training data, or training rows.",
)
@click.option(
    "--sample",
    type=int,
    default=8192,
    show_default=True,
    help="Rows, drawn from these, on which the change is bounded.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed of that choice.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@encoding_option
@place_options
@quiet_option
def command(
    run_place: str, out: str, data: str | None, as_json: bool, quiet: bool, **how: Any
) -> None:
    """Leave support vectors out of the model of RUN; write the smaller one to a new run OUT.

    predict, evaluate, export and report take OUT like any run. The smaller model's decision values
    differ from those of RUN by at most the bound on a sample of rows. What a local kernel (a large
    gamma) has learned can hardly be said with fewer support vectors.
    """
    from dcsvm_dask import api

    note = None if quiet or data is None else test_part_note(data)
    if note is not None:
        echo(note, err=True)
    found = api.open_run(run_place).compress(out, data=data, quiet=quiet, **how)
    echo(json.dumps(found, indent=1) if as_json else describe(found))


def describe(found: dict[str, Any]) -> str:
    """Return what a compression came to in a few lines."""
    from dcsvm_dask.tasks.scores import SCORES

    before, after = found["support_before"], found["support"]
    measured = f"{found['sample']} rows of {found['measured_on']}"
    scored = f"{found['scored_rows']} rows of {found['scored_on']}"
    return "\n".join(
        [
            f"support vectors    {before} -> {after} ({100 * after / before:.1f} %)",
            f"largest change     {found['change']:.4g} (bound {found['bound']:g}) on {measured}",
            f"on any row         at most {found['distance']:.4g} x sqrt(K(x, x))",
            *(
                f"{name:<18} {found[key]['before']:.5f} -> {found[key]['after']:.5f} on {scored}"
                for key, name in SCORES.items()
                if key in found
            ),
            f"seconds            {found['seconds']:.1f}",
            f"written to         {found['out']}",
        ]
    )
