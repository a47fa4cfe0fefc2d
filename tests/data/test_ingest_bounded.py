"""Ingests that would take more memory than the memory bound, and wide ones that do not."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.data.form import default_chunk_rows
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.readers.memory import SETTING, memory_bound
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location, seal
from tests.readers.fuzzing import recommit

WIDE = "1 1:1\n-1 2147483646:1\n1 3:2 7:1\n-1 4:1\n"
HERE = api.Execution(workers=0)


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_scaling_of_an_index_of_2_to_the_31(scale: str, tmp_path: Path) -> None:
    """It wanted 16 GiB."""
    path = tmp_path / "wide.svm"
    path.write_text(WIDE)
    said = f"{path}: scaling 2,147,483,647 features by {scale} takes 320 GiB.*--memory-bound"
    with pytest.raises(InputError, match=said):
        ingest(path, tmp_path / "d.zarr", scale=scale)
    assert not (tmp_path / "d.zarr").exists()


@pytest.mark.parametrize("scale", ["none", "unit"])
def test_an_index_of_2_to_the_31_without_scaling(scale: str, tmp_path: Path) -> None:
    path = tmp_path / "wide.svm"
    path.write_text(WIDE)
    data = ingest(path, tmp_path / "d.zarr", scale=scale)
    assert data.is_sparse
    assert data.n_features == 2_147_483_646
    rows = data.rows.read(0, 4)
    np.testing.assert_array_equal(rows.indices, [0, 2_147_483_645, 2, 6, 3])
    with pytest.raises(InputError, match=r"1,024 rows of .* dense, takes .* memory bound"):
        ingest(path, tmp_path / "e.zarr", scale=scale, sparse=False, chunk_rows=1024)


def test_rows_that_are_empty_and_wide(tmp_path: Path) -> None:
    """A block of a million rows without values, stored dense, wanted 8 GB."""
    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:1 2000:1\n-1 2:1\n" + b"1\n" * 20_000))
    data = ingest(path, tmp_path / "d.zarr", sparse=False, scale="none")
    run = api.train(data.place, tmp_path / "run", gamma=1.0, quiet=True, execution=HERE)
    largest = 0

    def seen(rows: Any) -> Any:
        nonlocal largest
        largest = max(largest, rows.shape[0])

    from dcsvm_dask.prediction import batches

    original = batches.prepare_rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "prepare_rows", lambda r, *a: (seen(r), original(r, *a))[1])
        assert run.predict(path).shape == (20_002,)
    assert 0 < largest <= (8 << 20) // 8000


def test_wide_dense_rows_have_small_chunks() -> None:
    for d in (10, 5000, 60_000, 10**6, 10**9):
        rows = default_chunk_rows(10**6, d, 10**6 * d, is_sparse=False)
        assert rows == 1 or rows * 4 * d <= 64 << 20


@pytest.mark.long
def test_a_json_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "256MiB")
    place = Location.of(tmp_path / "state.json")
    Path(place.url).write_bytes(b'{"a": [' + b"[]," * 2_000_000 + b"0]}")
    with pytest.raises(InputError, match=r"state.json: an object of 5.72 MiB takes .* 256"):
        place.read_json()
    with memory_bound("1GiB"):
        assert len(place.read_json()["a"]) == 2_000_001


def test_a_data_set_of_more_rows_than_are_stored(tmp_path: Path) -> None:
    X = np.arange(400.0).reshape(200, 2)
    data = ingest((X, np.arange(200) % 2), tmp_path / "d.zarr")
    held = tmp_path / "d.zarr" / data.attempt / "train"
    n = 10**12
    for name in ("rows/X", "codes", "hashes"):
        about = Location.of(held / name / "zarr.json")
        value = about.read_json()
        value["shape"][0] = n
        about.write_json(value)
    about = Location.of(held / "rows" / "zarr.json")
    value = about.read_json()
    value["attributes"] |= {"n_rows": n, "nnz": 2 * n}
    about.write_json(value)
    commit = Location.of(tmp_path / "d.zarr" / "dataset.json")
    value = commit.read_json()
    value["parts"]["train"]["counts"] = [n - 100, 100]
    commit.write_json(seal(value))
    assert recommit(tmp_path / "d.zarr")
    opened = DataSet.open(tmp_path / "d.zarr")
    for read in (opened.rows.read, opened.read_codes, opened.read_hashes):
        with pytest.raises(InputError, match=r"damaged: the chunk c/1\S* is missing"):
            read(0, n)


def test_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    data = ingest((X, np.arange(60) % 2), tmp_path / "d.zarr")
    run = api.train(data.place, tmp_path / "run", quiet=True, execution=HERE)
    monkeypatch.setattr("dcsvm_dask.readers.memory.LEAST", 1)
    what = r"(: the model|/.*: a chunk of shape \([\d, ]+\))"
    said = rf"run/.*/model{what} takes \d+ bytes of memory, above"
    with memory_bound(500):
        for use in (
            lambda: run.predict(X),
            lambda: run.predict_file(data.place, tmp_path / "out.csv"),
            lambda: run.evaluate(data.place),
            lambda: run.export(tmp_path / "model"),
            lambda: run.export(tmp_path / "model", format="onnx"),
            run.to_sklearn,
        ):
            with pytest.raises(InputError, match=said):
                use()
