"""Real targets: what is read as one, and what is refused with its row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.readers.targets import TargetTable


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, -2, 3], [1.0, -2.0, 3.0]),
        ([1.5, -0.0], [1.5, 0.0]),
        ([True, False], [1.0, 0.0]),
        (["1.5", " -2e3 ", "+1"], [1.5, -2000.0, 1.0]),
        (np.array([b"1.25", b"7"]), [1.25, 7.0]),
        (np.array(["2", "3.5"], object), [2.0, 3.5]),
        (np.array([0.1], np.float32), [float(np.float32(0.1))]),
        ([1e100, -1e100], [1e100, -1e100]),
        ([], []),
    ],
)
def test_numbers_become_float64(given: Any, expected: list[float]) -> None:
    found = TargetTable("FILE").add(np.asarray(given))
    assert found.dtype == np.float64
    assert found.tolist() == expected
    assert not np.signbit(found[found == 0.0]).any()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([1.0, np.nan], "row 6 .* has no target"),
        (["1", ""], "row 6 .* has no target"),
        (["1", "?"], "row 6 .* has no target"),
        (["1", "nan"], "row 6 .* has no target"),
        (np.array([1.0, None], object), "row 6 .* has no target"),
        ([np.inf, 1.0], "row 5 .* has the target inf, which is beyond 1e.100"),
        (["1", "-inf"], "row 6 .* has the target -inf"),
        ([1e101, 1.0], "row 5 .* has the target 1e.101"),
        (np.array([1, 10**400], object), "row 6 .* has the target 10000.* beyond 1e.100"),
        (np.array([1, pd.NA], object), "row 6 .* has the target <NA>, which is not a number"),
        (np.array([1, [2]], object), r"row 6 .* has the target \[2\], which is not a number"),
        (["1", "high"], "row 6 .* target 'high', which is not a number; .* without --task"),
        (["1", "5,25"], r"target '5,25', which is not a number; give --decimal , \(in Python"),
        (["$1", "$5,25"], r"target '\$5,25', which is not a number; give --decimal ,"),
        (["1", "486.55 EUR"], "'486.55 EUR', which is not a number; write all .* without units"),
        (["1", "1_000"], "row 6 .* has the target '1_000', which is not a number"),
        (np.array([1 + 2j]), "targets of type complex128 are not numbers"),
        (np.array(["2020-01-01"], "M8[D]"), "a date; regression learns numbers: write it as"),
    ],
)
def test_what_is_no_target_is_refused_with_its_row(given: Any, why: str) -> None:
    table = TargetTable("FILE", 2)
    table.add(np.arange(3.0))
    with pytest.raises(InputError, match=rf"^FILE: .*{why}"):
        table.add(np.asarray(given))


def test_a_test_part_is_written_as_the_training_part(tmp_path: Path) -> None:
    for name, sign in (("plain", ""), ("percent", "%")):
        rows = [f"{k / 2};{(7 * k) % 31}{sign}" for k in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a;y", *rows]) + "\n")
    how: dict[str, Any] = {"label": "y", "task": "regression"}
    with pytest.raises(InputError, match="and those of the training rows are without a sign"):
        ingest(tmp_path / "plain.csv", tmp_path / "d.zarr", test=tmp_path / "percent.csv", **how)


def test_rows_that_are_scored_have_targets_written_as_the_training_rows(tmp_path: Path) -> None:
    for name, sign in (("plain", ""), ("percent", "%"), ("dollars", "$")):
        rows = [f"{k / 2};{(7 * k) % 31}{sign}" for k in range(40)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["a;y", *rows]) + "\n")
    how: dict[str, Any] = {"label": "y", "task": "regression", "overwrite": True}
    refused = r"the target is a number without a sign, and those of the training rows are with %"
    with pytest.raises(InputError, match=refused):
        ingest(tmp_path / "percent.csv", tmp_path / "d.zarr", test=tmp_path / "plain.csv", **how)
    given: dict[str, Any] = {"execution": api.Execution(workers=0), "quiet": True, "report": False}
    runs = {}
    for name in ("percent", "dollars"):
        data = ingest(tmp_path / f"{name}.csv", tmp_path / f"{name}.zarr", **how)
        runs[name] = api.train(data.place, tmp_path / f"run-{name}", gamma=1.0, **given)
    with pytest.raises(InputError, match=refused):
        runs["percent"].evaluate(tmp_path / "plain.csv")
    assert runs["percent"].evaluate(tmp_path / "percent.csv")["n_rows"] == 40
    assert runs["dollars"].evaluate(tmp_path / "plain.csv")["n_rows"] == 40


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%d %b %Y", "%Y%m%d", "%Y%m"])
def test_targets_that_are_dates(form: str, tmp_path: Path) -> None:
    days = pd.date_range("2021-01-01", periods=60, freq="W")
    frame = pd.DataFrame({"a": np.arange(60) % 7, "y": days.strftime(form)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    how: dict[str, Any] = {"label": "y", "task": "regression"}
    if form in ("%Y%m%d", "%Y%m"):
        message = rf"the targets, such as {days[0].strftime(form)}, look like dates"
        with pytest.warns(DcsvmWarning, match=message):
            ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)
        return
    with pytest.raises(InputError, match=r"line 2: .*, a date; regression learns numbers: write"):
        ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)


def test_targets_of_a_type_of_dates(tmp_path: Path) -> None:
    days = pd.date_range("2021-01-01", periods=60)
    frame = pd.DataFrame({"a": np.arange(60) % 7, "y": days})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", frame, (frame[["a"]], frame["y"])):
        with pytest.raises(InputError, match=r"numbers?.*, such as the days"):
            ingest(source, tmp_path / "d.zarr", task="regression")
