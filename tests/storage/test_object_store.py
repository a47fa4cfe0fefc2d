"""The same on an object store: an S3 server on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import s3fs
import zarr

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.storage import object_store
from dcsvm_dask.storage.arrays import write_array
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from tests.stored import rows_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 6)).astype(np.float32)
Y = np.arange(500) % 3


# Sessions of the client are closed by the garbage collector, with a warning.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def bucket(s3: Callable[[str], str]) -> str:
    return s3("rows")


@pytest.mark.one_quick
@pytest.mark.parametrize("form", ["svmlight", "npz"])
def test_from_and_to_s3(form: str, bucket: str, tmp_path: Path) -> None:
    source = f"{bucket}/in/rows.{form}"
    if form == "svmlight":
        lines = [
            f"{y} " + " ".join(f"{k + 1}:{v!r}" for k, v in enumerate(row)) + "\n"
            for row, y in zip(X.tolist(), Y, strict=True)
        ]
        Location(source).write_bytes("".join(lines).encode())
    else:
        np.savez(tmp_path / "rows.npz", X_train=X, y_train=Y, X_test=X[:9], y_test=Y[:9])
        Location(source).write_bytes((tmp_path / "rows.npz").read_bytes())
    out = f"{bucket}/out/{form}.zarr"
    data = ingest(source, out, chunk_rows=100, scale="none")
    local = ingest((X, Y), tmp_path / "local.zarr")
    assert data.fingerprint == local.fingerprint
    again = DataSet.open(f"{out}/train")
    np.testing.assert_array_equal(rows_of(again), X)
    np.testing.assert_array_equal(np.array(again.classes)[again.read_codes(100, 300)], Y[100:300])
    index = RNG.permutation(500)[:50]
    taken = again.rows.take(index)
    np.testing.assert_array_equal(taken.toarray() if again.is_sparse else taken, X[index])


@pytest.mark.long
def test_a_zarr_group_on_s3(bucket: str, tmp_path: Path) -> None:
    group = zarr.open_group(f"{bucket}/foreign.zarr", mode="w")
    group.create_array("X", data=X, chunks=(70, 6))
    group.create_array("y", data=Y)
    data = ingest(f"{bucket}/foreign.zarr", tmp_path / "a.zarr", rows=(100, 400), scale="none")
    np.testing.assert_array_equal(rows_of(data), X[100:400])


@pytest.mark.long
def test_overwriting(bucket: str) -> None:
    out = f"{bucket}/a.zarr"
    with pytest.raises(InputError, match="no data set there"):
        DataSet.open(out)
    ingest((X, Y), out, scale="minmax")
    with pytest.raises(InputError, match="a data set exists there"):
        ingest((X, Y), out)
    second = ingest((X[:100], Y[:100]), out, overwrite=True)
    np.testing.assert_array_equal(rows_of(DataSet.open(out)), X[:100])
    names = [n for n in Location(out).list() if n.startswith("parts-")]
    assert names == [second.attempt]


def test_a_failed_ingest_leaves_nothing(bucket: str) -> None:
    bad = X.copy()
    bad[499, 5] = np.inf
    with pytest.raises(InputError, match="row 499, column 5"):
        ingest((bad, Y), f"{bucket}/bad.zarr")
    assert Location(f"{bucket}/bad.zarr").keys() == {}


def test_damage_is_noticed(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "PAUSES", (0.01,))
    out = f"{bucket}/damaged.zarr"
    data = ingest((X, Y), out, chunk_rows=100)
    chunk = Location(out) / data.attempt / "train" / "rows" / "X" / "c" / "2" / "0"
    kept = bytearray(chunk.read_bytes())
    kept[40] ^= 1
    chunk.write_bytes(bytes(kept))
    with pytest.raises(InputError, match="damaged"):
        data.rows.read(0, 500)
    chunk.delete()
    with pytest.raises(InputError, match="X/c/2/0: damaged: it is missing"):
        data.rows.read(0, 500)
    np.testing.assert_array_equal(data.rows.read(0, 200), X[:200])


def test_a_listing_that_is_remembered_hides_nothing(bucket: str) -> None:
    folder = Location(f"{bucket}/listed")
    write_array(folder / "a", np.arange(3))
    assert folder.list() == ["a"]
    assert set((folder / "a").keys()) == {"c/0", "zarr.json"}
    write_array(folder / "b", np.arange(3))
    assert (folder / "b").exists()
    assert folder.list() == ["a", "b"]
    folder.delete()
    assert folder.list() == []
    assert not (folder / "b" / "zarr.json").exists()


@pytest.fixture
def no_credentials(bucket: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    s3fs.S3FileSystem.clear_instance_cache()
    yield
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize("ending", ["csv", "zarr"])
@pytest.mark.long
def test_a_store_that_lets_nobody_in(
    ending: str, bucket: str, no_credentials: None, tmp_path: Path
) -> None:
    place = Location(f"{bucket}/a.{ending}")
    said = rf"{place}.*: cannot be reached: Unable to locate credentials"
    for act in (
        lambda: ingest(place.url, tmp_path / "out.zarr"),
        lambda: ingest((X, Y), place),
        lambda: FolderLock(place).__enter__(),
        lambda: open_source(place.url),
        place.exists,
        place.read_bytes,
        lambda: place.write_bytes(b""),
        lambda: place.write_new(b""),
        place.list,
        place.keys,
        place.delete,
    ):
        with pytest.raises(InputError, match=said):
            act()


@pytest.mark.long
def test_missing_files(bucket: str) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        ingest(f"{bucket}/none.svm", "memory://out.zarr")
    with pytest.raises(InputError, match=r"there is no such file|cannot be opened"):
        ingest(f"{bucket}-absent/none.svm", "memory://out.zarr")
    with pytest.raises(InputError, match="protocol 'nosuch' is not opened"):
        ingest("nosuch://place/none.svm", "memory://out.zarr")
    with pytest.raises(InputError, match="protocol 'nosuch' is not opened"):
        ingest((X, Y), "nosuch://place/out.zarr")
