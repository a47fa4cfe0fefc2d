"""Columns of text whose dots may separate thousands, and targets whose commas may not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.readers.preparing.cells import doubtful_comma, with_minus
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.doubts import of_commas
from dcsvm_dask.readers.preparing.source import PreparedSource
from dcsvm_dask.readers.preparing.text_columns import columns_of_text, table_of_text
from dcsvm_dask.readers.preparing.words import different, tidy
from dcsvm_dask.readers.source import Reading, Source

DOTTED = r"^[+-]?\D?\s?[+-]?[1-9]\d{0,2}(\.\d{3})+\s?\D?$"
WHOLE = r"^[+-]?\D?\s?[+-]?\d{1,3}\s?\D?$"
"""Numbers without and with thousands, perhaps with the sign of a currency."""


def thousands_doubts(
    source: Source, features: Sequence[int], rows: NDArray[np.float64] | None = None
) -> list[str]:
    """Return a sentence for each column whose dots may all separate thousands.

    Each of its values with a dot has three digits after it and no leading zero, and the others are
    whole numbers of up to three digits.

    Parameters
    ----------
    source : Source
        Of anything but delimited text there are no sentences.
    features : sequence of int
        Features with whole numbers and others.
    rows : ndarray, shape (n, n_features), float64, optional
        Some rows as they were read. Text is read again of the features alone that have no other
        values here, and no further than needed.
    """
    fills = source.fills_of_numbers() if isinstance(source, PreparedSource) else {}
    if rows is not None and rows.size:
        features = [j for j in features if _may_be_thousands(rows[:, j], fills.get(j))]
    return _sentences(columns_of_text(source, features))


def _may_be_thousands(values: NDArray[np.float64], fill: float | None) -> bool:
    """Return whether values, perhaps rounded to float32, are whole or above 1 in thousandths.

    The value that fills in missing cells, a median, may be anything.
    """
    if fill is not None:
        values = values[values.astype(np.float32) != np.float32(fill)]
    thousands = 1000.0 * values
    size = np.abs(values)
    rounding = 2.0**-23 * np.abs(thousands) + 1e-9
    thousandths = np.abs(thousands - np.rint(thousands)) <= rounding
    return bool(((values == np.rint(values)) | (thousandths & (size > 1.0))).all())


def thousands_doubts_of_target(source: Source, targets: NDArray[np.float64]) -> list[str]:
    """Return the same of the column of targets: a sentence, or none.

    Parameters
    ----------
    source : Source
    targets : ndarray, shape (n,), float64
        Some of them as they were read: the text is read again only where these are whole numbers
        and such with three decimals.
    """
    whole = targets == np.rint(targets)
    thousandths = np.isclose(1000.0 * targets, np.rint(1000.0 * targets), rtol=0.0, atol=1e-6)
    small = np.abs(targets) < 1000.0
    if whole.all() or not (whole.any() and (thousandths & small).all()):
        return []
    return _sentences(_target(source))


def commas_doubts_of_target(source: Source) -> list[str]:
    """Return a sentence where the commas of the targets may begin the decimals; see `of_commas`."""
    for table, name, column in _target(source):
        sample, is_clear = None, False
        for (cells,) in table.batches([column]):
            found, clear = doubtful_comma(different(tidy(cells, table.missing_words))[0])
            sample, is_clear = sample or found, is_clear or clear
        if sample is not None and not is_clear:
            return [of_commas(name, sample)]
    return []


def _target(source: Source) -> list[tuple[CsvTable, str, int]]:
    """Return the table, the name and the position of the column of targets of a text."""
    table, label = table_of_text(source), getattr(source, "reading", Reading("")).label
    if table is None or label is None or label not in (table.names or ()):
        return []
    return [(table, label, (table.names or []).index(label))]


def _sentences(columns: Iterable[tuple[CsvTable, str, int]]) -> list[str]:
    chosen = list(columns)
    if not chosen:
        return []
    table = chosen[0][0]
    samples = _samples(table, [column for _, _, column in chosen])
    return [
        f"the values of the column {name!r} with a dot, such as {samples[column]!r}, all have "
        "three digits after it, and others are whole numbers; they are read as decimals: where "
        f"dots separate thousands, {_remedy(table)}"
        for _, name, column in chosen
        if column in samples
    ]


def _samples(table: CsvTable, columns: Sequence[int]) -> dict[int, str]:
    """Return a value with a dot of each column whose dots may separate thousands."""
    wanted, samples, with_whole = list(columns), dict[int, str](), set[int]()
    for batch in table.batches(wanted):
        for column, cells in zip(tuple(wanted), batch, strict=True):
            words = different(tidy(cells, table.missing_words))[0].drop_null()
            dotted, whole = _are_thousands(words)
            if not (dotted | whole).all():
                wanted.remove(column)
                continue
            if whole.any():
                with_whole.add(column)
            if dotted.any() and column not in samples:
                samples[column] = words[int(np.argmax(dotted))].as_py()
        if not wanted:
            break
    return {
        column: samples[column] for column in wanted if column in samples and column in with_whole
    }


def _are_thousands(words: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which words are numbers with dots between thousands, and which are below 1,000."""
    import pyarrow.compute as pc

    signed = with_minus(words)
    dotted = np.asarray(pc.match_substring_regex(signed, pattern=DOTTED))
    return dotted, np.asarray(pc.match_substring_regex(signed, pattern=WHOLE))


def _remedy(table: CsvTable) -> str:
    if table.reading.separator == ",":
        return "write them without"
    return "give --decimal , (in Python decimal=',')"
