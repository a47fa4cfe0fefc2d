"""Targets of any source as float64: what regression learns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.labels import plain

MOST_TARGET = 1e100
"""Largest size of a target: its square is a float64."""


class TargetTable:
    """Reads the targets of consecutive blocks of rows.

    Parameters
    ----------
    name : str
        The source, for messages.
    first_row : int, default 0
        The row of the first target.
    """

    dtype = np.dtype(np.float64)
    """Of the arrays that `add` returns."""

    def __init__(self, name: str, first_row: int = 0) -> None:
        self.name = name
        self.n_rows = first_row

    def add(self, targets: NDArray[Any]) -> NDArray[np.float64]:
        """Return the targets of the next rows.

        Parameters
        ----------
        targets : array, shape (n,)
            Numbers, booleans, or strings that are numbers.

        Returns
        -------
        ndarray, shape (n,), float64
            -0.0 has become 0.0.

        Raises
        ------
        InputError
            If a target is missing, no number, infinite, or larger than `MOST_TARGET`.
        """
        given = plain(targets, self.name)
        values = self._numbers(given)
        with np.errstate(invalid="ignore"):
            wrong = np.flatnonzero(~(np.abs(values) <= MOST_TARGET))
        if len(wrong):
            k = int(wrong[0])
            what = (
                "no target"
                if np.isnan(values[k])
                else f"the target {given[k]!s:.40}, which is beyond {MOST_TARGET:g}"
            )
            raise InputError(
                f"{self.name}: row {self.n_rows + k} (counted from 0) has {what}; fill in or drop "
                "such rows"
            )
        self.n_rows += len(values)
        return values + 0.0

    def merge(self, other: TargetTable) -> None:
        """Count the targets of another table, whose rows follow."""
        self.n_rows += other.n_rows

    def _numbers(self, given: NDArray[Any]) -> NDArray[np.float64]:
        if given.dtype.kind in "biuf":
            return given.astype(np.float64)
        if given.dtype.kind not in "UO":
            raise InputError(f"{self.name}: targets of type {given.dtype} are not numbers")
        return np.array([self._number(k, value) for k, value in enumerate(given.tolist())])

    def _number(self, k: int, value: Any) -> float:
        text = value.strip() if isinstance(value, str) else value
        if text is None or (isinstance(text, str) and text in ("", "?")):
            return np.nan
        try:
            if isinstance(text, str) and "_" in text:  # float() accepts 1_000
                raise ValueError
            return float(text)
        except OverflowError:  # a whole number beyond float64
            return np.inf
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{self.name}: row {self.n_rows + k} (counted from 0) has the target "
                f"{value!r:.40}, which is not a number; regression learns numbers (is the target "
                "in another column? see --label), and classes are ingested without --task"
            ) from error
