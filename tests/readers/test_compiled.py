"""The parsers compile each function once for a type of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from dcsvm_dask.readers import svmlight_parse, table_parse


def parse_table(dtype: Any) -> None:
    text = np.frombuffer(b'1,"2.5",a\n3,4,5\n' + b"\n" * 16, np.uint8).copy()
    rows, labels, keys = np.empty((9, 2), dtype), np.empty(9), np.empty(9, np.uint64)
    targets, spans, slow = np.array([0, 1, -1]), np.empty((9, 2), np.int64), np.empty((9, 4), int)
    table_parse.parse_table(text, text.size - 16, 44, targets, rows, labels, keys, spans, slow)
    np.testing.assert_array_equal(rows[:2], [[1, 2.5], [3, 4]])


def parse_lines(dtype: Any) -> None:
    text = np.frombuffer(b"1 1:2 3:4.5\n" + b"\n" * 16, np.uint8).copy()
    labels, indptr, indices = np.empty(9), np.empty(9, np.int64), np.empty(9, np.int32)
    data, slow = np.empty(9, dtype), np.empty((9, 3), int)
    svmlight_parse.parse_lines(text, text.size - 16, labels, indptr, indices, data, slow)
    np.testing.assert_array_equal(data[:2], [2, 4.5])


@pytest.mark.parametrize(
    ("module", "parse", "per_type"),
    [
        (table_parse, parse_table, {"parse_table", "_parse_row"}),
        (svmlight_parse, parse_lines, {"parse_lines", "_parse_pairs"}),
    ],
)
def test_only_what_stores_values_is_compiled_for_each_type(
    module: Any, parse: Any, per_type: set[str]
) -> None:
    for dtype in (np.float32, np.float64):
        parse(dtype)
    for name, function in vars(module).items():
        if isinstance(function, Dispatcher) and function.py_func.__module__ == module.__name__:
            assert len(function.signatures) <= (2 if name in per_type else 1), name
