"""Which column of a table is the label."""

from __future__ import annotations

from dcsvm_dask.errors import InputError

LABEL_NAMES = ("label", "target", "class", "y")


def place_label(
    path: str,
    columns: int,
    names: list[str] | None,
    label: str | int | None,
    n_features: int | None,
) -> int | None:
    """Return the position of the label column, None if the table has features only.

    Parameters
    ----------
    path : str
        For messages.
    columns : int
        Number of columns.
    names : list of str or None
        Their names, where they have any.
    label : str, int or None
        A name, or a position from 0, negative from the end. None: a column with a usual name,
        else the last one.
    n_features : int or None
        If there are just so many columns, there is no label.

    Raises
    ------
    InputError
        If there is no such column, or the number of features does not fit.
    """
    if n_features is not None:
        if columns == n_features:
            return None
        if columns != n_features + 1:
            raise InputError(
                f"{path}: {columns} columns, but {n_features} features (and a label) are needed"
            )
    if label is None:
        usual = [k for k, n in enumerate(names or []) if n.strip().lower() in LABEL_NAMES]
        return usual[0] if len(usual) == 1 else columns - 1
    if names is not None and str(label) in names:
        if names.count(str(label)) > 1:
            raise InputError(f"{path}: {names.count(str(label))} columns are called {label!r}")
        return names.index(str(label))
    try:
        position = int(label)
    except ValueError:
        if names is None:
            raise InputError(f"{path}: no column {label!r}: the columns have no names") from None
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise InputError(f"{path}: no column {label!r}; there are: {shown}") from None
    if not -columns <= position < columns:
        raise InputError(f"{path}: no column {position}: there are {columns}, counted from 0")
    return position % columns
