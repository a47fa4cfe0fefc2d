"""Small arrays of a node lie in one object, and are read as they were written or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage import small
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.run_folder import HEADER

KINDS = st.sampled_from(["f4", "f8", ">f8", "i1", "i8", "u4", "?"])
ARRAYS = KINDS.flatmap(
    lambda kind: arrays.arrays(kind, arrays.array_shapes(min_dims=0, min_side=0))
)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(Location.of(tmp_path / "run"), HEADER)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=9), ARRAYS, max_size=4))
def test_arrays_are_what_they_were(written: dict[str, np.ndarray]) -> None:
    found = small.from_bytes(small.to_bytes(written))
    assert list(found) == list(written)
    for name, values in written.items():
        assert found[name].shape == values.shape
        assert found[name].dtype == values.dtype.newbyteorder("<")
        np.testing.assert_array_equal(found[name], values)


def test_what_is_read_belongs_to_the_reader(run: RunFolder) -> None:
    attempt = run.attempt("s", "n")
    values = np.arange(6.0).reshape(3, 2)
    attempt.write("a", values)
    values[:] = -1  # what is written is what was given
    attempt.write("scalar", np.float64(3))
    attempt.commit({})
    node = run.node("s", "n")
    assert node.place.list() == ["small"]
    found = node.read("a")
    found[:] = 0.0
    assert node.read("a").tolist() == [[0, 1], [2, 3], [4, 5]]
    assert node.read("a", slice(1, 2)).tolist() == [[2, 3]]
    assert node.read("scalar", slice(0, 1)) == 3
    assert [node.has(name) for name in ("a", "scalar", "b")] == [True, True, False]


def test_large_arrays_and_many_are_arrays_of_their_own(run: RunFolder) -> None:
    attempt = run.attempt("s", "n")
    large, half = np.zeros(small.ARRAY_BYTES + 1, np.int8), np.zeros(small.ARRAY_BYTES, np.int8)
    attempt.write("large", large)
    for number in range(6):
        attempt.write(f"half{number}", half)
    attempt.commit({})
    node = run.node("s", "n")
    assert node.small == ("half0", "half1", "half2", "half3")
    assert node.place.list() == ["half4", "half5", "large", "small"]
    assert all(node.has(name) for name in ("large", "half0", "half5"))
    assert len((node.place / "small").read_bytes()) < small.NODE_BYTES + 1000


@pytest.mark.parametrize(
    "text", [b"", b"{}x", b"[]\n", b'{"a": ["O", [1]]}\n', b'{"a": ["f8", [2]]}\n1']
)
def test_what_holds_no_arrays_is_refused_by_name(run: RunFolder, text: bytes) -> None:
    attempt = run.attempt("s", "n")
    attempt.write("a", np.arange(3.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dcsvm_dask.storage.node.to_bytes", lambda _: text)
        attempt.commit({})
    with pytest.raises(InputError, match=r"n\.\w+/small: damaged: holds no arrays"):
        run.node("s", "n").read("a")
