"""Tables of merges as files: the cache, and files that users name."""

from __future__ import annotations

import io
import multiprocessing
import pickle
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dcsvm_dask.errors import InputError
from dcsvm_dask.solvers import MergeTables
from dcsvm_dask.solvers.budget import tables as definition
from dcsvm_dask.storage import merge_tables
from dcsvm_dask.storage.merge_tables import (
    as_bytes,
    cached_at,
    computed_tables,
    given_tables,
    read_tables,
)

SIZE = 20


@pytest.fixture(scope="module")
def tables() -> MergeTables:
    return MergeTables.make(SIZE)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own; and this process forgets the tables that it knows."""
    monkeypatch.setattr(merge_tables, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(definition, "KNOWN", {})
    monkeypatch.setattr(merge_tables, "KNOWN", definition.KNOWN)
    return tmp_path / "cache"


def place_of(size: int = SIZE) -> Path:
    place = cached_at(size)
    assert place is not None
    return place


def test_the_folder_is_that_of_compiled_code(tables: MergeTables) -> None:
    assert tables.size == SIZE  # compiled by now
    folder = definition.cache_folder()
    assert folder is not None
    assert list(folder.glob("tables.*.nbi"))


def test_tables_are_computed_once_and_read_then(
    cache: Path, tables: MergeTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = computed_tables(SIZE)
    assert computed_tables(SIZE) is first is MergeTables.of(SIZE)
    assert [path.name for path in cache.iterdir()] == [place_of().name]
    definition.KNOWN.clear()
    monkeypatch.delattr(MergeTables, "make")
    again = computed_tables(SIZE)
    for found in (first, again):
        assert found.is_computed
        assert_array_equal(found.h, tables.h)
        assert_array_equal(found.wd, tables.wd)
    assert MergeTables.of(SIZE) is again


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign", "size", "folder"])
def test_a_damaged_file_is_made_again(cache: Path, damage: str, tables: MergeTables) -> None:
    whole = as_bytes(tables)
    data = {
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "flipped": whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:],
        "foreign": b"no archive",
        "size": as_bytes(MergeTables.make(SIZE + 1)),
        "folder": None,
    }[damage]
    cache.mkdir()
    if data is None:
        place_of().mkdir()
    else:
        place_of().write_bytes(data)
    assert_array_equal(computed_tables(SIZE).h, tables.h)
    if data is not None:
        assert_array_equal(read_tables(place_of()).wd, tables.wd)


def test_a_folder_that_cannot_be_written_to_is_left_alone(
    cache: Path, tables: MergeTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text("a file where the folder should be")
    assert_array_equal(computed_tables(SIZE).h, tables.h)
    assert cache.is_file()
    monkeypatch.setattr(merge_tables, "cache_folder", lambda: None)
    definition.KNOWN.clear()
    assert_array_equal(computed_tables(SIZE).h, tables.h)


def _compute(folder: Path) -> bytes:
    definition.KNOWN.clear()
    with mock.patch.object(merge_tables, "cache_folder", return_value=folder):
        return as_bytes(computed_tables(SIZE))


@pytest.mark.long
def test_processes_do_it_side_by_side(tmp_path: Path, tables: MergeTables) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.map(_compute, [tmp_path / "cache"] * 12, chunksize=1)
    assert set(found) == {as_bytes(tables)}
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_a_pickle_has_the_size_of_computed_tables_and_all_of_others(tables: MergeTables) -> None:
    assert len(pickle.dumps(tables)) < 200
    assert pickle.loads(pickle.dumps(tables)) is MergeTables.of(SIZE)
    others = pickle.loads(pickle.dumps(MergeTables(tables.h, tables.wd)))
    assert_array_equal(others.wd, tables.wd)
    assert not others.is_computed


def saved(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def test_a_file_is_read_as_it_was_written(tmp_path: Path, tables: MergeTables) -> None:
    path = tmp_path / "tables.npz"
    path.write_bytes(as_bytes(tables))
    found = given_tables(path)
    assert_array_equal(found.h, tables.h)
    assert_array_equal(found.wd, tables.wd)
    assert found.size == SIZE
    assert given_tables(path, SIZE).size == SIZE
    with pytest.raises(InputError, match=r"table_size is 30, but .*tables.npz has tables of 20"):
        given_tables(path, 30)


def with_value(table: Any, value: float) -> Any:
    changed = table.copy()
    changed[3, 4] = value
    return changed


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: {"h": t.h}, "has no array wd"),
        (lambda t: {"h": t.h[:, :5], "wd": t.wd}, r"has h of shape \(20, 5\) and type float64"),
        (lambda t: {"h": t.h[0], "wd": t.wd}, r"has h of shape \(20,\)"),
        (lambda t: {"h": t.h[:1, :1], "wd": t.wd}, r"has h of shape \(1, 1\)"),
        (lambda t: {"h": t.h, "wd": t.wd.astype(np.float32)}, "and type float32, not square"),
        (lambda t: {"h": t.h, "wd": t.wd[:9, :9]}, r"has h of shape \(20, 20\) and wd of \(9, 9\)"),
        (lambda t: {"h": with_value(t.h, np.nan), "wd": t.wd}, "values of h outside of 0 to 0.5"),
        (lambda t: {"h": with_value(t.h, 0.7), "wd": t.wd}, "values of h outside of 0 to 0.5"),
        (lambda t: {"h": t.h, "wd": with_value(t.wd, -0.1)}, "values of wd outside of 0 to 0.25"),
        (lambda t: {"h": np.array([None]), "wd": t.wd}, "has Python objects"),
    ],
)
def test_arrays_that_are_no_tables_are_refused(
    change: Any, said: str, tmp_path: Path, tables: MergeTables
) -> None:
    with pytest.raises(InputError, match=said):
        read_tables(saved(tmp_path / "t.npz", **change(tables)))


def test_what_is_no_archive_is_refused(tmp_path: Path, tables: MergeTables) -> None:
    with pytest.raises(InputError, match=r"tables: there is no file .*none.npz; make it by"):
        read_tables(tmp_path / "none.npz")
    with pytest.raises(InputError, match=r"tables: .* cannot be read \(Is a directory\)"):
        read_tables(tmp_path)
    path = tmp_path / "t.npz"
    for data in (b"", b"text", as_bytes(tables)[:2000]):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"t.npz is no .npz archive, or damaged"):
            read_tables(path)


def test_an_archive_that_claims_much_is_refused(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 20, 1 << 20)}
    )
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        for name in ("h", "wd"):
            archive.writestr(f"{name}.npy", header.getvalue())
    with pytest.raises(InputError, match="of shape"):
        read_tables(tmp_path / "t.npz")
