"""``dcsvm export``."""

from __future__ import annotations

import click

from dcsvm_dask.cli.options import echo, overwrite_option, silent_option


@click.command("export")
@click.argument("run_place", metavar="RUN")
@click.option(
    "--format",
    "form",
    type=click.Choice(["libsvm", "onnx"]),
    required=True,
    help="libsvm: a model file for svm-predict and LIBSVM's bindings; onnx: a graph for ONNX "
    "Runtime.",
)
@click.argument("file")
@overwrite_option
@silent_option
def command(run_place: str, form: str, file: str, overwrite: bool, quiet: bool) -> None:
    """Write the exact model of RUN to FILE in another program's format.

    Where the training data were scaled, an ONNX graph does the same to its input; for LIBSVM
    FILE.range beside the model does it by svm-scale -r.
    """
    from dcsvm_dask import api

    found = api.open_run(run_place).export(file, format=form, overwrite=overwrite)
    if not quiet:
        echo(f"{found['n_support']} support vectors written to {found['model']}")
        for note in found["notes"]:
            echo(note, err=True)
