"""``dcsvm evaluate``."""

from __future__ import annotations

import json
from typing import Any

import click

from dcsvm_dask.cli.options import echo, quiet_option
from dcsvm_dask.cli.predicting import predicting_options, sort_option, test_part_note

OF_CLASSES = {
    "accuracy": "accuracy",
    "largest_class": "largest class",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "AUC",
}
"""Names of what is shown of an evaluation of classes."""


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
    from dcsvm_dask.prediction.trained_on import trained_on_note

    note = None if quiet else test_part_note(data)
    if note is not None:
        echo(note, err=True)
    run = api.open_run(run_place)
    found = run.evaluate(data, quiet=quiet, **how)
    notes = found["notes"]
    if note is None:
        notes = [trained_on_note(run.folder, data, found["n_rows"]), *notes]
    for text in () if quiet else filter(None, notes):
        echo(f"note: {text}", err=True)
    echo(json.dumps(found, indent=1) if as_json else describe(found))


def describe(found: dict[str, Any]) -> str:
    """Return an evaluation as a few lines and tables."""
    from dcsvm_dask.prediction.run_prediction import size_of

    level = f" (level {found['level']})" if found["level"] else ""
    about = [
        f"rows               {found['n_rows']}",
        f"mode               {found['mode']}{level}",
        f"{'model':<18} {size_of(found)}"
        if "n_weights" in found
        else f"{'support vectors':<18} {found['n_support']}",
        f"ms a row           {found['ms_per_row']:.4g}",
    ]
    if "confusion" not in found:
        from dcsvm_dask.tasks import scores_in

        scores = scores_in(found)
        return "\n".join([f"{name:<18} {value:.6g}" for name, value in scores] + about)
    lines = [f"{name:<18} {found[key]:.5f}" for key, name in OF_CLASSES.items() if key in found]
    about += [f"{'warning':<18} {text}" for text in found["warnings"]]
    return "\n".join([*lines, *about, "", *_classes(found), "", *_confusion(found["confusion"])])


def _classes(found: dict[str, Any]) -> list[str]:
    """Return precision, recall and F1 of each class, and their means for more than two."""
    rows = [(str(one["label"]), one, str(one["rows"])) for one in found["by_class"]]
    if found["average"] == "macro":
        rows.append(("macro average", found, str(found["n_rows"])))
    return [f"{'class':>17}  precision  recall      F1    rows"] + [
        f"{name:>17}  {one['precision']:9.4f}  {one['recall']:.4f}  {one['f1']:.4f}  {n:>6}"
        for name, one, n in rows
    ]


def _confusion(confusion: dict[str, Any]) -> list[str]:
    """Return the confusion matrix: a line for each true class."""
    labels, matrix = [str(label) for label in confusion["labels"]], confusion["matrix"]
    width = max(len(text) for text in (*labels, *(str(n) for row in matrix for n in row)))
    return ["true \\ predicted   " + " ".join(f"{label:>{width}}" for label in labels)] + [
        f"{label:>17}  " + " ".join(f"{n:>{width}}" for n in row)
        for label, row in zip(labels, matrix, strict=True)
    ]
