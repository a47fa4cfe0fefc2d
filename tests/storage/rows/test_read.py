"""Rows on disk: what was written comes back in every way of reading; damage does not go unseen."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.rows import ConcatRows, RowArray, open_rows, write_rows
from tests.storage.conftest import chunk_files

RNG = np.random.default_rng(0)
X = RNG.random((1000, 7), dtype=np.float32)
X[X < 0.7] = 0
FORMS = ["dense", "sparse"]


def dense(rows: Any) -> Any:
    assert rows.dtype == np.float32
    if sparse.issparse(rows):
        assert isinstance(rows, sparse.csr_array)
        assert rows.has_sorted_indices
        return rows.toarray()
    assert rows.flags.c_contiguous
    return rows


def write(place: Location, form: str, table: Any = X, chunk_rows: int = 64) -> RowArray:
    cuts = [0, 3, 3, 500, len(table)]
    blocks = [table[a:b] for a, b in itertools.pairwise(cuts)]
    blocks[0] = sparse.csr_array(blocks[0])  # the other form is taken, too
    return write_rows(
        place,
        blocks,
        n_features=table.shape[1],
        sparse=form == "sparse",
        chunk_rows=chunk_rows,
    )


@pytest.mark.parametrize("form", FORMS)
def test_round_trip(form: str, folder: Location) -> None:
    write(folder / "rows", form)
    rows = open_rows(folder / "rows")
    assert (rows.n_rows, rows.n_features, rows.chunk_rows) == (1000, 7, 64)
    assert rows.is_sparse == (form == "sparse")
    np.testing.assert_array_equal(dense(rows.read(0, 1000)), X)
    assert rows.density == pytest.approx(np.count_nonzero(X) / X.size if rows.is_sparse else 1)


@pytest.mark.one_quick
@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_range_and_any_index(
    form: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = Location.of(tmp_path_factory.getbasetemp() / f"rows-{form}")
    rows = open_rows(place) if place.exists() else write(place, form)
    start = data.draw(st.integers(0, 1000))
    stop = data.draw(st.integers(start, 1000))
    np.testing.assert_array_equal(dense(rows.read(start, stop)), X[start:stop])
    index = np.array(data.draw(st.lists(st.integers(0, 999), max_size=40)), np.int64)
    np.testing.assert_array_equal(dense(rows.take(index)), X[index])


@pytest.mark.parametrize("form", FORMS)
def test_chunks_cover_the_rows_and_take_reads_each_once(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = write(Location.of(tmp_path / "rows"), form)
    assert rows.borders().tolist() == [*range(0, 1000, 64), 1000]
    seen: list[tuple[int, int]] = []
    read: Callable[..., Any] = RowArray.read

    def spy(self: RowArray, start: int, stop: int) -> Any:
        seen.append((start // 64, (stop - 1) // 64))
        return read(self, start, stop)

    monkeypatch.setattr(RowArray, "read", spy)
    index = RNG.permutation(1000)[:300]
    np.testing.assert_array_equal(dense(rows.take(index)), X[index])
    assert all(a == b for a, b in seen)
    assert len(seen) == len(set(seen)) == len(np.unique(index // 64))


@pytest.mark.parametrize("form", FORMS)
def test_memory_of_rows_is_foretold(form: str, tmp_path: Path) -> None:
    rows = write(Location.of(tmp_path / "rows"), form)
    block = rows.read(0, 1000)
    if form == "dense":
        assert rows.nbytes_of(0, 1000) == block.nbytes
    else:
        exact = block.data.nbytes + block.indices.nbytes + 1001 * 8
        assert rows.nbytes_of(0, 1000) == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("form", FORMS)
def test_parts_read_as_one(form: str, tmp_path: Path) -> None:
    parts = [
        write(Location.of(tmp_path / "a"), form, X[:501]),
        write(Location.of(tmp_path / "b"), form, X[501:510], chunk_rows=100),
        write(Location.of(tmp_path / "c"), form, X[510:]),
    ]
    rows = ConcatRows([ConcatRows(parts[:2]), parts[2]])
    assert rows.n_rows == 1000
    np.testing.assert_array_equal(dense(rows.read(490, 700)), X[490:700])
    np.testing.assert_array_equal(dense(rows.read(5, 5)), X[5:5])
    index = RNG.integers(0, 1000, 500)
    np.testing.assert_array_equal(dense(rows.take(index)), X[index])
    assert rows.borders()[[0, -1]].tolist() == [0, 1000]
    assert (np.diff(rows.borders()) > 0).all()
    assert rows.nbytes_of(0, 1000) == pytest.approx(sum(p.nbytes_of(0, p.n_rows) for p in parts))


def test_parts_that_differ_are_refused(tmp_path: Path) -> None:
    first = write(Location.of(tmp_path / "a"), "dense")
    other = write(Location.of(tmp_path / "b"), "sparse")
    narrow = write(Location.of(tmp_path / "c"), "dense", X[:, :5])
    for parts in ([first, other], [first, narrow], []):
        with pytest.raises(InputError):
            ConcatRows(parts)


def test_rows_travel_as_their_address(tmp_path: Path) -> None:
    rows = write(Location.of(tmp_path / "rows"), "dense")
    rows.read(0, 10)
    packed = pickle.dumps(rows)
    assert len(packed) < 1000
    np.testing.assert_array_equal(pickle.loads(packed).read(7, 99), X[7:99])


@pytest.mark.parametrize("form", FORMS)
def test_empty_rows(form: str, tmp_path: Path) -> None:
    empty = write(Location.of(tmp_path / "rows"), form, X[:0])
    assert dense(empty.read(0, 0)).shape == (0, 7)
    assert empty.borders().tolist() == [0]
    blank = write(Location.of(tmp_path / "blank"), form, np.zeros((100, 3), np.float32))
    np.testing.assert_array_equal(dense(blank.take(np.array([99, 0]))), np.zeros((2, 3)))


def test_bounds(tmp_path: Path) -> None:
    rows = write(Location.of(tmp_path / "rows"), "dense")
    for bad in ((-1, 5), (5, 1001), (6, 5)):
        with pytest.raises(IndexError):
            rows.read(*bad)
    for index in ([-1], [1000]):
        with pytest.raises(IndexError):
            rows.take(np.array(index))


def test_a_writer_that_dies_leaves_no_rows(tmp_path: Path) -> None:
    place = Location.of(tmp_path / "rows")

    def blocks() -> Any:
        yield X[:500]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(place, blocks(), n_features=7, sparse=False, chunk_rows=64)
    with pytest.raises(InputError, match="no rows there"):
        open_rows(place)
    with pytest.raises(InputError, match="no rows there"):
        open_rows(Location.of(tmp_path / "nothing"))


def arrays_of(form: str) -> list[str]:
    return ["X"] if form == "dense" else ["data", "indices", "indptr"]


@pytest.mark.parametrize(
    ("form", "name"), [(form, name) for form in FORMS for name in arrays_of(form)]
)
def test_a_missing_chunk_is_noticed(form: str, name: str, folder: Location) -> None:
    place = folder / "rows"
    rows = write(place, form)
    chunk_files(place, name)[-1].delete()
    with pytest.raises(InputError, match=rf"{name}: damaged: the chunk c/.* is missing"):
        rows.read(0, 1000)


@pytest.mark.parametrize(
    ("form", "name"), [(form, name) for form in FORMS for name in arrays_of(form)]
)
def test_a_flipped_byte_is_noticed(form: str, name: str, folder: Location) -> None:
    place = folder / "rows"
    rows = write(place, form)
    chunk = chunk_files(place, name)[0]
    data = bytearray(chunk.read_bytes())
    for at in (0, len(data) // 2, len(data) - 1):
        damaged = data.copy()
        damaged[at] ^= 1
        chunk.write_bytes(bytes(damaged))
        with pytest.raises(InputError, match=rf"{name}: damaged"):
            rows.read(0, 1000)
    chunk.write_bytes(bytes(data[: len(data) // 2]))
    with pytest.raises(InputError, match=rf"{name}: damaged"):
        rows.read(0, 1000)


def test_foreign_and_damaged_descriptions(tmp_path: Path) -> None:
    place = Location.of(tmp_path / "rows")
    write(place, "dense")
    described = (place / "zarr.json").read_json()
    for change in ({"format": "other"}, {"version": 99}, {"n_rows": None}, {"n_rows": "x"}):
        (place / "zarr.json").write_json(
            {**described, "attributes": described["attributes"] | change}
        )
        with pytest.raises(InputError):
            open_rows(place)


def test_pieces_of_sparse_rows_meet_chunks_of_indptr_in_any_order(tmp_path: Path) -> None:
    table = sparse.random_array((150_000, 3), density=0.3, format="csr", dtype=np.float32, rng=0)
    place = Location.of(tmp_path) / "rows"
    write_rows(place, [table], n_features=3, sparse=True, chunk_rows=1000)
    rows = open_rows(place)
    for start in (0, 65_530, 140_000, 65_535, 65_536, 1000, 131_071, 0):
        found = rows.read(start, start + 1000)
        np.testing.assert_array_equal(found.toarray(), table[start : start + 1000].toarray())
    np.testing.assert_array_equal(rows.read(0, 150_000).toarray(), table.toarray())
