"""The choice of a writer of predictions by the extension of their place."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.kept import KeptColumns
from dcsvm_dask.readers.labels import Label
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.outputs import exists_already, output, refuse_inside, refuse_standard_output
from dcsvm_dask.storage.prediction_files import CsvWriter, NpyWriter, ParquetWriter
from dcsvm_dask.storage.prediction_groups import ZarrWriter
from dcsvm_dask.storage.prediction_writer import PREDICTION, PredictionWriter

_WRITERS: dict[str, type[PredictionWriter]] = {
    ".csv": CsvWriter,
    ".npy": NpyWriter,
    ".parquet": ParquetWriter,
    ".zarr": ZarrWriter,
}


def open_predictions(
    out: str | os.PathLike[str] | Location,
    classes: list[Label],
    outputs: Sequence[str] = (),
    *,
    overwrite: bool = False,
    kept: KeptColumns | None = None,
) -> PredictionWriter:
    """Return a writer of predictions; nothing is written before its context is entered.

    Parameters
    ----------
    out : str, path or Location
        The extension selects the format: ``.csv`` (header ``label,decision``, of more than two
        classes ``label,decision_A,decision_B,...``), ``.npy`` (a structured array), ``.parquet``
        (columns as in CSV) or ``.zarr`` (a group of two arrays). Without classes there is one
        column, field or array ``prediction``; with `outputs` a column ``prediction_NAME`` of text
        and Parquet for each, and of the field or array.
    classes : list of labels
        The label of each code; empty where targets are predicted.
    outputs : sequence of str, optional
        Names of the predicted targets of a row where there are several.
    overwrite : bool, default False
        Whether existing predictions are replaced, once the new ones are complete.
    kept : KeptColumns, optional
        Columns of the table that stand first in CSV.

    Returns
    -------
    PredictionWriter

    Raises
    ------
    InputError
        If the extension is none of these, columns are kept in another format than CSV,
        a package is missing, a file exists, or the place is inside a run or a data set.
    """
    refuse_standard_output(out)
    target = Location.of(out, writable=True)
    extension = os.path.splitext(target.name)[1].lower()  # noqa: PTH122 - may be a URL
    writer = _WRITERS.get(extension)
    if writer is None:
        raise InputError(
            f"out: {target.name!r} has the extension {extension!r}; "
            f"give one of {', '.join(_WRITERS)}"
        )
    if writer is ParquetWriter and importlib.util.find_spec("pyarrow") is None:
        raise InputError("out: .parquet needs pyarrow: pip install pyarrow")
    if kept is not None and writer is not CsvWriter:
        raise InputError(
            f"keep: is for predictions in CSV, not in {extension}; give --out FILE.csv"
        )
    # Check the target now rather than after predicting.
    if writer is not ZarrWriter:
        output(target, overwrite=overwrite)
        made = writer(target, classes, outputs)
        if isinstance(made, CsvWriter) and kept is not None:
            both = set(kept.names) & {"label", *made.columns()}
            if both:
                raise InputError(
                    f"keep: predictions have a column {min(both)!r}, too; rename that of the table"
                )
            made.kept = kept
        return made
    refuse_inside(target)
    if target.exists():
        if not _is_predictions(target):
            raise InputError(f"out: {target} holds something that is not predictions; remove it")
        if not overwrite:
            raise exists_already(target)
    return writer(target, classes, outputs)


def _is_predictions(place: Location) -> bool:
    names, arrays = set(place.list()), {"label", "decision", PREDICTION}
    # An interrupted upload may leave one array.
    return bool(names & arrays) and names <= arrays | {"zarr.json"}
