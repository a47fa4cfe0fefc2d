"""NumPy, Zarr and Parquet sources: their arrays come back, damaged ones are refused."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers import csr, numpy_files, zarr_files
from dcsvm_dask.readers.files import open_bytes
from dcsvm_dask.readers.numpy_files import NpyStream
from dcsvm_dask.readers.open import open_source, source_parts

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 7))
Y = RNG.integers(0, 3, 500)
S = sparse.random_array((500, 40), density=0.1, format="csr", rng=RNG)

Save = Callable[..., None]


def read(path: Path, **options: Any) -> tuple[Any, Any]:
    blocks = list(open_source(path, **options).blocks())
    rows = [r.toarray() if sparse.issparse(r) else r for r, _ in blocks]
    labels = None if blocks[0][1] is None else np.concatenate([y for _, y in blocks])
    return np.concatenate(rows), labels


def csr_parts(name: str, table: Any) -> dict[str, Any]:
    return {
        f"{name}_data": table.data,
        f"{name}_indices": table.indices,
        f"{name}_indptr": table.indptr.astype(np.int64),
        f"{name}_shape": np.array(table.shape),
    }


def save_zarr(path: Path, **arrays: Any) -> None:
    group = zarr.open_group(str(path), mode="w")
    for name, values in arrays.items():
        group.create_array(name, data=np.ascontiguousarray(values), chunks="auto")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (numpy_files, zarr_files, csr):
        monkeypatch.setattr(module, "BLOCK_BYTES", 3000)
    monkeypatch.setattr(csr, "_ROWS", 100)


@pytest.fixture(params=["npz", "packed npz", "zarr"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Save]:
    if request.param == "zarr":
        path = tmp_path / "rows.zarr"
        return path, lambda **arrays: save_zarr(path, **arrays)
    path = tmp_path / "rows.npz"
    save = np.savez_compressed if request.param == "packed npz" else np.savez
    return path, lambda **arrays: save(path, **arrays)


@pytest.mark.parametrize("kind", ["f8", "f4", "i4", "u1", "?", ">f8"])
def test_dense_archives(kind: str, archive: tuple[Path, Save]) -> None:
    path, save = archive
    table = np.abs(X * 10).astype(kind)
    save(X_train=table, y_train=Y, X_test=table[:9], y_test=Y[:9] + 1)
    assert source_parts(str(path)) == ["train", "test"]
    for part, n, shift in (("train", 500, 0), ("test", 9, 1)):
        rows, labels = read(path, part=part)
        assert rows.dtype == (np.float64 if "f8" in kind else np.float32)
        np.testing.assert_array_equal(rows, table[:n])
        np.testing.assert_array_equal(labels, Y[:n] + shift)


def test_csr_archives(archive: tuple[Path, Save]) -> None:
    path, save = archive
    save(**csr_parts("X_train", S), y_train=Y)
    rows, labels = read(path)
    np.testing.assert_array_equal(rows, S.toarray())
    np.testing.assert_array_equal(labels, Y)
    source = open_source(path)
    assert source.is_sparse
    assert source.n_features == 40


def test_other_names(archive: tuple[Path, Save]) -> None:
    path, save = archive
    save(X=X, y=Y, kind_train=Y + 5, names=np.arange(3))
    np.testing.assert_array_equal(read(path)[1], Y)
    np.testing.assert_array_equal(read(path, label="kind")[1], Y + 5)
    np.testing.assert_array_equal(read(path, label="kind_train")[1], Y + 5)
    with pytest.raises(
        InputError, match="no labels what_train; there are: X, kind_train, names, y"
    ):
        open_source(path, label="what")


def test_rows_without_labels_serve_prediction_only(archive: tuple[Path, Save]) -> None:
    path, save = archive
    save(X=X)
    assert read(path, n_features=7)[1] is None
    with pytest.raises(InputError, match="no labels"):
        open_source(path)
    with pytest.raises(InputError, match="7 features, but 8 are needed"):
        open_source(path, n_features=8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X_train_indptr": np.r_[np.arange(500), 3]}, "descends or exceeds"),
        ({"X_train_indptr": np.arange(501) * 10**6}, "descends or exceeds"),
        ({"X_train_indptr": np.arange(500)}, "501 integers are needed"),
        ({"X_train_indptr": np.arange(501)}, "ends with 500, but there are 2000"),
        ({"X_train_indices": np.full(2000, 40)}, r"not within 0\.\.39"),
        ({"X_train_indices": np.full(2000, -1)}, r"not within 0\.\.39"),
        ({"X_train_indices": np.zeros(1999, int)}, "2000 values, but 1999 indices"),
        ({"X_train_shape": np.array([500])}, "two integers"),
        ({"X_train_shape": np.array([500, 0])}, "empty: 500 rows, 0 features"),
        ({"y_train": Y[:499]}, "500 rows in X_train, but"),
    ],
)
def test_parts_that_do_not_fit(change: Any, message: str, archive: tuple[Path, Save]) -> None:
    path, save = archive
    save(**{**csr_parts("X_train", S), "y_train": Y, **change})
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X[:, 0], "y": Y}, r"1 axis; .*X\.reshape"),
        ({"X": X[:0], "y": Y[:0]}, "empty: 0 rows"),
        ({"X": X * 1j, "y": Y}, "must be real numbers"),
        ({"X": np.where(X[123, 4] == X, np.nan, X), "y": Y}, r"row 123, column 4 .* is NaN"),
        ({"X": np.where(X[3, 0] == X, 1e39, X), "y": Y}, r"row 3, column 0 .* is infinite"),
    ],
)
def test_tables_that_are_refused(arrays: Any, message: str, archive: tuple[Path, Save]) -> None:
    path, save = archive
    save(**arrays)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_images_become_vectors(tmp_path: Path) -> None:
    path = tmp_path / "digits.npz"
    images = RNG.integers(0, 255, (20, 4, 5)).astype(np.uint8)
    np.savez(path, x_train=images, y_train=Y[:20], x_test=images, y_test=Y[:20])
    np.testing.assert_array_equal(read(path)[0], images.reshape(20, 20))


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    np.savez(path, X_train=X, y_train=np.array(["a", 1] * 250, dtype=object))
    with pytest.raises(InputError, match="y_train: has Python objects, which are not loaded"):
        read(path)
    bare = tmp_path / "rows.npy"
    np.save(bare, np.array([[1, "a"], [2, "b"]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="Python objects"):
        read(bare)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_in_npy(order: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, np.asarray(np.column_stack([Y, X]), order=order))
    rows, labels = read(path, label=0)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, Y)
    rows, labels = read(path, n_features=8)
    assert labels is None
    assert rows.shape == (500, 8)


@pytest.mark.parametrize("packed", [False, True])
def test_a_matrix_by_columns_is_not_held(packed: bool, tmp_path: Path) -> None:
    matrix = np.asfortranarray(np.column_stack([X, Y]))
    path = tmp_path / ("rows.npy.gz" if packed else "rows.npy")
    with (gzip.open if packed else open)(path, "wb") as file:
        np.save(file, matrix)
    with open_bytes(str(path)) as file:
        stream = NpyStream(file, "rows")
        pieces = [stream.read(70) for _ in range(0, len(Y), 70)]
        assert isinstance(pieces[0], np.memmap) != packed
        np.testing.assert_array_equal(np.concatenate(pieces), matrix)
    if not packed:
        path.write_bytes(path.read_bytes()[:-8])
        with pytest.raises(InputError, match="ends too early"):
            read(path)


@pytest.mark.parametrize("share", [0.0005, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("name", ["rows.npz", "rows.npy", "rows.parquet"])
def test_files_that_were_cut_off(name: str, share: float, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "rows.npz":
        np.savez_compressed(path, X_train=X, y_train=Y)
    elif name == "rows.npy":
        np.save(path, X)
    else:
        pq.write_table(pa.table({"a": X[:, 0], "y": Y}), path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("ending", ["npz", "npy", "parquet", "svm.gz", "svm.bz2", "svm.xz"])
def test_files_of_other_contents(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(b"\x01\x02\x00binary" * 30)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_flipped_bytes_in_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, X_train=X, y_train=Y)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="damaged"):
        read(path)


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    words = np.array(["no", "yes", "a b"])[Y]
    columns = {f"f{k}": X[:, k] for k in range(6)} | {"label": words, "f6": X[:, 6]}
    pq.write_table(pa.table(columns), path, row_group_size=77)
    rows, labels = read(path, label="label")
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(labels, words)
    assert open_source(path, label="label").feature_names == [f"f{k}" for k in range(7)]
    dictionary = pa.array(words).dictionary_encode()
    pq.write_table(pa.table({"a": X[:, 0] > 0, "b": Y.astype("i1"), "y": dictionary}), path)
    rows, labels = read(path)
    np.testing.assert_array_equal(rows, np.column_stack([X[:, 0] > 0, Y]))
    np.testing.assert_array_equal(labels, words)


def test_parquet_with_two_columns_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = pa.Table.from_arrays([pa.array(X[:, 0]), pa.array(X[:, 1]), pa.array(Y)], ["a"] * 3)
    pq.write_table(table, path)
    with pytest.raises(InputError, match=r"two columns have the name 'a': 0 and 1, counted from 0"):
        open_source(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"a": ["x", "y"], "y": [1, 2]},
            "the column 'a' holds words .2 categories, such as 'x'.: give --one-hot a ",
        ),
        ({"a": [1.0, None], "y": [1, 2]}, r"row 1, column 0 \('a'\) .* is NaN"),
        ({"a": [1, None], "y": [1, 2]}, r"row 1, column 0 \('a'\) .* is NaN"),
        ({"a": [1.0, 2.0], "y": [None, "b"]}, r"row 0 .* has no label"),
        ({"a": [1.0, 2.0]}, "0 features"),
    ],
)
def test_parquet_that_is_refused(columns: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_a_matrix_of_save_npz_is_recognised_and_the_advice_works(tmp_path: Path) -> None:
    X = sparse.random_array((30, 4), density=0.5, rng=0, format="csr")
    y = np.arange(30) % 2
    for kind in ("coo", "dia", "csr"):
        sparse.save_npz(tmp_path / "m.npz", X.asformat(kind))
        said = r"save_npz, which has no labels: .*load_npz\(FILE\), y"
        with pytest.raises(InputError, match=said):
            ingest(tmp_path / "m.npz", tmp_path / "d.zarr")
    data = ingest((sparse.load_npz(tmp_path / "m.npz"), y), tmp_path / "d.zarr")
    np.testing.assert_allclose(data.rows.read(0, 30).toarray(), X.toarray(), rtol=1e-6)
    dump_svmlight_file(X, y, str(tmp_path / "m.svm"))
    text = ingest(tmp_path / "m.svm", tmp_path / "t.zarr", scale="none", sparse=False)
    np.testing.assert_allclose(text.rows.read(0, 30), X.toarray(), rtol=1e-6)


def test_rows_with_fields_are_refused_and_the_advice_works(tmp_path: Path) -> None:
    rows = np.array([(0.5, 1, 0), (2.5, 3, 1), (1.5, 2, 0)], "f8, i4, i4")
    rows.dtype.names = ("height", "rooms", "label")
    np.save(tmp_path / "rows.npy", rows)
    with pytest.raises(InputError, match=r"fields \(height, rooms, label\).*pandas\.DataFrame\("):
        ingest(tmp_path / "rows.npy", tmp_path / "d.zarr")
    pd.DataFrame(np.load(tmp_path / "rows.npy")).to_csv(tmp_path / "rows.csv", index=False)
    data = ingest(tmp_path / "rows.csv", tmp_path / "d.zarr", scale="none")
    np.testing.assert_array_equal(data.rows.read(0, 3), [[0.5, 1], [2.5, 3], [1.5, 2]])
