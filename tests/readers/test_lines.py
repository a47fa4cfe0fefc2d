"""Labels and targets that cannot be used are named by their line and column."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.lines import RowError

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 2)).round(3)
BAD = 41


def written(folder: Path, kind: str, y: list[Any]) -> tuple[Path, int]:
    """Return a file with these labels, and the line of row `BAD`."""
    rows = list(zip(*X.T.tolist(), y, strict=True))
    if kind == "svm":
        lines = [f"{c} 1:{a} 2:{b}" for a, b, c in rows]
        lines[3:3] = ["# a comment", ""]
    elif kind == "jsonl":
        cells = [c if isinstance(c, float) else f'"{c}"' for *_, c in rows]
        lines = [
            f'{{"a": {a}, "b": {b}, "y": {c}}}' for (a, b, _), c in zip(rows, cells, strict=True)
        ]
        lines[3:3] = ["", ""]
    else:
        word = "k," if kind == "prepared" else ""
        lines = [
            f"{'pq'[k % 2] + ',' if word else ''}{a},{b},{c}" for k, (a, b, c) in enumerate(rows)
        ]
        lines[3:3] = ["", ""]
        lines.insert(0, f"{word}a,b,y")
    path = folder / f"t.{kind if kind in ('svm', 'jsonl') else 'csv'}"
    path.write_text("\n".join(lines) + "\n")
    return path, BAD + 1 + 2 + (kind not in ("svm", "jsonl"))


def with_bad(values: list[Any], bad: Any) -> list[Any]:
    return [*values[:BAD], bad, *values[BAD + 1 :]]


@pytest.mark.parametrize("kind", ["plain", "prepared", "jsonl", "svm"])
@pytest.mark.parametrize(
    "how", [{}, {"rows": (5, None)}, {"weights": 1.0 * (np.arange(N) % 7 > 0)}]
)
def test_targets(kind: str, how: dict[str, Any], tmp_path: Path) -> None:
    path, line = written(tmp_path, kind, with_bad(X[:, 0].tolist(), 1e101))
    more: dict[str, Any] = {"one_hot": "auto"} if kind == "prepared" else {}
    column = "" if kind == "svm" else " the column 'y'"
    message = f"{path}, line {line}:{column} has the target 1e+101, which is beyond 1e+100; fill in"
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        ingest(path, tmp_path / "d.zarr", task="regression", **more, **how)


@pytest.mark.parametrize("kind", ["plain", "prepared", "jsonl"])
def test_words_as_targets(kind: str, tmp_path: Path) -> None:
    path, line = written(tmp_path, kind, with_bad(X[:, 0].astype(str).tolist(), "high"))
    more: dict[str, Any] = {"one_hot": "auto"} if kind == "prepared" else {}
    message = f"{path}, line {line}: the column 'y' has the target 'high', which is not a number"
    for fraction in (None, 0.2):
        with pytest.raises(InputError, match=f"^{re.escape(message)}"):
            ingest(path, tmp_path / "d.zarr", task="regression", test_fraction=fraction, **more)


@pytest.mark.parametrize("kind", ["plain", "prepared", "jsonl"])
@pytest.mark.parametrize("bad", ["x" * 1001, "?"])
def test_labels(kind: str, bad: str, tmp_path: Path) -> None:
    path, line = written(tmp_path, kind, with_bad(list("ab" * 30), bad))
    more: dict[str, Any] = {"one_hot": "auto"} if kind == "prepared" else {}
    for fraction in (None, 0.2):
        with pytest.raises(InputError, match=rf", line {line}: .*(label|'y')"):
            ingest(path, tmp_path / "d.zarr", test_fraction=fraction, **more)


def test_rows_that_are_left_out_are_counted(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": with_bad(X[:, 0].tolist(), "high")})
    frame.loc[[3, 9, 50], "a"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=rf"t\.csv, line {BAD + 2}: the column 'y' has the targ"):
        ingest(tmp_path / "t.csv", tmp_path / "d.zarr", task="regression", missing="drop")


def test_labels_that_the_training_rows_do_not_have(tmp_path: Path) -> None:
    path, line = written(tmp_path, "plain", with_bad(list("ab" * 30), "c"))
    train = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": list("ab" * 30)})
    message = (
        rf"t\.csv, line {line}: the column 'y' has the label 'c', which does not occur in the .* "
        r"\('a', 'b'\); write it as it is there, or leave such rows out"
    )
    with pytest.raises(InputError, match=message):
        ingest(train, tmp_path / "d.zarr", label="y", test=path)
    data = ingest(train, tmp_path / "d.zarr", label="y")
    run = api.train(data.place, tmp_path / "run")
    message = (
        rf"t\.csv, line {line}: the label 'c' does not occur in the training data \('a', 'b'\); wr"
    )
    with pytest.raises(InputError, match=message):
        run.evaluate(path)


def test_rows_without_lines_keep_their_numbers() -> None:
    error = pickle.loads(pickle.dumps(RowError("FILE", 7, " has no label")))
    assert isinstance(error, RowError)
    assert (str(error), error.row, error.problem) == (
        "FILE: row 7 (counted from 0) has no label", 7, " has no label",
    )  # fmt: skip
