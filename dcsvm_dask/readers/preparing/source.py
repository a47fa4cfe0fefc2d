"""A table as a source of numbers: its columns are prepared as they are read."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.columns import Expected
from dcsvm_dask.readers.preparing.almost_numbers import HEADER_AGAIN
from dcsvm_dask.readers.preparing.cell_counts import CellCounts
from dcsvm_dask.readers.preparing.cells import (
    empty_words,
    hint_for_words,
    is_text,
    missing_of,
    numbers_of,
)
from dcsvm_dask.readers.preparing.choices import Choices
from dcsvm_dask.readers.preparing.column_facts import ColumnFacts, check_kept
from dcsvm_dask.readers.preparing.copied import CopiedBatches
from dcsvm_dask.readers.preparing.csv_tables import CsvTable
from dcsvm_dask.readers.preparing.doubts import LaterCommas, LaterShares, NaCells, doubts
from dcsvm_dask.readers.preparing.encoders import NUMBER, BadCellError
from dcsvm_dask.readers.preparing.label_values import label_values
from dcsvm_dask.readers.preparing.later_flags import LaterFlags
from dcsvm_dask.readers.preparing.layout import layout_of, plain_columns
from dcsvm_dask.readers.preparing.learning import encoder_of, refuse_unknown
from dcsvm_dask.readers.preparing.preparation import ColumnPreparation
from dcsvm_dask.readers.preparing.raw import RawTable
from dcsvm_dask.readers.preparing.refusals import (
    LISTED,
    check_extra_lines,
    check_types,
    further_columns,
    hint_for_category,
    refused,
)
from dcsvm_dask.readers.preparing.words import coded, different, tidy
from dcsvm_dask.readers.source import NO_LABEL_REMEDY, Block, finish_block

LOOKED_AT = 1000
"""First cells of a column by which it is read as numbers or not."""
Chosen = Callable[[int, int], NDArray[np.bool_]]
"""Returns which of the rows start:stop are training rows."""


class PreparedSource:
    """Rows of a table whose columns are made numbers.

    Parameters
    ----------
    table : RawTable
    choices : Choices
        What is done with the columns of a training table.
    label : str or int, optional
        Name or position of the label column; see `columns` for the default.
    expected : Expected, optional
        Columns of the training table with their preparation, for later rows.
    labelled : bool, default True
        Whether to read labels, where there are any.
    drop : sequence of str
        Names of columns to leave out.
    y : array, shape (n,), optional
        Labels that are no column.

    Attributes
    ----------
    table : RawTable
    preparation : ColumnPreparation or None
        None until `learn` was called.
    doubts : list of str
        Sentences about columns that may mean something else than what they became.
    cells : CellCounts
        Of the rows that `blocks` has yielded.
    later_doubts : list of str
        Sentences about columns of later rows, after `blocks`.
    flags : list of int
        Features of later rows that are numbers, and whose cells are yes and no, after `blocks`.
    """

    parses = True
    is_sparse = False

    def __init__(
        self,
        table: RawTable,
        *,
        choices: Choices | None = None,
        label: str | int | None = None,
        expected: Expected | None = None,
        labelled: bool = True,
        drop: Sequence[str] = (),
        y: NDArray[Any] | None = None,
    ) -> None:
        self.name, self.table, self._choices = table.name, table, choices or Choices()
        self._y = y
        self.doubts: list[str] = []
        self.cells = CellCounts()
        self._is_later, self.later_doubts = expected is not None, list[str]()
        self.flags: list[int] = []
        self.preparation = None if expected is None else expected.columns or plain_columns(expected)
        chosen = self._choices if self.preparation is None else self.preparation
        self._missing = empty_words(chosen.missing_words)
        known = None
        if self.preparation is not None:
            assert expected is not None
            inputs = self.preparation.inputs
            named = inputs if self.preparation.has_names else None
            known = Expected(len(inputs), named, expected.label, expected.position)
        elif y is not None:
            kept = [name for name in table.names or () if name not in drop]
            known = Expected(len(kept), kept)
        learned = self.preparation is not None
        self._layout = layout_of(table, self._choices, known, label, drop, learned=learned)
        if not self._layout.features:
            raise InputError(f"{table.name}: no column is left for features, beside the label")
        place = self._layout.label
        self._label = place if labelled and y is None else None
        names = table.names
        self.reading = replace(
            table.reading,
            label=None if names is None or place is None else names[place],
            position=self._layout.position,
        )
        self._described()

    def _described(self) -> None:
        made = self.preparation
        self.n_features: int | None = None if made is None else len(made.features)
        self.feature_names = None if made is None or not made.has_names else made.features

    @property
    def input_names(self) -> list[str]:
        """Names of the columns that are features, or their numbers from 1."""
        names = self._layout.names
        return names or [str(k + 1) for k in self._layout.features]

    def learn(self, chosen: Chosen | None = None) -> None:
        """Learn how the columns become numbers.

        Parameters
        ----------
        chosen : callable, optional
            Which rows are training rows; by default all are.

        Raises
        ------
        InputError
            If the choices leave open what to do with a column.
        """
        choices = self._choices
        refuse_unknown(self.name, choices, self.input_names)
        facts = self._collected(chosen)
        check_kept(facts, self.name)
        self._learn_from(facts)

    def _first_numbers(self) -> frozenset[int]:
        """Return the columns of text that are read as numbers."""
        choices, made = self._choices, self.preparation
        if not isinstance(self.table, CsvTable):
            return frozenset()
        if made is not None:
            plain = [one.is_plain_number and made.decimal == "." for one in made.encoders]
            return frozenset(itertools.compress(self._used(made), plain))
        if choices.decimal != ".":
            return frozenset()
        features = self._layout.features
        batch = self._tidied(self.table.beginning(features))
        names = dict(zip(self.input_names, zip(features, batch, strict=bool(batch)), strict=False))
        return frozenset(
            place
            for name, (place, column) in names.items()
            if name not in choices.named
            and not numbers_of(different(column[:LOOKED_AT])[0], ".")[1].any()
        )

    def _batches(self, wanted: Sequence[int], *, keep: bool = False) -> Iterator[list[Any]]:
        """Yield some columns of consecutive rows; of a text a copy is kept for the next time."""
        every = [*self._layout.features, *([] if self._label is None else [self._label])]
        if self._copy is not None:
            for batch in self._copy.batches():
                yield [batch[every.index(k)] for k in wanted]
            return
        copy = CopiedBatches() if keep and self.table.is_text else None
        asked = wanted if copy is None else every
        for batch in self.table.batches(asked, self._first_numbers()):
            columns = [coded(one) if is_text(one.type) else one for one in batch]
            if copy is not None:
                copy.append(columns)
            yield [columns[asked.index(k)] for k in wanted]
        if copy is not None:
            self._copy, self.parses = copy, False

    def _tidied(self, batch: Sequence[Any]) -> list[Any]:
        return [tidy(one, self._missing) for one in batch]

    def _collected(self, chosen: Chosen | None) -> list[ColumnFacts]:
        """Return the facts of the columns on the training rows."""
        choices, names = self._choices, self.input_names
        passed, self._na = 0, NaCells(names)
        keeps = choices.missing in ("median", "indicator")
        words = set(choices.named)
        facts = [
            ColumnFacts(
                name,
                as_words=name in words,
                decimal=choices.decimal,
                keeps=keeps,
                is_text=self.table.is_text,
            )
            for name in names
        ]
        start, self._no_label = 0, None
        labels = [] if self._label is None else [self._label]
        for found in self._batches([*self._layout.features, *labels], keep=True):
            cells = found[: len(facts)]
            check_types(self.name, self.input_names, cells)
            self._na.update(cells)
            n = len(cells[0])
            batch, rows = self._without_missing(self._tidied(cells), np.arange(start, start + n))
            if labels and self._no_label is None:
                self._no_label = self._first_without_label(self._tidied(found[-1:])[0], rows, start)
            if chosen is not None:
                # Rows are counted as `blocks` yields them.
                mask = chosen(passed, passed + len(rows))
                passed += len(rows)
                batch = [column.filter(_mask(mask)) for column in batch]
                rows = rows[mask]
            for one, column in zip(facts, batch, strict=True):
                one.update(column, rows)
            start += n
        if not start:
            raise InputError(f"{self.name}: empty: it holds no rows")
        self._n_rows = start
        return facts

    @staticmethod
    def _first_without_label(labels: Any, rows: NDArray[np.int64], start: int) -> int | None:
        """Return the first of some rows of a batch, which begins at `start`, without a label."""
        missing = missing_of(labels)[rows - start]
        return int(rows[np.flatnonzero(missing)[0]]) if missing.any() else None

    def _learn_from(self, facts: list[ColumnFacts]) -> None:
        choices = self._choices
        check_extra_lines(self.table, facts, self._n_rows)
        encoders, errors, wrong, words = [], list[str](), list[str](), dict[str, None]()
        if self._no_label is not None:
            errors.append(self._without_label(self._no_label))
            wrong.append("the label")
        for one in facts:
            if one.is_empty:
                errors.append(f": the column {one.name!r} has no value in any row: --drop it")
                wrong.append(one.name)
                continue
            try:
                encoder = encoder_of(one, choices)
            except BadCellError as error:
                if error.problem == HEADER_AGAIN:  # so it is in all columns
                    raise refused(self.table, error, error.row) from error
                errors.append(str(refused(self.table, error, error.row)).removeprefix(self.name))
                wrong.append(one.name)
                words |= dict.fromkeys(error.words)
                continue
            except InputError as error:
                errors.append(f": {error}")
                wrong.append(one.name)
                continue
            if encoder is not None:
                encoders.append(replace(encoder, n_missing=one.n_missing))
        if errors:
            left = further_columns(self.name, wrong[LISTED:])
            hint = hint_for_words(
                list(words), choices.missing_words, refuses=choices.missing == "refuse"
            )
            if hint and len(errors) > 1:
                hint = f"\n{self.name}: {hint.removeprefix('; ')}"
            raise InputError("\n".join(self.name + one for one in errors[:LISTED]) + left + hint)
        if not encoders:
            raise InputError(f"{self.name}: no column is left as a feature")
        has_names = self.table.names is not None
        self.preparation = ColumnPreparation(
            tuple(encoders), choices.decimal, has_names, choices.missing_words
        )
        repeated = [name for name, n in Counter(self.preparation.features).items() if n > 1]
        if repeated:
            raise InputError(
                f"{self.name}: two features would be called {repeated[0]!r}; rename a column"
            )
        na = self._na if choices.missing_words is None else None
        table = self.table
        commas = isinstance(table, CsvTable) and table.reading.separator == ","
        self.doubts = doubts(facts, encoders, na, comma_separated=commas)
        self._described()

    _na: NaCells
    _n_rows = 0
    _no_label: int | None = None
    _copy: CopiedBatches | None = None

    def labels(self) -> Iterator[tuple[int, NDArray[Any] | None]]:
        """Yield how many rows `blocks` yields and their labels, batch by batch."""
        features = self._layout.features
        wanted = features if self._choices.missing == "drop" else features[:1]
        labels, start = [] if self._label is None else [self._label], 0
        for found in self._batches([*wanted, *labels], keep=True):
            batch = self._tidied(found)
            rows = np.arange(start, start + len(batch[0]))
            _, kept = self._without_missing(batch[: len(wanted)], rows)
            given = batch[-1].filter(_mask(np.isin(rows, kept)))
            start += len(rows)
            if labels and missing_of(given).any():
                self.learn()  # raises an error of that and of all columns
            yield len(kept), self._labels_of(given, kept)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        if self.preparation is None:
            self.learn()
        import pyarrow as pa

        made = self.preparation
        assert made is not None
        used = self._used(made)
        # A row is left out for a missing value in any feature, also in one that is no number.
        wanted = self._layout.features if self._choices.missing == "drop" else used
        labels = [] if self._label is None else [self._label]
        start, passed, self.cells, single = 0, 0, CellCounts(), True
        looks, flags = self._looks(made), LaterFlags(made.encoders)
        for found in self._batches([*wanted, *labels]):
            batch = self._tidied(found)
            columns, rows = batch[: len(wanted)], np.arange(start, start + len(batch[0]))
            kept, rows = self._without_missing(columns, rows)
            given = batch[-1]
            if len(rows) < len(given):
                given = given.take(pa.array(rows - start))
            start += len(batch[0])
            if not len(rows):
                continue
            try:
                parts = [kept[wanted.index(k)] for k in used]
                values, is_fine = made.apply(parts, self.cells, single=single)
                for look in looks:
                    look.update(parts)
                if self._is_later:
                    flags.update(parts)
            except BadCellError as error:
                raise refused(self.table, error, int(rows[error.row]), learned=True) from error
            if not is_fine:
                values = finish_block(values, self.name, passed, made.features)
            single = values.dtype == np.float32  # probably also in the following blocks
            passed += len(rows)
            yield values, self._labels_of(given, rows)
        if not start:
            raise InputError(f"{self.name}: empty: it holds no rows")
        self.n_left_out = start - passed
        self.later_doubts = [doubt for look in looks for doubt in look.doubts()]
        self.flags = sorted(flags.features)

    def _looks(self, made: ColumnPreparation) -> list[LaterCommas | LaterShares]:
        """Return what looks at later rows, which another program may have written."""
        if not self._is_later:
            return []
        if not isinstance(self.table, CsvTable):
            return [LaterShares(made.encoders)]
        commas = made.decimal == "." and self.table.reading.separator != ","
        return [LaterCommas(made.encoders)] if commas else []

    def where(self, row: int) -> str:
        """Return the line of a row that `blocks` yields."""
        if self._choices.missing == "drop":
            start, passed = 0, 0
            for batch in self._batches(self._layout.features):
                every = np.arange(start, start + len(batch[0]))
                _, kept = self._without_missing(self._tidied(batch), every)
                if row < passed + len(kept):
                    return self.table.where(int(kept[row - passed]))
                start, passed = start + len(every), passed + len(kept)
        return self.table.where(row)

    def columns_of_numbers(self) -> dict[int, tuple[str, int]]:
        """Return the name and the position of the column of each feature that is its number.

        Where a comma begins the decimals there are none.
        """
        made = self.preparation
        if made is None or made.decimal != ".":
            return {}
        found, feature = {}, 0
        for one, place in zip(made.encoders, self._used(made), strict=True):
            if one.kind == NUMBER:
                found[feature] = one.name, place
            feature += len(one.features)
        return found

    def fills_of_numbers(self) -> dict[int, float]:
        """Return what fills in missing cells of each feature that is a column's number."""
        made = self.preparation
        if made is None:
            return {}
        found, feature = dict[int, float](), 0
        for one in made.encoders:
            if one.kind == NUMBER and isinstance(one.fill, float):
                found[feature] = one.fill
            feature += len(one.features)
        return found

    def _used(self, made: ColumnPreparation) -> list[int]:
        """Return the positions of the columns that become features."""
        names, features = self.input_names, self._layout.features
        return [features[names.index(name)] for name in self._inputs(made)]

    def _inputs(self, made: ColumnPreparation) -> list[str]:
        """Return the inputs by the names that this table's columns have here."""
        if made.has_names and self.table.names is not None:
            return made.inputs
        if self.input_names == made.inputs or len(self.input_names) != len(made.inputs):
            return [name for name in made.inputs if name in self.input_names]
        return self.input_names

    def _labels_of(self, given: Any, rows: NDArray[np.int64]) -> NDArray[Any] | None:
        if self._y is not None:
            return np.asarray(self._y)[rows]
        if self._label is None:
            return None
        missing = missing_of(given)
        if missing.any():
            first = int(rows[np.flatnonzero(missing)[0]])
            raise InputError(f"{self.name}{self._without_label(first)}")
        made = self._choices if self.preparation is None else self.preparation
        return label_values(given, made.decimal, self.name)

    def _without_label(self, row: int) -> str:
        message = f", {self.table.where(row)}: the label is empty"
        if isinstance(self.table, CsvTable) and self._label is not None:
            word = self.table.cell(row, self._label).strip()
            if word:
                return f"{message} ({word!r}); {NO_LABEL_REMEDY}{hint_for_category(word, 'class')}"
        return f"{message}; {NO_LABEL_REMEDY}"

    def _without_missing(
        self, batch: list[Any], rows: NDArray[np.int64]
    ) -> tuple[list[Any], NDArray[np.int64]]:
        """Return a batch without rows that have a missing cell, where these are dropped."""
        if self._choices.missing != "drop":
            return batch, rows
        missing = np.any([missing_of(column) for column in batch], axis=0)
        if not missing.any():
            return batch, rows
        return [column.filter(_mask(~missing)) for column in batch], rows[~missing]


def _mask(values: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(values)
