"""Labels of a one-class SVM: +1 for rows like the training rows, -1 for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.labels import Label, LabelTable, canonical, named_label, sort_labels
from dcsvm_dask.readers.lines import RowError


class SignTable:
    """Reads labels of consecutive blocks of rows as signs, or their absence as zeros.

    Parameters
    ----------
    name : str
        The source, for messages.
    first_row : int, default 0
        The row of the first label.
    positive : sequence of labels, optional
        Labels that are +1, all others are -1. None: labels are +1 and -1, or all are 0, which is no
        label.
    """

    dtype = np.dtype(np.float64)
    """Of the arrays that `add` returns."""

    def __init__(
        self, name: str, first_row: int = 0, positive: Sequence[Label] | None = None
    ) -> None:
        self.name = name
        self._positive = None if positive is None else [canonical(label) for label in positive]
        self._table = LabelTable(name, first_row)

    @property
    def labels(self) -> list[Label]:
        """The distinct labels so far."""
        return self._table.labels

    def add(self, labels: NDArray[Any] | None, n: int = 0) -> NDArray[np.float64]:
        """Return the signs of the labels of the next rows: +1, -1, or 0 where there is none.

        Parameters
        ----------
        labels : array, shape (n,), or None
            None: the rows have no labels.
        n : int
            Number of rows without labels.

        Raises
        ------
        InputError
            If a label is missing, or has no sign.
        """
        if labels is None:
            return np.zeros(n)
        codes, table = self._table.add(labels), self._table
        if self._positive is not None:
            named = {named_label(label, table.labels) for label in self._positive}
            signs = [1.0 if label in named else -1.0 for label in table.labels]
            return np.array(signs)[codes]
        self._check()
        return np.array(table.labels, dtype=np.float64)[codes]

    def merge(self, other: SignTable) -> None:
        """Add the labels of another table, whose rows follow.

        Raises
        ------
        InputError
            If the labels of both together have no sign.
        """
        self._table.merge(other._table)
        if self._positive is None:
            self._check()

    def check_positive(self, other: SignTable) -> None:
        """Refuse a positive label that neither these rows nor those of another part have.

        Raises
        ------
        InputError
            If there is one.
        """
        if self._positive is None:
            return
        known = {*self._table.labels, *other._table.labels}
        named = {named_label(label, list(known)) for label in self._positive}
        if absent := sorted(named - known, key=str):
            listed = ", ".join(str(label) for label in sort_labels(list(known))[:20])
            raise InputError(
                f"--positive {absent[0]}: {self.name} has no such label, but {listed or 'none'}"
            )

    def _check(self) -> None:
        """Refuse labels that are no signs."""
        table = self._table
        for label, row in zip(table.labels, table.first_rows, strict=True):
            if label not in (-1, 0, 1) or (label == 0 and len(table.labels) > 1):
                raise RowError(
                    self.name,
                    row,
                    f" has the label {label!r:.40}; labels of one-class are +1 and -1 (or all 0: "
                    "unknown): say which are +1 (--positive LABEL,...), or that no column is a "
                    "label (--label none)",
                )
