"""What all tables have in common whose columns are read as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

from dcsvm_dask.readers.source import Reading


class RawTable(Protocol):
    """A table whose columns are read as they are, batch by batch, more than once."""

    name: str
    names: list[str] | None
    """Names of the columns; None if they have none."""
    n_columns: int
    is_text: bool
    """Whether it is parsed text, in which columns may be read as numbers or as words."""
    reading: Reading
    """How the table is read, but for its label."""

    def batches(self, wanted: Sequence[int], numbers: Collection[int] = ()) -> Iterator[list[Any]]:
        """Yield some columns of consecutive rows, each a `pyarrow.Array`.

        Parameters
        ----------
        wanted : sequence of int
            Positions of the columns.
        numbers : collection of int
            Those whose text is read as numbers, which is faster than as words, up to the first
            cell that is none.
        """

    def where(self, row: int) -> str:
        """Return where a row stands, for messages."""


def numbered(row: int) -> str:
    """Return where a row stands in a table without lines."""
    return f"row {row} (counted from 0)"
