"""Which scaling an ingest uses where none is named."""

from __future__ import annotations

import os
from typing import Any

from dcsvm_dask.readers.frame_checks import is_frame
from dcsvm_dask.readers.scaling import AUTO
from dcsvm_dask.storage.dataset_commit import is_data_set
from dcsvm_dask.storage.location import Location


def usual_scale(source: Any, scale: str | None) -> str:
    """Return the scaling that is asked for: a given one, else "auto" for tables.

    Files and data frames are tables, as a program or a person wrote them. Arrays are taken as they
    are, as scikit-learn's estimators take them, and so are the rows of a data set, which were
    scaled at its ingest if at all.

    Parameters
    ----------
    source : str, path, data frame, arrays or another source
    scale : str or None
        The scaling that is named.
    """
    if scale is not None and not (scale == AUTO and _is_place(source) and is_data_set(source)):
        return scale
    if _is_place(source):
        return "none" if is_data_set(source) else AUTO
    source = getattr(source, "given", source)  # what is in Dask
    rows = source[0] if isinstance(source, tuple) and source else source
    rows = getattr(rows, "_meta", rows)  # of a Dask collection
    return AUTO if is_frame(rows) else "none"


def _is_place(source: Any) -> bool:
    return isinstance(source, str | os.PathLike | Location)
