"""Conversion of records to pandas DataFrames."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.errors import InputError


def to_frame(records: Any) -> Any:
    """Return records (a list of dicts, or a dict of columns) as a `pandas.DataFrame`.

    Columns called ``time`` or ``began`` (seconds since 1970) become timestamps.

    Raises
    ------
    InputError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError("a data frame needs pandas: pip install pandas") from error
    frame = pd.DataFrame(records)
    for name in {"time", "began"} & set(frame.columns):
        frame[name] = pd.to_datetime(frame[name], unit="s", utc=True)
    return frame
