"""Arrays in Zarr: what was written comes back; what is not there is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.arrays import read_array, write_array
from dcsvm_dask.storage.location import Location
from tests.storage.conftest import chunk_files


@pytest.mark.parametrize(
    "values",
    [
        np.arange(10),
        np.zeros((5, 3)),
        np.full((6, 2), np.nan),
        np.full(7, np.iinfo(np.int32).min, np.int32),
        np.arange(8, dtype=np.uint64) + np.uint64(2**63),
        np.array([True, False, True]),
        np.zeros((0, 4), np.float32),
        np.array(3.5),
        np.arange(60, dtype=np.float32).reshape(3, 4, 5),
    ],
)
def test_arrays_round_trip(values: Any, folder: Location) -> None:
    write_array(folder / "a", values, chunk=2)
    found = read_array(folder / "a")
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found, values)
    if values.ndim:
        np.testing.assert_array_equal(read_array(folder / "a", slice(1, 4)), values[1:4])
    with pytest.raises(InputError, match="an array exists there already"):
        write_array(folder / "a", values)


def test_every_chunk_is_stored_even_if_it_is_all_fill_value(folder: Location) -> None:
    write_array(folder / "a", np.full(10, np.nan), chunk=2)
    assert len(chunk_files(folder, "a")) == 5
    chunk_files(folder, "a")[3].delete()
    with pytest.raises(InputError, match="the chunk c/3 is missing"):
        read_array(folder / "a")
    np.testing.assert_array_equal(read_array(folder / "a", slice(0, 6)), np.full(6, np.nan))


def test_an_array_that_is_not_there(folder: Location) -> None:
    with pytest.raises(InputError, match="no array there"):
        read_array(folder / "nothing")
