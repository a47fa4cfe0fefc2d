"""``dcsvm evaluate``."""

from __future__ import annotations

import json
from typing import Any

import click

from dcsvm_dask.cli.options import echo, quiet_option
from dcsvm_dask.cli.predicting import predicting_options, sort_option, test_part_note


@click.command("evaluate")
@click.argument("run_place", metavar="RUN")
@click.argument("data")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@predicting_options
@sort_option
@quiet_option
def command(run_place: str, data: str, as_json: bool, quiet: bool, **how: Any) -> None:
    """Compare predictions for DATA by a model of RUN with the labels or targets of DATA.

    DATA is a data set (DATA.zarr/test: its test part) or a raw file with labels.
    """
    from dcsvm_dask import api

    note = None if quiet else test_part_note(data)
    if note is not None:
        echo(note, err=True)
    found = api.open_run(run_place).evaluate(data, quiet=quiet, **how)
    echo(json.dumps(found, indent=1) if as_json else describe(found))


def describe(found: dict[str, Any]) -> str:
    """Return an evaluation in a few lines."""
    level = f" (level {found['level']})" if found["level"] else ""
    about = [
        f"rows               {found['n_rows']}",
        f"mode               {found['mode']}{level}",
        f"support vectors    {found['n_support']}",
        f"ms a row           {found['ms_per_row']:.4g}",
    ]
    if "confusion" not in found:
        from dcsvm_dask.tasks import scores_in

        scores = scores_in(found)
        return "\n".join([f"{name:<18} {value:.6g}" for name, value in scores] + about)
    labels = [str(label) for label in found["confusion"]["labels"]]
    matrix = found["confusion"]["matrix"]
    width = max(len(text) for text in (*labels, *(str(n) for row in matrix for n in row)))
    lines = [
        f"accuracy           {found['accuracy']:.5f}",
        f"balanced accuracy  {found['balanced_accuracy']:.5f}",
        *about,
        "true \\ predicted   " + " ".join(f"{label:>{width}}" for label in labels),
    ]
    lines += [
        f"{label:>17}  " + " ".join(f"{n:>{width}}" for n in row)
        for label, row in zip(labels, matrix, strict=True)
    ]
    return "\n".join(lines)
