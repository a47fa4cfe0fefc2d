"""The columns of a table: which are features, and which one is the label.

All readers (text, Parquet, NumPy matrices and data frames) use the same rule: the label is the
column named by ``label``, else the last one that is not an index of pandas. If that has no usual
name of a label and another one has (`LABEL_NAMES`), the label is ambiguous, and the table is an
error. The name `NO_LABEL` means that no column is a label, unless a column is called so.

A later table (a test part, rows to predict) is matched with the training data by the names of the
columns where both have names: in any order, and other columns are left out. Otherwise it is
matched by position and has the features only, or the features and the label.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.preparation import ColumnPreparation

LABEL_NAMES = ("label", "target", "class", "y")

NO_LABEL = "none"
"""What is given as the label of rows that have none."""

_PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""Names of columns in which pandas stores an index without a name behind all others in Parquet."""

_SHOWN = 20
"""Largest number of names in a message."""


class NoLabelColumnError(InputError):
    """No column has the name of the label."""


@dataclass(frozen=True)
class Expected:
    """The columns of a training table, which later tables must have."""

    n_features: int
    names: Sequence[str] | None = None
    """Names of the features, in order; None if they have none."""
    label: str | None = None
    """Name of the label column."""
    position: int | None = None
    """Position of the label column among the features and itself."""
    columns: ColumnPreparation | None = None
    """How the features were made of columns; None: they are the columns."""


@dataclass(frozen=True)
class Layout:
    """The use of a table's columns."""

    label: int | None
    """Position of the label column; None if there is none."""
    columns: Sequence[int]
    """Positions of the features in order; the label may be among them."""
    names: list[str] | None
    """Name of each feature, where columns have names."""

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.columns) - (self.label in self.columns)

    @property
    def features(self) -> list[int]:
        """Position of each feature."""
        return [k for k in self.columns if k != self.label]

    @property
    def position(self) -> int | None:
        """Position of the label among the features and itself."""
        if self.label is None or self.label not in self.columns:
            return None
        return self.columns.index(self.label)


def is_unnamed_index(name: str) -> bool:
    """Return whether a column has the name of an index without one, as pandas stores it."""
    return _PANDAS_INDEX.fullmatch(name) is not None


def column_layout(
    path: str,
    columns: int,
    names: Sequence[str] | None,
    *,
    label: str | int | None = None,
    expected: Expected | None = None,
    drop: Sequence[str] = (),
) -> Layout:
    """Return which columns are features, and which one is the label.

    Parameters
    ----------
    path : str
        For messages.
    columns : int
        Number of columns.
    names : sequence of str or None
        Names of the columns, where they have any.
    label : str, int or None
        Name or position of the label of a training table; positions are from 0, or negative from
        the end.
    expected : Expected, optional
        Columns of the training table, for a later table.
    drop : sequence of str
        Names of columns to leave out; those of a later table only where it is matched by position.

    Returns
    -------
    Layout

    Raises
    ------
    InputError
        If two columns have the same name, a named column does not exist, or features are missing.
    """
    if names is not None:
        refuse_repeats(path, names)
    if expected is None:
        kept: Sequence[int] = kept_columns(path, columns, names, drop)
        own = None if names is None else [names[k] for k in kept]
        place: int | None = None
        if label != NO_LABEL or NO_LABEL in (own or ()):
            place = label_position(path, columns, own, label, kept)
    elif names is not None and expected.names is not None:
        return _by_name(path, names, expected.names, expected.label)
    else:
        kept = kept_columns(path, columns, names, drop)
        own = None if names is None else [names[k] for k in kept]
        found = _later_label(path, len(kept), own, expected)
        place = None if found is None else kept[found]
    return Layout(place, kept, None if names is None else [names[k] for k in kept if k != place])


def label_position(
    path: str,
    columns: int,
    names: Sequence[str] | None,
    label: str | int | None,
    kept: Sequence[int] | None = None,
) -> int:
    """Return the position of the label column of a training table; the rule is that of the module.

    Parameters
    ----------
    path : str
        For messages.
    columns : int
        Number of columns.
    names : sequence of str or None
        Names of the kept columns, where they have any.
    label : str, int or None
        Name or position of the label.
    kept : sequence of int, optional
        Positions of the kept columns; by default all.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If there is no such column, it is dropped, or the label is ambiguous.
    """
    kept = range(columns) if kept is None else kept
    if label is None:
        last = len(kept) - 1
        while names is not None and last > 0 and is_unnamed_index(names[last]):
            last -= 1
        usual = [name for name in names or () if name.strip().lower() in LABEL_NAMES]
        if names is not None and usual and names[last] not in usual:
            raise InputError(
                f"{path}: the label may be {names[last]!r}, the last column, or {usual[0]!r}, "
                "which is a usual name of a label; say which one: --label NAME (in Python "
                "label=NAME)"
            )
        return kept[last]
    if names is not None and str(label) in names:
        return kept[list(names).index(str(label))]
    try:
        position = int(label)
    except ValueError:
        if names is None:
            raise InputError(f"{path}: no column {label!r}: the columns have no names") from None
        raise NoLabelColumnError(
            f"{path}: no column {label!r}; there are: {listed(names)}"
        ) from None
    if not -columns <= position < columns:
        raise InputError(f"{path}: no column {position}: there are {columns}, counted from 0")
    if position % columns not in kept:
        raise InputError(
            f"{path}: the label, column {position}, is left out by drop, or is the index of "
            "pandas; give the name of the label"
        )
    return position % columns


