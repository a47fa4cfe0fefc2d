"""The columns of a table that is prepared."""

from __future__ import annotations

from collections.abc import Sequence

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import Expected, Layout, column_layout
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.encoders import NUMBER, Encoder
from dcsvm_dask.readers.preparing.preparation import ColumnPreparation
from dcsvm_dask.readers.preparing.raw import RawTable


def layout_of(
    table: RawTable,
    choices: Choices,
    known: Expected | None,
    label: str | int | None,
    drop: Sequence[str],
    *,
    learned: bool,
) -> Layout:
    """Return which columns of a table are features, and which the label.

    Parameters
    ----------
    table : RawTable
    choices : Choices
    known : Expected, optional
        Columns that the table has to have.
    label : str or int, optional
    drop : sequence of str
        Names of columns to leave out.
    learned : bool
        Whether what becomes of the columns was learned from another table.

    Raises
    ------
    InputError
        If a chosen column does not exist, and where `column_layout` does.
    """
    columns = choices.columns
    layout = column_layout(
        table.name, table.n_columns, table.names, label=label, expected=known, drop=drop
    )
    if learned or not columns:
        return layout
    names = table.names
    if names is None:
        raise InputError(f"{table.name}: columns: the columns have no names")
    for name in columns:
        if name not in names:
            raise InputError(f"{table.name}: no column {name!r}; there are: {', '.join(names)}")
    features = [names.index(name) for name in columns if names.index(name) != layout.label]
    kept = [k for k in layout.columns if k in features or k == layout.label]
    return Layout(layout.label, kept, [names[k] for k in kept if k != layout.label])


def plain_columns(expected: Expected) -> ColumnPreparation:
    """Return the preparation of columns that are numbers in the training table."""
    names = expected.names or [str(k + 1) for k in range(expected.n_features)]
    encoders = tuple(Encoder(name, NUMBER) for name in names)
    return ColumnPreparation(encoders, has_names=expected.names is not None)
