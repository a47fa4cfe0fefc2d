"""A copy of the parsed columns of a text, so that it is parsed once."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

LOOKED_AT = 256
"""First numbers of a column, which mostly show whether all are whole."""


class CopiedBatches:
    """Batches of columns of words or of numbers (float64) in an anonymous file, in Arrow's format.

    Its folder is that for temporary files, which ``TMPDIR`` sets.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="dcsvm-")  # noqa: SIM115 - closed at the end
        weakref.finalize(self, self._file.close)
        self._sizes: list[int] = []

    def append(self, batch: Sequence[Any]) -> None:
        """Add the columns of consecutive rows."""
        import pyarrow as pa

        columns = pa.record_batch(list(map(_narrowed, batch)), [str(k) for k in range(len(batch))])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, columns.schema) as writer:
            writer.write_batch(columns)
        self._sizes.append(self._file.write(sink.getvalue()))

    def batches(self) -> Iterator[list[Any]]:
        """Yield the batches in order."""
        import pyarrow as pa

        start = 0
        for size in self._sizes:
            self._file.seek(start)
            start += size
            copied = pa.ipc.open_stream(self._file.read(size)).read_next_batch().columns
            yield [one.cast(pa.float64()) if one.type == pa.int16() else one for one in copied]


def _narrowed(column: Any) -> Any:
    """Return a column of small whole numbers in a quarter of its bytes; others as they are."""
    import pyarrow as pa

    if column.type != pa.float64():
        return column
    try:
        column[:LOOKED_AT].cast(pa.int16())
        return column.cast(pa.int16())
    except pa.ArrowInvalid:
        return column
