"""What is seen of data frames of pandas and Polars before any row is read, without these libraries.

Estimators need this much of frames; reading them is the task of `frames`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dcsvm_dask.errors import DcsvmWarning


def is_frame(X: Any) -> bool:
    """Return whether an object is a data frame of pandas or Polars, by its attributes."""
    kind = type(X)  # attributes of lazy objects may compute them
    parts = all(hasattr(kind, name) for name in ("columns", "to_numpy", "shape"))
    return parts and not hasattr(kind, "dask")


def is_of_pandas(part: Any) -> bool:
    """Return whether an object is a data frame or a series of pandas, by its attributes."""
    return hasattr(part, "iloc")


def is_numeric(kind: Any) -> bool:
    """Return whether the type of a column, of pandas or Polars, is numeric or boolean."""
    if hasattr(kind, "is_numeric"):
        return bool(kind.is_numeric()) or str(kind) == "Boolean"
    return getattr(kind, "kind", "O") in "biuf"


def warn_of_order(X: Any, y: Any, name: str, stacklevel: int = 3) -> None:
    """Warn where rows and labels of pandas have the same index in another order.

    They are paired by position, as scikit-learn does.

    Parameters
    ----------
    X, y : Any
        There is no warning for what is not of pandas.
    name : str
        Of the rows, for the message.
    stacklevel : int, default 3
        Of the warning.
    """
    if not (is_of_pandas(X) and is_of_pandas(y)):
        return
    ours, theirs = X.index, y.index
    if len(ours) != len(theirs) or ours.equals(theirs) or not _same_values(ours, theirs):
        return
    where = int(np.argmax(np.asarray(ours != theirs)))
    remedy = "y.loc[X.index]" if ours.is_unique else "both in the same order"
    text = (
        f"{name}: the index of y has the values of that of X in another order (first in row "
        f"{where}, counted from 0: {ours[where]} and {theirs[where]}); rows and labels are "
        f"paired by position: give {remedy} where they belong together by the index"
    )
    warnings.warn(DcsvmWarning(text), stacklevel=stacklevel)


def _same_values(one: Any, other: Any) -> bool:
    """Return whether two indices of pandas of one length have the same values, each as often."""
    if one.nlevels != other.nlevels or not one.isin(other).all():
        return False
    if one.is_unique:  # then all of the other's values are these, each of them once
        return True
    counts = one.value_counts()
    return bool(counts.equals(other.value_counts().reindex(counts.index)))
