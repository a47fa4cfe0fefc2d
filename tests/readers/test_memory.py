"""Files that state sizes, or unpack to more than they are: refused before memory is taken."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import google_crc32c
import numcodecs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from scipy import sparse

import dcsvm_dask
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers import memory
from dcsvm_dask.readers.labels import LabelTable
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.readers.statistics import ScalingStatistics
from dcsvm_dask.readers.weights import Weights
from tests.marks import long

SETTING = r"above the memory bound of \S+ MiB; .* raise --memory-bound .* DCSVM_MEMORY_BOUND"
READ = """
import resource, sys
from dcsvm_dask.readers.open import open_source
from dcsvm_dask.errors import InputError
from tests.marks import long
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    print(sum(rows.shape[0] for rows, _ in open_source(sys.argv[1]).blocks()), "rows")
except InputError as error:
    print(error)
"""


@pytest.fixture(autouse=True)
def _least_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.SETTING, "256MiB")


def read(path: Path, **options: Any) -> tuple[Any, list[Any]]:
    blocks = list(open_source(path, **options).blocks())
    rows = [r.toarray() if sparse.issparse(r) else r for r, _ in blocks]
    return np.concatenate(rows), [
        v for _, labels in blocks if labels is not None for v in labels.tolist()
    ]


def codes(path: Path) -> list[Any]:
    source = open_source(path)
    labels = LabelTable(source.name)
    return [labels.add(found) for _, found in source.blocks()]


def read_in_2_gib(path: Path) -> str:
    """Return the output of a process that reads a file in 2 GiB of memory, with the usual bound."""
    words = {name: value for name, value in os.environ.items() if name != memory.SETTING}
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, env=words
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_wide_rows_that_are_all_empty(tmp_path: Path) -> None:
    """Its 88 kB wanted 612 GiB."""
    path = tmp_path / "rows.csv.gz"
    names = b",".join(b"c%d" % k for k in range(19_600))
    path.write_bytes(gzip.compress(names + b"\n" * 8_300_000))
    assert path.stat().st_size < 100_000
    assert "empty: it holds no rows" in read_in_2_gib(path)


@pytest.mark.parametrize("name", ["rows.csv", "rows.svm", "rows.txt"])
@pytest.mark.parametrize("ending", [".gz", *map(long, (".xz", ".bz2"))])
def test_one_line_without_end(name: str, ending: str, tmp_path: Path) -> None:
    pack = {".gz": lambda b: gzip.compress(b, 1), ".xz": lzma.compress, ".bz2": bz2.compress}
    path = tmp_path / f"{name}{ending}"
    first = b"1 1:0 1:0" if name.endswith("svm") else b"1,2,3"
    path.write_bytes(pack[ending](first + b"0" * 60_000_000))
    with pytest.raises(InputError, match=rf"rows.* a line of \d+ MiB or more takes .*{SETTING}"):
        read(path)


def test_a_dictionary_of_xz(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29}]
    path.write_bytes(lzma.compress(b"1,2\n3,4\n", filters=filters))
    with pytest.raises(InputError, match=f"unpacking it .xz. takes more than 128 MiB.*{SETTING}"):
        read(path)
    with dcsvm_dask.memory_bound("2GiB"):
        np.testing.assert_array_equal(read(path)[0], [[1], [3]])


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_archive_of_zeros(order: str, tmp_path: Path) -> None:
    """One of 14 MB took 3.3 GB."""
    path = tmp_path / "rows.npz"
    row = {"C": (1, 20_000_000), "F": (20_000, 1000)}[order]
    head = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": order == "F", "shape": row}
    np.lib.format.write_array_header_1_0(head, about)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("X.npy", head.getvalue() + bytes(160_000_000))
        label = io.BytesIO()
        np.save(label, np.zeros(row[0]))
        archive.writestr("y.npy", label.getvalue())
    assert path.stat().st_size < 2_000_000
    with pytest.raises(InputError, match=rf"rows.npz, X: an array of shape .*{SETTING}"):
        read(path)


def test_an_archive_packed_by_lzma(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, values in (("X", np.eye(3)), ("y", np.arange(3))):
            file = io.BytesIO()
            np.save(file, values)
            archive.writestr(f"{name}.npy", file.getvalue())
    with pytest.raises(InputError, match="X: compressed by LZMA, whose memory is unbounded"):
        read(path)


def test_a_table_of_contents(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(150):
            archive.writestr(f"{k}{'x' * 60_000}", b"")
    with pytest.raises(InputError, match=f"a table of contents of .*{SETTING}"):
        read(path)


def test_wide_labels_are_read_by_few_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    X = np.arange(30_000.0)[:, None]
    np.savez_compressed(path, X=X, y=np.where(X[:, 0] % 2, "a", "b" * 900))
    rows, labels = read(path)
    np.testing.assert_array_equal(rows, X)
    assert {len(label) for label in labels} == {1, 900}


@pytest.mark.parametrize("shape", [(1, 12), (3, 4), (12, 1)])
def test_labels_of_two_axes(shape: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcsvm_dask.readers.numpy_files.BLOCK_BYTES", 40)
    path = tmp_path / "rows.npz"
    for order in "CF":
        y = np.asarray((np.arange(12) % 3).reshape(shape), order=order)
        np.savez(path, X=np.arange(24.0).reshape(12, 2), y=y)
        assert read(path)[1] == [k % 3 for k in range(12)]


def test_a_row_of_csr_parts(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    n = 9_000_000
    parts = {"data": np.ones(n, np.int8), "indices": np.zeros(n, np.int32)}
    parts |= {"indptr": np.array([0, n]), "shape": np.array([1, 5])}
    np.savez_compressed(path, y=np.ones(1), **{f"X_{name}": part for name, part in parts.items()})
    with pytest.raises(InputError, match=f"X: a row of 9,000,000 values takes .*{SETTING}"):
        read(path)


def test_a_row_group(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    n = 17_000_000
    table = pa.table({"a": np.zeros(n), "b": np.zeros(n), "y": np.zeros(n, np.int8)})
    pq.write_table(table, path, row_group_size=n, use_dictionary=False, compression="zstd")
    assert path.stat().st_size < 300_000
    with pytest.raises(InputError, match=f"row group 0 of 17,000,000 rows takes .*{SETTING}"):
        read(path)


def test_words_of_a_dictionary(tmp_path: Path) -> None:
    """A word of 100 kB for each of 200,000 rows is there once."""
    path = tmp_path / "rows.parquet"
    n = 200_000
    words = pa.DictionaryArray.from_arrays(np.zeros(n, np.int32), ["w" * 100_000])
    table = pa.table({"a": np.zeros(n), "y": words})
    pq.write_table(table, path, store_schema=False)
    with pytest.raises(InputError, match=r"a label of 100,000 characters, 'w+'\.\.\."):
        codes(path)


def test_a_long_word_among_many_labels(tmp_path: Path) -> None:
    """An array as wide as the longest label would take 800 GB."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b"1,a\n2,b\n" * 100_000 + b"3," + b"c" * 1_000_000 + b"\n")
    with pytest.raises(InputError, match=r"row 200000 .* has a label of 1,000,000 characters"):
        codes(path)


