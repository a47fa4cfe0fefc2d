"""Columns of text whose dots are read as decimal points and may separate thousands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.preparing.words import different, tidy
from dcsvm_dask.readers.source import Source
from dcsvm_dask.readers.table import TableSource

DOTTED = r"^\D?\s?[+-]?[1-9]\d{0,2}(\.\d{3})+\s?\D?$"
WHOLE = r"^\D?\s?[+-]?\d{1,3}\s?\D?$"
"""Numbers without and with thousands, perhaps with the sign of a currency."""


def thousands_doubts(source: Source, features: Sequence[int]) -> list[str]:
    """Return a sentence for each column whose dots may all separate thousands.

    Each of its values with a dot has three digits after it and no leading zero, and the others are
    whole numbers of up to three digits.

    Parameters
    ----------
    source : Source
        Of anything but delimited text there are no sentences.
    features : sequence of int
        Features with whole numbers and others. Their text is read again, of most columns up to the
        end of its first block.
    """
    found = []
    for table, name, column in _columns(source, features):
        sample = _sample(table, column)
        if sample is not None:
            found.append(
                f"the values of the column {name!r} with a dot, such as {sample!r}, all have three "
                "digits after it, and others are whole numbers; they are read as decimals: where "
                f"dots separate thousands, {_remedy(table)}"
            )
    return found


def _columns(source: Source, features: Sequence[int]) -> Iterator[tuple[CsvTable, str, int]]:
    """Yield the table, the name and the position of each feature's column."""
    if isinstance(source, PreparedSource):
        numbers = source.columns_of_numbers()
        table = source.table
    elif isinstance(source, TableSource) and source.feature_names is not None:
        numbers = dict(enumerate(zip(source.feature_names, source.columns, strict=True)))
        try:
            table = CsvTable(source.name, header=True, encoding=source.encoding)
        except InputError:  # cells are separated by blanks
            return
    else:
        return
    if isinstance(table, CsvTable):
        for feature in features:
            if feature in numbers:
                yield table, *numbers[feature]


def _sample(table: CsvTable, column: int) -> str | None:
    """Return a value of a column with a dot; None where its dots are decimal points."""
    import pyarrow.compute as pc

    sample, has_whole = None, False
    for (cells,) in table.batches([column]):
        words = different(tidy(cells, table.missing_words))[0].drop_null()
        dotted = pc.match_substring_regex(words, pattern=DOTTED)
        whole = pc.match_substring_regex(words, pattern=WHOLE)
        if not pc.all(pc.or_(dotted, whole), min_count=0).as_py():
            return None
        has_whole |= bool(pc.any(whole).as_py())
        if sample is None:
            sample = next(iter(words.filter(dotted).to_pylist()), None)
    return sample if has_whole else None


def _remedy(table: CsvTable) -> str:
    if table.reading.separator == ",":
        return "write them without"
    return "give --decimal , (in Python decimal=',')"
