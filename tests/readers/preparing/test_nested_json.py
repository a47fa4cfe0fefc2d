"""Lists and objects in JSON lines are refused by their column and line, unless it is left out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError


def written(folder: Path, **odd: Any) -> Path:
    """Return lines of which the eighth has other values."""
    rows: list[dict[str, Any]] = [
        {"a": k / 2, "b": k % 5, "c": "pq"[k % 2], "y": k // 2 % 2} for k in range(30)
    ]
    rows[7] |= odd
    path = folder / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


@pytest.mark.parametrize(
    ("odd", "column", "what"),
    [
        ({"b": [1, 2]}, "b", "a list"),
        ({"b": []}, "b", "a list"),
        ({"c": {"x": 1}}, "c", "an object"),
        ({"c": ["p"]}, "c", "a list"),
        ({"y": [1]}, "y", "a list"),
    ],
)
def test_one_cell(odd: Any, column: str, what: str, tmp_path: Path) -> None:
    path = written(tmp_path, **odd)
    message = (
        f"{path}, line 8: the column {column!r} has {what}, of which no number can be made: leave "
        f"features out (--drop {column}), or write their values under keys of their own"
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        ingest(path, tmp_path / "d.zarr", label="y", one_hot="auto")
    if column != "y":
        data = ingest(path, tmp_path / "d.zarr", label="y", one_hot="auto", drop=[column])
        assert data.n_rows == 30


def test_whole_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [
        {"a": k / 2, "tags": None if k == 0 else [k], "at": {"x": k}, "y": k % 2} for k in range(30)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    message = (
        r"line 1: the column 'at' has an object, .* leave features out \(--drop tags,at\), or write"
    )
    with pytest.raises(InputError, match=message):
        ingest(path, tmp_path / "d.zarr", label="y")
    data = ingest(path, tmp_path / "d.zarr", label="y", drop=["tags", "at"])
    assert data.feature_names == ["a"]


def test_a_late_line_that_is_no_object(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [f'{{"a": {k}.5, "y": {k % 2}}}' for k in range(1200)]
    path.write_text("\n".join([*lines, "[1, 2]"]) + "\n")
    with pytest.raises(InputError, match=r"line 1201: is not a JSON object, such as"):
        ingest(path, tmp_path / "d.zarr", label="y")
