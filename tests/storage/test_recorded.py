"""A commit knows the checksums of what its process has written, without reading it again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask.errors import RunError
from dcsvm_dask.storage import node as node_module
from dcsvm_dask.storage.arrays import open_array, write_array
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.recorded import RecordedPlace
from dcsvm_dask.storage.rows import write_rows
from dcsvm_dask.storage.run import RunFolder
from tests.left import damaged

X = np.random.default_rng(0).random((3400, 40), dtype=np.float32)
"""Too large to lie in one object with other arrays."""


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_nothing_is_read_to_commit_it(
    form: str, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempt = run.attempt("s", "n")
    attempt.write("a", np.arange(100_000))
    attempt.write("scalar", np.float64(3))
    attempt.write("none", np.empty((0, 3)))
    rows = sparse.csr_array(X) if form == "sparse" else X
    write_rows(attempt.place / "X", [rows], n_features=40, sparse=form == "sparse", chunk_rows=500)
    (attempt.place / "below" / "bytes").write_bytes(b"some")
    (attempt.place / "below" / "bytes").write_bytes(b"others")  # the last ones count
    array = open_array(attempt.place / "a")
    array[:7] = -1
    write_array(attempt.place / "gone", X)
    (attempt.place / "gone").delete()
    read = Location.read_bytes

    def refuse(place: Location) -> bytes:
        assert attempt.place.name not in place.url, f"{place} is read"
        return read(place)

    with monkeypatch.context() as patch:
        patch.setattr(Location, "read_bytes", refuse)
        assert attempt.commit({})
    found = run.node("s", "n")
    assert found.verify()
    assert found.small == ("scalar", "none")
    assert set(found.keys) == set(found.place.keys())
    assert found.keys == node_module._checksums(Location(found.place.url))
    assert found.read("a")[:8].tolist() == [-1] * 7 + [7]


def test_what_another_has_put_there_is_read(run: RunFolder) -> None:
    attempt = run.attempt("s", "n")
    attempt.write("a", X)
    (Location(attempt.place.url) / "foreign").write_bytes(b"foreign")
    assert attempt.commit({})
    assert run.node("s", "n").keys["foreign"][0] == 7
    assert damaged(run) == []


def test_a_chunk_that_was_deleted_meanwhile_is_missed(run: RunFolder) -> None:
    attempt = run.attempt("s", "n")
    attempt.write("a", X)
    (Location(attempt.place.url) / "a" / "c" / "0" / "0").delete()
    with pytest.raises(RunError, match="a/c/0/0 was deleted while the step ran"):
        attempt.commit({})


def test_a_byte_that_is_not_what_was_written_is_found(run: RunFolder) -> None:
    attempt = run.attempt("s", "n")
    attempt.write("a", X)
    chunk = Location(attempt.place.url) / "a" / "c" / "0" / "0"
    content = bytearray(chunk.read_bytes())
    content[100] ^= 1
    chunk.write_bytes(bytes(content))
    assert attempt.commit({})
    assert [place.url for place in damaged(run)] == [attempt.place.url]


def test_keys_are_relative_to_where_recording_began() -> None:
    place = RecordedPlace.at(Location("memory://recorded/a"))
    (place / "b" / "c").write_bytes(b"1")
    (place / "b" / "d").write_bytes(b"22")
    (place / "bd").write_bytes(b"333")
    assert {key: size for key, (size, _) in place.written.items()} == {
        "b/c": 1,
        "b/d": 2,
        "bd": 3,
    }
    (place / "b").delete()
    assert list(place.written) == ["bd"]
    place.delete()
    assert not place.written
