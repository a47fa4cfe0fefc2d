"""Tables as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json

import numpy as np

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.every import tables
from dcsvm_dask.diagnostics.report.tables.table import table, to_csv


def test_tables_are_json_and_csv(trained: api.Run) -> None:
    found = tables(trained.folder)
    json.dumps(found, allow_nan=False)
    for name, columns in found.items():
        lengths = {len(values) for values in columns.values()}
        assert len(lengths) == 1, name
        read = list(csv.reader(io.StringIO(to_csv(columns))))
        assert read[0] == list(columns)
        assert len(read) == lengths.pop() + 1
    objective = found["history"]["objective"]
    read = list(csv.DictReader(io.StringIO(to_csv(found["history"]))))
    assert [float(row["objective"]) for row in read] == objective


def test_a_table_has_no_value_where_a_number_is_not_finite() -> None:
    found = table(("a", "b"), [{"a": np.float64("nan"), "b": np.int64(2)}, {"a": float("inf")}])
    assert found == {"a": [None, None], "b": [2, None]}
    assert to_csv(table(("a",), [{"a": 'x,"y"'}])) == 'a\n"x,""y"""\n'
