"""Files of predictions: what is in them, and that they are whole or not there."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import zarr

from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.label_array import label_array
from dcsvm_dask.storage import prediction_groups
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.predictions import open_predictions
from tests.file_limit import smaller_files

CODES = np.array([0, 1, 1, 0, 1], np.int32)
VALUES = np.array([-0.1, 1 / 3, 2e-17, -1e300, 5.0])
EXTENSIONS = ["csv", "npy", "parquet", "zarr"]
CLASSES = [[-1, 1], [0.5, 2], ["no, never", 'the "yes"'], [1, "other"]]


def write(out: Any, classes: list[Any]) -> None:
    with open_predictions(out, classes, overwrite=True) as writer:
        writer.append(CODES[:2], VALUES[:2])
        writer.append(CODES[2:], VALUES[2:])


def stop_midway(out: Any, classes: list[Any]) -> None:
    with open_predictions(out, classes, overwrite=True) as writer:
        writer.append(CODES, VALUES)
        raise RuntimeError("stop")


def read(out: Path) -> tuple[list[Any], np.ndarray]:
    if out.suffix == ".csv":
        with out.open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0] == ["label", "decision"]
        return [row[0] for row in rows[1:]], np.array([float(row[1]) for row in rows[1:]])
    if out.suffix == ".npy":
        array = np.load(out)
        assert array.dtype.names == ("label", "decision")
        return array["label"].tolist(), array["decision"]
    if out.suffix == ".parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(out)
        return table["label"].to_pylist(), table["decision"].to_numpy()
    group: Any = zarr.open_group(out, mode="r")
    return group["label"][:].tolist(), group["decision"][:]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_a_failure_of_the_system_names_the_file(tmp_path: Path, extension: str) -> None:
    out, rng = tmp_path / f"out.{extension}", np.random.default_rng(0)
    writer = open_predictions(out, [-1, 1])
    with smaller_files(2000), pytest.raises(OSError, match="too large") as found, writer:
        writer.append(rng.integers(0, 2, 5000).astype(np.int32), rng.normal(size=5000))
    assert found.value.filename == str(out)
    assert list(tmp_path.iterdir()) == []


def test_standard_output_is_refused() -> None:
    with pytest.raises(InputError, match=r"^out: standard output cannot be written to.*name of a"):
        open_predictions("-", [-1, 1])


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("classes", CLASSES, ids=str)
def test_every_format_gives_back_labels_and_exact_values(
    tmp_path: Path, extension: str, classes: list[Any]
) -> None:
    out = tmp_path / "new" / f"out.{extension}"
    write(out, classes)
    write(out, classes)  # what is there is replaced
    labels, values = read(out)
    expected = label_array(classes)[CODES].tolist()
    assert labels == ([str(label) for label in expected] if extension == "csv" else expected)
    assert values.tolist() == VALUES.tolist()
    assert [p.name for p in out.parent.iterdir()] == [out.name]


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_error_leaves_what_was_there(tmp_path: Path, extension: str) -> None:
    out = tmp_path / f"out.{extension}"
    write(out, [-1, 1])
    with pytest.raises(RuntimeError, match="stop"):
        stop_midway(out, [0, 9])
    assert read(out)[0][0] in (-1, "-1")
    assert [p.name for p in tmp_path.iterdir()] == [out.name]


@pytest.mark.parametrize("extension", ["csv", "npy", "zarr"])
def test_object_stores_get_whole_objects(extension: str, tmp_path: Path) -> None:
    fs = fsspec.filesystem("memory")
    url = f"memory://predictions-{extension}/out.{extension}"
    with pytest.raises(RuntimeError, match="stop"):
        stop_midway(url, [-1, 1])
    assert not fs.exists(url)
    for _ in range(2):
        write(url, [-1, 1])
    with pytest.raises(RuntimeError, match="stop"):
        stop_midway(url, [0, 9])
    fs.get(url, str(tmp_path / f"out.{extension}"), recursive=True)
    assert read(tmp_path / f"out.{extension}")[1].tolist() == VALUES.tolist()


def test_an_upload_that_fails_leaves_nothing_that_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "memory://predictions-cut/out.zarr"
    write(url, [-1, 1])
    copy = prediction_groups._copy

    def fail_late(source: Location, target: Location) -> None:
        if target.parent.name == "decision":
            raise OSError("away")
        copy(source, target)

    monkeypatch.setattr(prediction_groups, "_copy", fail_late)
    with pytest.raises(OSError, match="away"):
        write(url, [-1, 1])
    assert not (Location(url) / "zarr.json").exists()
    monkeypatch.undo()
    write(url, [-1, 1])
    group: Any = zarr.open_group(url, mode="r")
    assert group["decision"][:].tolist() == VALUES.tolist()


def test_a_swap_that_fails_puts_the_old_group_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.zarr"
    write(out, [-1, 1])
    rename = Path.rename

    def fail_once(self: Path, target: Path) -> Path:
        if target == out:
            monkeypatch.undo()
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(OSError, match="no"):
        write(out, [0, 9])
    assert read(out)[0][0] == -1
    assert [p.name for p in tmp_path.iterdir()] == [out.name]


def test_many_rows_go_through_in_blocks(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(140_000)
    for extension in EXTENSIONS:
        with open_predictions(tmp_path / f"out.{extension}", [-1, 1]) as writer:
            for part in np.array_split(values, 7):
                writer.append((part > 0).astype(np.int32), part)
        labels, found = read(tmp_path / f"out.{extension}")
        assert np.array_equal(found, values)
        assert np.array_equal(np.array(labels, dtype=int), np.where(values > 0, 1, -1))


@pytest.mark.parametrize("name", ["out.txt", "out", "out.csv.gz"])
def test_an_unknown_extension_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"one of \.csv, \.npy, \.parquet, \.zarr"):
        open_predictions(tmp_path / name, [-1, 1])


def test_folders_and_foreign_groups_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "out.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        open_predictions(tmp_path / "out.csv", [-1, 1])
    zarr.create_group(tmp_path / "out.zarr").create_array("X", shape=(2,), dtype="f4")
    with pytest.raises(InputError, match="not predictions"):
        open_predictions(tmp_path / "out.zarr", [-1, 1])


def test_parquet_without_pyarrow_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="needs pyarrow"):
        open_predictions(tmp_path / "out.parquet", [-1, 1])
