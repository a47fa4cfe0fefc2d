"""Labels of any kind as codes into a sorted list of classes.

Memory: there are at most 1,000 classes, and a label has at most 1,000 characters; labels that
are strings are shared objects, not an array as wide as the longest one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.lines import RowError
from dcsvm_dask.readers.preparing.cells import FLAGS, MINUS, WHOLE

Label: TypeAlias = int | float | str
"""A class label of the source; whole numbers are int. Booleans, which are int too, stay such."""

MAX_CLASSES = 1000
MAX_LABEL = 1000
"""Largest number of characters of a label."""
SPAN = 10_000
"""Largest range of whole numbers that are counted instead of sorted."""


class LabelTable:
    """Assigns provisional codes to labels in the order in which they appear.

    Parameters
    ----------
    name : str
        The source, for messages.
    first_row : int, default 0
        The row of the first label.

    Attributes
    ----------
    labels : list of int, float or str
        Distinct labels by code.
    counts : list of int
        Rows of each label.
    first_rows : list of int
        First row of each label, from 0.
    """

    dtype = np.dtype(np.int32)
    """Of the arrays that `add` returns."""

    def __init__(self, name: str, first_row: int = 0) -> None:
        self.name = name
        self.labels: list[Label] = []
        self.counts: list[int] = []
        self.first_rows: list[int] = []
        self.n_rows = first_row
        self._codes: dict[Label, int] = {}

    def add(self, labels: NDArray[Any]) -> NDArray[np.int32]:
        """Return the codes of the labels of the next rows.

        Parameters
        ----------
        labels : array, shape (n,)
            Numbers, booleans or strings. Strings that are numbers are converted to numbers.

        Returns
        -------
        ndarray, shape (n,), int32

        Raises
        ------
        InputError
            If a label is missing or not a number, or there are too many distinct ones.
        """
        labels = plain(labels, self.name)
        if not _are_labels(labels):
            for row, value in enumerate(labels.tolist()):
                if _is_missing(value):
                    raise RowError(self.name, self.n_rows + row, f" has no label: {value!r:.60}")
            labels = from_objects(labels.tolist())
        if not _are_labels(labels):
            raise InputError(
                f"{self.name}: labels of type {labels.dtype} are neither numbers nor strings"
            )
        distinct, first, codes = _distinct(labels)
        if len(self.labels) + len(distinct) > 3 * MAX_CLASSES:
            self._refuse(len(distinct))
        translate = np.empty(len(distinct), np.int32)
        for k, value in enumerate(distinct):
            row = self.n_rows + int(first[k])
            label = canonical(value)
            if label in ("", "?") or (isinstance(label, float) and not math.isfinite(label)):
                raise RowError(self.name, row, f" has no label: {value!r:.60}")
            if isinstance(label, str) and not _is_text(label):
                raise RowError(
                    self.name, row, f" has a label that is not valid text: {label[:40]!a}"
                )
            if isinstance(label, str) and len(label) > MAX_LABEL:
                raise RowError(
                    self.name,
                    row,
                    f" has a label of {len(label):,} characters, {label[:40]!r}...; at most "
                    f"{MAX_LABEL:,} are possible",
                )
            translate[k] = self._code(label, row)
        if len(self.labels) > MAX_CLASSES:
            self._refuse(len(self.labels))
        out = translate[codes]
        for code, count in enumerate(np.bincount(out, minlength=len(self.labels)).tolist()):
            self.counts[code] += count
        self.n_rows += labels.size
        return out

    def merge(self, other: LabelTable) -> None:
        """Add the labels of another table, whose rows follow.

        Raises
        ------
        InputError
            If there are too many distinct labels.
        """
        for label, count, row in zip(other.labels, other.counts, other.first_rows, strict=True):
            self.counts[self._code(label, self.n_rows + row)] += count
        self.n_rows += other.n_rows
        if len(self.labels) > MAX_CLASSES:
            self._refuse(len(self.labels))

    def check_classes(self) -> None:
        """Raise an error if the labels of a training part cannot be classes.

        Raises
        ------
        InputError
            If there is only one label, or more labels than half of the rows.
        """
        if len(self.labels) == 1:
            raise InputError(
                f"{self.name}: every row has the label {self.labels[0]!r}; a classifier needs two "
                "classes (is the label in another column? see --label)"
            )
        if len(self.labels) > max(2, self.n_rows // 2):
            self._refuse(len(self.labels))

    def _code(self, label: Label, row: int) -> int:
        code = self._codes.get(label)
        if code is None:
            code = self._codes[label] = len(self.labels)
            self.labels.append(label)
            self.counts.append(0)
            self.first_rows.append(row)
        return code

    def _refuse(self, found: int) -> None:
        raise InputError(
            f"{self.name}: the labels cannot be classes: {found} or more distinct values in "
            f"{max(self.n_rows, found)} rows (is the label in another column? see --label; real "
            "targets are ingested with --task regression)"
        )


def _are_labels(labels: NDArray[Any]) -> bool:
    """Return whether an array has numbers or strings."""
    if labels.dtype.kind == "O":
        return all(issubclass(kind, str) for kind in set(map(type, labels.tolist())))
    return labels.dtype.kind in "biufU"


def from_objects(values: list[Any]) -> NDArray[Any]:
    """Return labels that are Python objects as an array.

    Parameters
    ----------
    values : list
        None of them is missing.

    Returns
    -------
    ndarray, shape (n,)
        Of numbers or booleans; where one is a string of strings, as objects and not as wide as the
        longest one; else of the objects as they are.
    """
    if any(isinstance(value, str) for value in values):
        return np.array([str(value) for value in values], dtype=object)
    if all(isinstance(value, Number | np.bool_) for value in values):
        return np.array(values)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _is_missing(value: Any) -> bool:
    """Return whether a value of an array of objects is none: None, NaN, or those of pandas."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _is_text(label: str) -> bool:
    """Return whether a label can be encoded as UTF-8."""
    try:
        label.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _distinct(labels: NDArray[Any]) -> tuple[list[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct labels, the first row of each, and the position of each row's label."""
    if labels.dtype.kind != "O":
        found = _small_whole(labels)
        if found is not None:
            return found
        distinct, first, codes = np.unique(labels, return_index=True, return_inverse=True)
        return distinct.tolist(), first, codes.reshape(-1)
    words = labels.tolist()
    places = {word: k for k, word in enumerate(dict.fromkeys(words))}
    codes = np.fromiter(map(places.__getitem__, words), np.int64, len(words))
    return list(places), np.flatnonzero(np.diff(np.maximum.accumulate(codes), prepend=-1)), codes


def _small_whole(
    labels: NDArray[Any],
) -> tuple[list[Any], NDArray[np.int64], NDArray[np.int64]] | None:
    """Return what `_distinct` does, without sorting; None unless labels are small whole numbers."""
    if labels.dtype.kind not in "iuf" or not labels.size:
        return None
    low, high = float(labels.min()), float(labels.max())
    if not (abs(low) <= 2**31 and high - low <= SPAN):  # also where there is a NaN
        return None
    offsets = (labels - low).astype(np.int64)
    if not np.array_equal(offsets + low, labels):
        return None
    there = np.flatnonzero(np.bincount(offsets))
    place = np.zeros(int(there[-1]) + 1, np.int64)
    place[there] = np.arange(len(there))
    codes, first = place[offsets], np.empty(len(there), np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of several the last one stays
    return (there + low).astype(labels.dtype).tolist(), first, codes


def plain(labels: Any, name: str) -> NDArray[Any]:
    """Return labels as an array: bytes as strings, strings of variable length as objects.

    Raises
    ------
    InputError
        If bytes are not UTF-8.
    """
    labels = np.asarray(labels)
    if labels.dtype.kind == "S":
        try:
            return np.char.decode(labels, "utf-8", "strict")
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name}: the label {error.object!r:.80} is not UTF-8; decode the labels, for "
                "example by numpy.char.decode(y, 'cp1252')"
            ) from error
    return labels.astype(object) if labels.dtype.kind == "T" else labels


def canonical(value: Any) -> Label:
    """Return a label in its canonical form: int if whole, else float, else the string.

    ``"+1"``, ``"1.0"`` and ``1.0`` are all 1, and ``True``, which stays a boolean, is equal to it.
    Whole numbers have any size, 1e20 is one. A typographic minus is one.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        text = value.strip()
        try:
            number = float(text.replace(MINUS, "-"))
        except ValueError:
            return text
        if "_" in text:  # float() accepts 1_000, which is a name in data
            return text
        if not math.isfinite(number):
            return number
        whole = WHOLE.fullmatch(text.replace(MINUS, "-"))
        value = number if whole is None else int(whole[1])
    if isinstance(value, int | np.integer):
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() else number


def choose_classes(
    table: LabelTable, positive: Sequence[Label] | None
) -> tuple[list[Label], dict[Label, int]]:
    """Return the sorted classes of training labels and the code of every label.

    Parameters
    ----------
    table : LabelTable
        Labels of the training part.
    positive : sequence, optional
        Labels that are joined into the class +1; all others are -1. Classes are then [-1, 1].

    Returns
    -------
    classes : list
        Numbers by value, or strings; of two, the last is the positive one.
    codes : dict
        Index into classes by label of the table.

    Raises
    ------
    InputError
        If a positive label does not occur, or if all labels are positive.
    """
    labels = table.labels
    if positive is not None:
        wanted = {named_label(p, labels, any_case=True) for p in positive}
        absent = sorted(wanted - set(labels), key=str)
        if absent:
            known = ", ".join(str(c) for c in sort_labels(labels)[:20])
            raise InputError(f"--positive {absent[0]}: {table.name} has no such label, but {known}")
        if wanted >= set(labels):
            raise InputError(
                f"--positive has every label of {table.name}; leave out those of the other class"
            )
        return [-1, 1], {label: int(label in wanted) for label in labels}
    classes = sort_labels(labels)
    return classes, {label: code for code, label in enumerate(classes)}


BOOLEANS = FLAGS.index(("false", "true"))
"""The pair of words for no and yes that stand for booleans in text."""


def class_of(label: Label, classes: Sequence[Label]) -> int | None:
    """Return the position of a label among classes; None if it is none of them.

    Other formats and programs write two classes in other ways: True, true and 1 are the same one,
    and so are yes, Yes, 1 and True where the classes are no and yes. Y is none of these: of two
    pairs of words one must be that of booleans.

    Parameters
    ----------
    label : int, float or str
        In its canonical form.
    classes : sequence of labels
    """
    if isinstance(label, bool) and not _takes_booleans(classes):
        return None  # True is equal to 1, whatever the other classes are
    if label in classes:
        return list(classes).index(label)
    pairs = [_flag(one) for one in classes]
    own, values = _flag(label), [one[1] for one in pairs if one is not None]
    words = {one[0] for one in pairs if one is not None and one[0] is not None}
    if own is None or len(classes) != 2 or sorted(values) != [0, 1] or len(words) > 1:
        return None
    if len({own[0], *words} - {None, BOOLEANS}) > 1:
        return None
    return values.index(own[1])


def named_label(given: Any, labels: Sequence[Label], *, any_case: bool = False) -> Label:
    """Return the one of some labels that a user names; what is given where there is none.

    A boolean or number and a word for yes or no are the same one: True or 1 and yes or true.

    Parameters
    ----------
    given : Any
    labels : sequence of labels
    any_case : bool, default False
        Whether True is also meant by true, where no third label differs by case alone. The labels
        must then be all that there are.
    """
    label = canonical(given)
    equal = [one for one in labels if one == label] + [one for one in labels if _same(label, one)]
    if equal or not any_case:
        return equal[0] if equal else label
    folded = str(label).casefold()
    alike = [one for one in labels if isinstance(one, str) and one.casefold() == folded]
    return alike[0] if len(alike) == 1 else label


def _takes_booleans(classes: Sequence[Label]) -> bool:
    """Return whether booleans may be labels of some classes: for example not of 1 and 2."""
    return all(_flag(one) is not None for one in classes)


def _same(label: Label, other: Label) -> bool:
    """Return whether a word for yes or no, and a boolean or number, mean the same."""
    if isinstance(label, str) and isinstance(other, str):
        return False
    flags = _flag(label), _flag(other)
    return None not in flags and flags[0][1] == flags[1][1]  # type: ignore[index]


def _flag(label: Label) -> tuple[int | None, int] | None:
    """Return the pair of words for no and yes that a label is of, and 0 or 1.

    The pair is None where it is a number or a boolean; the result where the label is neither.
    """
    if not isinstance(label, str):
        return (None, int(label)) if label in (0, 1) else None
    for k, pair in enumerate(FLAGS):
        if label.lower() in pair:
            return k, pair.index(label.lower())
    return None


def sort_labels(labels: Sequence[Label]) -> list[Label]:
    """Return labels in order: numbers by value, then strings."""
    return sorted(
        labels, key=lambda v: (isinstance(v, str), v if not isinstance(v, str) else 0, str(v))
    )
