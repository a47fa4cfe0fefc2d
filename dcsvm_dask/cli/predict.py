"""``dcsvm predict``."""

from __future__ import annotations

from typing import Any

import click

from dcsvm_dask.cli.options import echo, overwrite_option, silent_option
from dcsvm_dask.cli.predicting import predicting_options, sort_option, test_part_note


@click.command("predict")
@click.argument("run_place", metavar="RUN")
@click.argument("data")
@click.option("--out", required=True, help="Output file: .csv, .npy, .parquet or .zarr.")
@overwrite_option
@predicting_options
@sort_option
@click.option(
    "--keep",
    multiple=True,
    metavar="COL,...",
    help="Columns of a table, such as an id, to copy in front of the predictions in CSV.",
)
@silent_option
def command(
    run_place: str, data: str, out: str, keep: tuple[str, ...], quiet: bool, **how: Any
) -> None:
    """Write labels and decision values of DATA, or predicted targets, by a model of RUN.

    DATA is a data set (DATA.zarr/test: its test part) or a raw file, with or without labels.
    """
    from dcsvm_dask import api
    from dcsvm_dask.readers.outside import outside_line
    from dcsvm_dask.readers.preparing.cell_counts import cells_line
    from dcsvm_dask.readers.preparing.choices import parse_names

    note = None if quiet else test_part_note(data)
    if note is not None:
        echo(note, err=True)
    how["keep"] = parse_names(",".join(keep))
    found = api.open_run(run_place).predict_file(data, out, quiet=quiet, **how)
    if not quiet:
        lines = (cells_line(found["cells"]), outside_line(found["outside"], found["n_rows"]))
        for note in filter(None, (*lines, *found["notes"])):
            echo(f"note: {note}", err=True)
        echo(
            f"{found['n_rows']} rows, {_model(found)}, {found['ms_per_row']:.4g} ms a row; "
            f"written to {found['out']}"
        )


def _model(found: dict[str, Any]) -> str:
    from dcsvm_dask.prediction.run_prediction import size_of

    level = f" at level {found['level']}" if found["level"] else ""
    return f"{found['mode']} prediction{level}, {size_of(found)}"