@pytest.mark.parametrize("shards", [None, (40_000_000,)])
def test_chunks_of_a_zarr_group(shards: Any, tmp_path: Path) -> None:
    home = tmp_path / "rows.zarr"
    group = zarr.open_group(home, mode="w")
    group.create_array("X", shape=(9, 1), chunks=(40_000_000, 1), dtype="f8")
    chunk = (40_000_000,) if shards is None else (10_000,)
    group.create_array("y", shape=(9,), chunks=chunk, shards=shards, dtype="f8")
    about = json.loads((home / "y/zarr.json").read_text())
    about["shape"] = [39_999_999]
    (home / "y/zarr.json").write_text(json.dumps(about))
    about = json.loads((home / "X/zarr.json").read_text())
    about["shape"][0] = 39_999_999
    (home / "X/zarr.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match=f"y: a row of chunks of .* rows takes .*{SETTING}"):
        read(home)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    "codec",
    [
        *(numcodecs.Zstd(), numcodecs.GZip(), numcodecs.Zlib(), numcodecs.LZ4(), numcodecs.Blosc()),
        *(long(codec, id=codec.codec_id) for codec in (numcodecs.BZ2(), numcodecs.LZMA())),
    ],
    ids=lambda codec: codec.codec_id,
)
def test_a_chunk_that_unpacks_to_more(codec: Any, tmp_path: Path) -> None:
    home = tmp_path / "rows.zarr"
    group = zarr.open_group(home, mode="w", zarr_format=2)
    X = np.arange(40.0).reshape(10, 4)
    group.create_array("X", data=X, chunks=(5, 4), compressors=codec)
    group.create_array("y", data=np.arange(10) % 2)
    np.testing.assert_array_equal(read(home)[0], X)
    (home / "X/1.0").write_bytes(codec.encode(bytes(200_000_000)))
    with pytest.raises(InputError, match=r"rows 0:10 cannot be read .X/1.0 is .*long"):
        read(home)


