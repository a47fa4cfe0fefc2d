"""The columns of a Parquet file in which pandas and Dask have stored the index of a frame."""

from __future__ import annotations

import json
from collections.abc import Collection

from dcsvm_dask.readers.columns import LABEL_NAMES, is_unnamed_index
from dcsvm_dask.readers.parquet import open_parquet


def index_columns(path: str, *, label: str | int | None, named: Collection[str]) -> list[str]:
    """Return the names of the columns that are an index and not part of the table.

    An index identifies a row and is no value of it; a data frame in memory has it beside its
    columns.

    Parameters
    ----------
    path : str
        A Parquet file; local path or URL.
    label : str, int or None
        The label of the table as the user gave it; a column of this name is none of these.
    named : collection of str
        Columns that the user has named; these are none, too.

    Returns
    -------
    list of str
        Without columns that have a usual name of a label, where no label was given.
    """
    with open_parquet(path) as file:
        names, metadata = list(file.schema_arrow.names), file.schema_arrow.metadata or {}
    try:
        found = json.loads(metadata.get(b"pandas", b"{}")).get("index_columns", [])
    except (ValueError, AttributeError):  # of another program
        found = []
    own = {name for name in found if isinstance(name, str)} | set(filter(is_unnamed_index, names))
    if label is None:
        own = {name for name in own if name.strip().lower() not in LABEL_NAMES}
    kept = {*named, str(label)}
    index = [name for name in names if name in own and name not in kept]
    return index if len(index) < len(names) else []
