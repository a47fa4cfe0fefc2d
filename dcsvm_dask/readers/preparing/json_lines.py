"""Lines of JSON objects as columns."""

from __future__ import annotations

import io
import itertools
import json
import shlex
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.encoding import shown_encoding
from dcsvm_dask.readers.files import read_top, text_blocks
from dcsvm_dask.readers.source import Reading

LOOKED_AT = 1000
"""Lines at the beginning by which the columns are known."""


class JsonLinesTable:
    """A text file with a JSON object in each line.

    Parameters
    ----------
    path : str
        Local path or URL.
    encoding : str, optional
        Encoding of a file without a byte order mark.
    """

    is_text = False

    def __init__(self, path: str, *, encoding: str | None = None) -> None:
        self.name, self._encoding = path, encoding
        self._last = dict[int, Any]()
        text, codec = read_top(path, encoding)
        if text.lstrip(" \t\r\n\ufeff").startswith("["):
            raise InputError(
                f"{path}: holds one JSON array; write an object in each line "
                "(in pandas to_json(FILE, orient='records', lines=True))"
            )
        names: dict[str, None] = {}
        for line, value in itertools.islice(self._objects(), LOOKED_AT):
            if value and all(isinstance(cell, list | dict) for cell in value.values()):
                raise InputError(
                    f"{path}, line {line}: has the values of whole columns; write an object in "
                    "each line (in pandas to_json(FILE, orient='records', lines=True))"
                )
            names.update(dict.fromkeys(value))
        self.names: list[str] | None = list(names)
        self.n_columns = len(names)
        self.reading = Reading("JSON lines", encoding=shown_encoding(codec))

    def batches(
        self,
        wanted: Sequence[int],
        numbers: Collection[int] = (),  # noqa: ARG002 - its columns have types
    ) -> Iterator[list[Any]]:
        """Yield columns of consecutive rows."""
        import pyarrow as pa
        from pyarrow import json as pa_json

        names = self.names or []
        for text, line in text_blocks(self.name, encoding=self._encoding):
            lines = text[:-16].tobytes()
            if not lines.strip():
                continue
            try:
                table = pa_json.read_json(io.BytesIO(lines)).combine_chunks()
                found = {name: table.column(name) for name in table.column_names}
                n, keys = table.num_rows, set(table.column_names)
                nested = {name for name, one in found.items() if pa.types.is_nested(one.type)}
            except pa.ArrowInvalid:  # values of several types in a column
                rows = [value for _, value in self._parsed(lines, line)]
                n, keys = len(rows), set().union(*rows)
                nested = {name for row in rows for name, one in row.items() if _is_nested(one)}
                found = {name: _as_words([row.get(name) for row in rows]) for name in names}
            if not keys <= set(names):
                self._refuse_late(lines, line)
            if nested := nested.intersection(names[k] for k in wanted):
                self._refuse_nested(lines, line, nested)
            cells = {k: found[name] for k, name in enumerate(names) if name in found}
            self._last = {k: column[n - 1].as_py() for k, column in cells.items()}
            columns = []
            for k in wanted:
                column = found.get(names[k], pa.nulls(n))
                column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
                columns.append(column.chunk(0) if hasattr(column, "chunk") else column)
            yield columns

    def last_words(self) -> dict[int, str]:
        """Return the words of the last row that was read by their columns."""
        return {k: cell for k, cell in self._last.items() if isinstance(cell, str)}

    def _refuse_late(self, lines: bytes, first: int) -> None:
        """Raise an error that names a key that is no column, and its line."""
        for number, value in self._parsed(lines, first):
            late = next((key for key in value if key not in (self.names or [])), None)
            if late is not None:
                raise InputError(
                    f"{self.name}, line {number}: has the key {late!r}, which none of the first "
                    f"{LOOKED_AT:,} lines has: those say which columns there are; give one of them "
                    "the key as well, with null for an empty cell, or leave it out everywhere"
                )

    def _refuse_nested(self, lines: bytes, first: int, nested: Collection[str]) -> None:
        """Raise an error that names columns with lists or objects, and the line of the first."""
        for number, value in self._parsed(lines, first):
            for name in value:
                if name in nested and _is_nested(value[name]):
                    what = "a list" if isinstance(value[name], list) else "an object"
                    others = [one for one in self.names or [] if one in nested]
                    raise InputError(
                        f"{self.name}, line {number}: the column {name!r} has {what}, of which no "
                        f"number can be made: leave features out (--drop "
                        f"{shlex.quote(','.join(others))}), or write their values under keys of "
                        "their own (in pandas json_normalize)"
                    )

    def where(self, row: int) -> str:
        """Return the line of a row."""
        found = next(itertools.islice(self._objects(), row, None), None)
        return f"row {row}" if found is None else f"line {found[0]}"

    def _objects(self) -> Iterator[tuple[int, Any]]:
        for text, line in text_blocks(self.name, encoding=self._encoding):
            yield from self._parsed(text[:-16].tobytes(), line)

    def _parsed(self, lines: bytes, first: int) -> Iterator[tuple[int, Any]]:
        """Yield the number and the value of each line that is not blank."""
        for number, line in enumerate(lines.split(b"\n"), first):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{self.name}, line {number}: is not JSON: {error}") from error
            if not isinstance(value, dict):
                where = f"{self.name}, line {number}"
                raise InputError(f'{where}: is not a JSON object, such as {{"a": 1}}')
            yield number, value


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | dict)


def _as_words(values: list[Any]) -> Any:
    import pyarrow as pa

    plain = [one if one is None or isinstance(one, str) else json.dumps(one) for one in values]
    return pa.array(plain, pa.string())