@pytest.mark.parametrize("codec", ["zstd", "gzip", "blosc"])
def test_a_chunk_of_a_shard_that_unpacks_to_more(codec: str, tmp_path: Path) -> None:
    home = tmp_path / "rows.zarr"
    codecs = {
        "zstd": zarr.codecs.ZstdCodec(),
        "gzip": zarr.codecs.GzipCodec(),
        "blosc": zarr.codecs.BloscCodec(),
    }
    group = zarr.open_group(home, mode="w")
    X = np.arange(40.0).reshape(10, 4)
    group.create_array("X", data=X, chunks=(1, 4), shards=(5, 4), compressors=codecs[codec])
    group.create_array("y", data=np.arange(10) % 2)
    np.testing.assert_array_equal(read(home)[0], X)
    shard = home / "X/c/0/0"
    long = {"zstd": numcodecs.Zstd(), "gzip": numcodecs.GZip(), "blosc": numcodecs.Blosc()}
    packed = long[codec].encode(bytes(100_000))
    index = np.full((5, 2), 2**64 - 1, "<u8")
    index[2] = 0, len(packed)
    check = index.tobytes() + google_crc32c.value(index.tobytes()).to_bytes(4, "little")
    shard.write_bytes(packed + bytes(check))
    with pytest.raises(InputError, match=r"rows 0:10 cannot be read .X/c/0/0 is .*long"):
        read(home)


def test_packings_that_are_not_known(tmp_path: Path) -> None:
    home = tmp_path / "rows.zarr"
    group = zarr.open_group(home, mode="w", zarr_format=2)
    two = [numcodecs.Zlib()]
    group.create_array("X", data=np.eye(4), filters=two, compressors=numcodecs.Zlib())
    group.create_array("y", data=np.arange(4) % 2)
    with pytest.raises(InputError, match="X: is compressed by zlib, which is not supported"):
        read(home)


def test_metadata_of_a_group(tmp_path: Path) -> None:
    home = tmp_path / "rows.zarr"
    group = zarr.open_group(home, mode="w")
    group.create_array("X", data=np.eye(4))
    group.create_array("y", data=np.arange(4) % 2)
    with (home / "X/zarr.json").open("a") as file:
        file.write(" " * 6_000_000)
    with pytest.raises(InputError, match=f"X/zarr.json: metadata of 5.72 MiB takes .*{SETTING}"):
        read(home)


def test_a_header_of_more_than_a_mebibyte(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    n = 120_000
    names = [f"feature-{k}" for k in range(n)]
    assert len(",".join(names)) > 1 << 20
    path.write_text(",".join([*names, "y"]) + "\n" + ("0.5," * n + "1\n") * 2)
    source = open_source(path)
    assert source.feature_names == names
    rows, labels = read(path)
    assert rows.shape == (2, n)
    assert labels == [1, 1]


def test_weights_that_end_in_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "weights.gz"
    path.write_bytes(gzip.compress(b"1\n2\n" + b"\n" * 9_000_000))
    np.testing.assert_array_equal(Weights.of(path).values, [1, 2])
    path.write_bytes(gzip.compress(b"1\n2\n" + b"\n" * 1_000_000 + b"3\n"))
    with pytest.raises(InputError, match="line 3: '' is not a number"):
        Weights.of(path)


@pytest.mark.long
def test_more_weights_than_fit(tmp_path: Path) -> None:
    path = tmp_path / "weights.gz"
    path.write_bytes(gzip.compress(b"1\n" * 34_000_000, 1))
    with pytest.raises(InputError, match=f"more than 33,.* weights takes .*{SETTING}"):
        Weights.of(path)


def test_features_to_scale() -> None:
    statistics = ScalingStatistics("minmax", "rows.svm")
    rows = sparse.csr_array((1, 2**31 - 1), dtype=np.float32)
    with pytest.raises(InputError, match="scaling 2,147,483,647 features by minmax takes 320 GiB"):
        statistics.update(rows)


@pytest.mark.parametrize("size", ["much", "0", "-1GiB", "100MB", "1e400", ""])
def test_bounds_that_are_none(size: str) -> None:
    with (
        pytest.raises(InputError, match=r"^memory-bound(:| must be) "),
        dcsvm_dask.memory_bound(size),
    ):
        pass


def test_the_bound_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert memory.bound() == 1 << 28
    with dcsvm_dask.memory_bound(1 << 29):
        assert memory.bound() == 1 << 29
        with dcsvm_dask.memory_bound("4 GiB"):
            assert memory.bound() == 4 << 30
    assert memory.bound() == 1 << 28
    monkeypatch.delenv(memory.SETTING)
    with dcsvm_dask.memory_bound(1 << 29):
        assert memory.bound() == 1 << 29
    assert memory.bound() == memory.DEFAULT == 1 << 30
