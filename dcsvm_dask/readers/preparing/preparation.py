"""The preparation of a table's columns: learned once, stored, applied to all later rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.preparing.cell_counts import CellCounts
from dcsvm_dask.readers.preparing.cells import empty_words
from dcsvm_dask.readers.preparing.described import described
from dcsvm_dask.readers.preparing.encoders import NUMBER, Encoder
from dcsvm_dask.readers.preparing.features import joined


@dataclass(frozen=True)
class ColumnPreparation:
    """Makes features of the columns of a table.

    Attributes
    ----------
    encoders : tuple of Encoder
        One for each column that is used, in the order of the features.
    decimal : {".", ","}
        Mark before the decimals of numbers that are text.
    has_names : bool
        Whether the columns are found by their names; else by position.
    missing_words : tuple of str or None
        Words that mean a missing cell, beside an empty one; None: the usual ones.
    """

    encoders: tuple[Encoder, ...]
    decimal: str = "."
    has_names: bool = True
    missing_words: tuple[str, ...] | None = None

    @property
    def inputs(self) -> list[str]:
        """Names of the columns that are used."""
        return [one.name for one in self.encoders]

    @property
    def empty_words(self) -> tuple[str, ...]:
        """What stands in cells without a value."""
        return empty_words(self.missing_words)

    @property
    def features(self) -> list[str]:
        """Names of the features."""
        return [name for one in self.encoders for name in one.features]

    @property
    def is_plain(self) -> bool:
        """Whether the features are numbers of the table, as they stand there."""
        return self.decimal == "." and all(one.is_plain for one in self.encoders)

    @property
    def fills(self) -> NDArray[np.float64] | None:
        """What stands for a missing number in each feature, where all are columns of numbers.

        None where a column is anything else, or cells are not filled in.
        """
        numbers = all(one.kind == NUMBER and not one.indicator for one in self.encoders)
        fills = [one.fill for one in self.encoders]
        if not numbers or self.decimal != "." or None in fills:
            return None
        return np.array(fills, np.float64)

    def apply(
        self, columns: Sequence[Any], counts: CellCounts | None = None, *, single: bool = False
    ) -> tuple[NDArray[Any], bool]:
        """Return the features of rows.

        Parameters
        ----------
        columns : sequence of pyarrow.Array
            Those of `inputs`, their words as `tidy` returns them.
        counts : CellCounts, optional
            Counts cells that are filled in or hold an unknown category.
        single : bool, default False
            Whether to return float32 where that represents all values exactly.

        Returns
        -------
        rows : ndarray, shape (n, len(features)), float32 or float64
        is_fine : bool
            Whether all values are finite and not too large for float32.

        Raises
        ------
        BadCellError
            If a cell cannot become a number.
        """
        found = [
            one.encode(column, self.decimal, counts)
            for one, column in zip(self.encoders, columns, strict=True)
        ]
        return joined(found, single=single)

    def described(self) -> list[str]:
        """Return what becomes of the columns that are not plain numbers, for users."""
        texts = [(one.name, described(one)) for one in self.encoders]
        return [f"{name}: {text}" for name, text in texts if text is not None]

    def to_json(self) -> dict[str, Any]:
        """Return JSON values, for `from_json`."""
        return {
            "encoders": [one.to_json() for one in self.encoders],
            "decimal": self.decimal,
            "has_names": self.has_names,
            **({} if self.missing_words is None else {"missing_words": [*self.missing_words]}),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> ColumnPreparation | None:
        """Return a preparation from the result of `to_json`; None of None."""
        if value is None:
            return None
        encoders = tuple(Encoder.from_json(one) for one in value["encoders"])
        words = value.get("missing_words")
        return cls(
            encoders,
            str(value["decimal"]),
            bool(value["has_names"]),
            None if words is None else tuple(map(str, words)),
        )