def match_names(path: str, names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return the position of each wanted feature among the columns of a table.

    Parameters
    ----------
    path : str
        For messages.
    names : sequence of str
        Names of the table's columns.
    wanted : sequence of str
        Names of the features.

    Returns
    -------
    list of int

    Raises
    ------
    InputError
        If features are missing.
    """
    place = {name: k for k, name in enumerate(names)}
    missing = [repr(name) for name in wanted if name not in place]
    if missing:
        raise InputError(
            f"{path}: lacks {len(missing)} of the {len(wanted)} features of the training data: "
            f"{listed(missing)}; it has: {listed(names)}{_hint_for_names(wanted, place)}"
        )
    return [place[name] for name in wanted]


def _hint_for_names(wanted: Sequence[str], names: Collection[str]) -> str:
    """Return that names of columns differ by their case or blanks alone; "" where they do not."""
    alike = {"".join(name.split()).casefold(): name for name in names}
    for name in wanted:
        other = alike.get("".join(name.split()).casefold())
        if name not in names and other is not None:
            return f"; rename {other!r} to {name!r}, and others alike"
    return ""


def refuse_repeats(path: str, names: Sequence[str]) -> None:
    """Raise an error if two columns of a table have the same name."""
    if len(set(names)) == len(names):
        return
    first = dict[str, int]()
    for k, name in enumerate(names):
        if name in first:
            raise InputError(
                f"{path}: two columns have the name {name!r}: {first[name]} and {k}, counted from "
                "0; rename one of them or leave it out"
            )
        first[name] = k


def listed(names: Sequence[str]) -> str:
    """Return names for a message; of many the first ones."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def kept_columns(
    path: str, columns: int, names: Sequence[str] | None, drop: Sequence[str]
) -> Sequence[int]:
    """Return the positions of the columns that are not dropped.

    Parameters
    ----------
    path : str
        For messages.
    columns : int
        Number of columns.
    names : sequence of str or None
        Names of the columns, where they have any.
    drop : sequence of str
        Names of the columns to leave out.

    Returns
    -------
    sequence of int
        At least one position.

    Raises
    ------
    InputError
        If a named column does not exist, or no column is left.
    """
    if not drop:
        return range(columns)
    if names is None:
        raise InputError(f"{path}: the columns have no names, so drop cannot be used")
    absent = [name for name in drop if name not in names]
    if absent:
        raise InputError(f"{path}: no column {absent[0]!r} to drop; there are: {listed(names)}")
    kept = [k for k, name in enumerate(names) if name not in set(drop)]
    if not kept:
        raise InputError(f"{path}: drop leaves no column")
    return kept


def _by_name(path: str, names: Sequence[str], wanted: Sequence[str], label: str | None) -> Layout:
    features = match_names(path, names, wanted)
    taken = set(features)
    others = [k for k in range(len(names)) if k not in taken]
    if label is not None:
        found = [k for k in others if names[k] == label]
    else:  # the label of the training data had no name
        found = [k for k in others if names[k].strip().lower() in LABEL_NAMES]
    return Layout(found[0] if len(found) == 1 else None, features, list(wanted))


def _later_label(
    path: str, columns: int, names: Sequence[str] | None, expected: Expected
) -> int | None:
    """Return the position of the label of a table that is matched by position; None without a
    label.
    """
    if columns == expected.n_features:
        if expected.label is not None and names is not None and expected.label in names:
            raise InputError(
                f"{path}: its {columns} columns are taken for the features, but one of them is "
                f"{expected.label!r}, the label of the training data; leave it out"
            )
        return None
    if columns != expected.n_features + 1:
        raise InputError(
            f"{path}: {columns} columns, but {expected.n_features} features (and a label) are "
            "needed"
        )
    if names is not None and expected.label in names:
        return list(names).index(str(expected.label))
    if expected.position is not None:
        usual = [name for name in names or () if name.strip().lower() in LABEL_NAMES]
        if names is not None and usual and names[expected.position] not in usual:
            raise InputError(
                f"{path}: the label may be {names[expected.position]!r}, in the place that it has "
                f"in the training data, or {usual[0]!r}; leave out or rename one of them"
            )
        return expected.position
    return label_position(path, columns, names, None)
