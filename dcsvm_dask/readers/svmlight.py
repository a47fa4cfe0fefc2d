"""svmlight / LIBSVM text as a source of sparse rows.

Memory: that of a block of text (see files.py); a pair takes at least four bytes of text and
becomes eight. No array is as long as an index, so features may be numbered up to 2,147,483,646;
arrays with a number for each feature (scaling, dense rows) are compared with the memory bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels.rows import Rows
from dcsvm_dask.readers import svmlight_parse as parse
from dcsvm_dask.readers.encoding import find_encoding, shown_encoding
from dcsvm_dask.readers.files import count_lines, read_head, show, text_blocks, word_at
from dcsvm_dask.readers.lines import line_of_row
from dcsvm_dask.readers.preparing.cells import hint_for_dash
from dcsvm_dask.readers.source import SVMLIGHT, Block, Reading

_MESSAGES = {
    parse.BAD_LABEL: "the label is not a number: {word}; number the classes in this "
    "format, and write 0 where one is not known",
    parse.BAD_PAIR: "index:value was expected, got {word}",
    parse.BAD_INDEX: "the index is not in 0..2147483646: {word}",
    parse.BAD_VALUE: "the value is not a number: {word}",
    parse.NOT_ASCENDING: "indices must ascend within a line: {word}",
    parse.TWO_LABELS: "several labels a row are not supported: {word}",
    parse.NOT_FINITE: "the value is NaN, infinite or too large for float32: {word}",
}

_EXACT = 2.0**53
"""Below, float64 represents every whole number."""


class SvmlightSource:
    """Rows of a text file in svmlight / LIBSVM format, plain or compressed.

    Indices count from 1, as LIBSVM writes them, unless an index 0 occurs anywhere in the file:
    then they count from 0 (the rule of scikit-learn's ``load_svmlight_file``).

    Parameters
    ----------
    path : str
        Local path or URL.
    n_features : int, optional
        Number of features, if it is known; by default given by the greatest index.
    first_feature : {0, 1}, optional
        Index of the first feature, if it is known.
    encoding : str, optional
        Encoding of a file without a byte order mark; UTF-8 by default.

    Attributes
    ----------
    first_feature : int
        Column of the blocks that is feature 0. Blocks have raw indices as columns, so this is 1
        or 0; it is final after a pass over the file. Always 0 if both parameters are given: then
        blocks are final.
    n_named : int
        Number of features up to the greatest index of the rows that were read.
    """

    parses = True
    is_sparse = True
    feature_names: list[str] | None = None

    def __init__(
        self,
        path: str,
        *,
        n_features: int | None = None,
        first_feature: int | None = None,
        encoding: str | None = None,
    ) -> None:
        self.name = path
        self._encoding = encoding
        self._form: type = np.float32  # dtype of values, float64 once it is needed
        codec = find_encoding(read_head(path, 4), encoding)
        self.reading = Reading(SVMLIGHT, encoding=shown_encoding(codec))
        self.n_features = n_features
        self._final = n_features is not None and first_feature is not None
        self._base = first_feature
        self.first_feature = 0 if self._final else 1
        self.n_named = 0

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order; their width is the greatest index so far."""
        widest = 0
        base = 1 if self._base is None else self._base
        rows_read = 0
        for text, line in text_blocks(self.name, encoding=self._encoding):
            labels, rows, low, high = self._parse(text, line)
            rows_read += labels.size
            widest = max(widest, high + 1)
            self.n_named = max(self.n_named, high + 1 - base)
            if self._final:
                yield self._finish(rows, rows_read - labels.size, low, high, base), labels
                continue
            if low == 0:
                if self._base == 1:
                    raise InputError(f"{self.name}: index 0 occurs, but indices count from 1")
                base, self.n_named = 0, widest
            self.first_feature = base
            yield (
                sparse.csr_array((rows.data, rows.indices, rows.indptr), (labels.size, widest)),
                labels,
            )
        if rows_read == 0:
            raise InputError(f"{self.name}: empty: it holds no rows")

    def where(self, row: int) -> str:
        """Return the line of a row."""
        return line_of_row(self.name, row, encoding=self._encoding, comment=b"#")

    def _finish(self, rows: Rows, first: int, low: int, high: int, base: int) -> Rows:
        assert self.n_features is not None
        if low < base or high - base >= self.n_features:
            wrong = low if low < base else high
            place = int(np.flatnonzero(rows.indices == wrong)[0])
            row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
            remedy = (
                "leave such features out, or train on rows that have them"
                if low >= base
                else "count its indices from 1, as those of the training data"
            )
            raise InputError(
                f"{self.name}, {self.where(first + row)}: index {wrong} occurs, but the "
                f"{self.n_features} features are {base}..{self.n_features - 1 + base}; {remedy}"
            )
        return sparse.csr_array(
            (rows.data, rows.indices - np.int32(base), rows.indptr),
            (rows.shape[0], self.n_features),
        )

    def _parse(self, text: NDArray[np.uint8], line: int) -> tuple[NDArray[Any], Rows, int, int]:
        end = text.size - 16
        lines = count_lines(text, end)
        room = int(np.count_nonzero(text == 58))
        labels = np.empty(lines)
        indptr = np.empty(lines + 1, np.int64)
        indices = np.empty(room, np.int32)
        data: NDArray[Any] = np.empty(room, self._form)
        slow = np.empty((64, 3), np.int64)
        while True:
            found = parse.parse_lines(text, end, labels, indptr, indices, data, slow)
            n, pairs, n_slow, low, high, status, where = found
            if status == parse.INEXACT:  # probably also in the following blocks
                self._form, data = np.float64, np.empty(room, np.float64)
            elif n_slow > len(slow):
                slow = np.empty((n_slow, 3), np.int64)
            else:
                break
        if status != parse.OK:
            text_of_error = _MESSAGES[status].format(word=show(text, where))
            text_of_error += hint_for_dash(word_at(text, where))
            raise InputError(
                f"{self.name}, line {line + count_lines(text, where)}: {text_of_error}"
            )
        for target, start, stop in slow[:n_slow].tolist():
            value = float(bytes(text[start:stop]))
            if target < 0:
                labels[-1 - target] = value
            else:
                data[target] = value
        if n and np.abs(labels[:n]).max() >= _EXACT:
            self._refuse_rounded(text, line)
        rows = sparse.csr_array(
            (data[:pairs], indices[:pairs], indptr[: n + 1].astype(np.int32)),
            (n, max(0, high) + 1),
        )
        return labels[:n], rows, low, high

    def _refuse_rounded(self, text: NDArray[np.uint8], line: int) -> None:
        """Raise an error for a label with more digits than float64 represents: two could become
        equal.
        """
        for number, row in enumerate(text.tobytes().split(b"\n"), line):
            word = row.split(None, 1)[:1]
            try:
                label = int(word[0]) if word else 0
                rounded = float(label) != label
            except (ValueError, OverflowError):  # not a whole number, or infinite
                continue
            if rounded:
                raise InputError(
                    f"{self.name}, line {number}: the label has more digits than float64 "
                    f"holds: {word[0][:40].decode()!r}"
                )
