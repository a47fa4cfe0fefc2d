"""What a result depends on is compared before use, each chunk at its own place."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from dcsvm_dask import Execution, api
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmError, InputError
from dcsvm_dask.storage import checksums
from dcsvm_dask.storage.arrays import read_array
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.run_folder import HEADER

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2048, 6)).astype(np.float32)
Y = np.where(X[:, 0] > 0, 1, -1)
WEIGHTS = RNG.uniform(0.5, 2.0, len(X))
HERE = Execution(workers=0)


@pytest.fixture(autouse=True)
def _compare_again() -> None:
    """Forget what this process has compared, as a new one has."""
    checksums._compared.clear()


def make(place: Path, *, is_sparse: bool = False, **how: Any) -> DataSet:
    rows = sparse.csr_array(np.where(np.abs(X) > 1, X, 0)) if is_sparse else X
    return ingest((rows, Y), place, chunk_rows=512, weights=WEIGHTS, **how)


def part(place: Path) -> Path:
    return next(place.glob("parts-*")) / "train"


def everything(data: DataSet) -> None:
    """Read all that a training reads."""
    data.rows.read(0, data.n_rows)
    data.read_codes(0, data.n_rows)
    data.read_weights(0, data.n_rows)
    data.read_hashes(0, data.n_rows)


def test_a_chunk_that_was_copied_over_another_one_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "d.zarr"
    everything(make(place))
    chunks = part(place) / "rows" / "X" / "c"
    shutil.copy(chunks / "0" / "0", chunks / "1" / "0")
    # Each chunk by itself is sound: without the list the rows of one stand for those of another.
    raw = read_array(Location.of(part(place) / "rows" / "X"))
    np.testing.assert_array_equal(raw[:512], raw[512:1024])
    checksums._compared.clear()
    data = DataSet.open(place)
    np.testing.assert_array_equal(data.rows.read(0, 512), X[:512])
    with pytest.raises(
        InputError, match=r"X/c/1/0: damaged: its checksum differs from the committed"
    ):
        data.rows.read(0, 1024)
    with pytest.raises(DcsvmError, match="damaged"):
        api.train(place, tmp_path / "run", execution=HERE, quiet=True)


@pytest.mark.one_quick
@pytest.mark.parametrize("is_sparse", [False, True])
def test_no_object_of_a_data_set_can_be_another_one_or_be_missing(
    is_sparse: bool, tmp_path: Path
) -> None:
    whole = tmp_path / "d.zarr"
    make(whole, is_sparse=is_sparse, scale="unit")
    make(whole, is_sparse=is_sparse, overwrite=True)
    everything(DataSet.open(whole))
    objects = [path for path in part(whole).rglob("*") if path.is_file()]
    assert len(objects) > 8
    for number, damaged in enumerate(objects):
        if damaged.parent == part(whole):  # the group's own metadata, which nobody reads
            continue
        for other in (None, objects[number - 1]):
            copy = tmp_path / "copy.zarr"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(whole, copy)
            target = copy / damaged.relative_to(whole)
            if other is None:
                target.unlink()
            else:
                shutil.copy(other, target)
            checksums._compared.clear()
            with pytest.raises(InputError, match=r"damaged|no (array|rows) there"):
                everything(DataSet.open(copy))


@pytest.mark.parametrize("damage", [None, b"", b"{}"])
def test_the_list_itself_is_bound_to_its_data_set(tmp_path: Path, damage: bytes | None) -> None:
    place = tmp_path / "d.zarr"
    make(place)
    checksums._read_keys.cache_clear()
    listed = part(place).parent / "checksums.json"
    if damage is None:
        listed.unlink()
    else:
        listed.write_bytes(damage)
    with pytest.raises(InputError, match=r"checksums\.json: damaged"):
        DataSet.open(place)


def test_rows_travel_with_the_checksums_of_their_own_objects(tmp_path: Path) -> None:
    data = make(tmp_path / "d.zarr")
    rows = pickle.loads(pickle.dumps(data.rows))
    np.testing.assert_array_equal(rows.read(0, 2048), X)
    chunks = part(tmp_path / "d.zarr") / "rows" / "X" / "c"
    shutil.copy(chunks / "0" / "0", chunks / "2" / "0")
    checksums._compared.clear()
    with pytest.raises(InputError, match="c/2/0: damaged"):
        pickle.loads(pickle.dumps(data.rows)).read(1024, 2048)
    assert len(pickle.dumps(data.rows)) < 3000  # not those of codes and hashes


@pytest.mark.parametrize("other", ["b", "a"])
def test_arrays_of_a_commit_are_compared_when_they_are_read(tmp_path: Path, other: str) -> None:
    run = RunFolder.create(Location.of(tmp_path / "run"), HEADER)
    attempt = run.attempt("s", "n")
    # Too large to lie in one object with others, and of the same size when they are packed.
    values, others = RNG.integers(1 << 62, size=(2, 80_000))
    attempt.write("a", values)
    attempt.write("b", others)
    attempt.commit({})
    np.testing.assert_array_equal(run.node("s", "n").read("a"), values)
    checksums._compared.clear()
    target = Path(attempt.place.url) / "a" / "c" / "0"
    if other == "b":
        shutil.copy(target.parents[2] / "b" / "c" / "0", target)
    else:
        target.write_bytes(b"x" * target.stat().st_size)
    with pytest.raises(InputError, match=r"a/c/0: damaged: its checksum"):
        run.node("s", "n").read("a")


def test_predictions_read_no_rows_that_are_not_the_committed_ones(tmp_path: Path) -> None:
    place = tmp_path / "d.zarr"
    ingest((X, Y), place, chunk_rows=512, test_fraction=0.5)
    run = api.train(place, tmp_path / "run", execution=HERE, quiet=True, report=False)
    run.evaluate(f"{place}/test", execution=HERE)
    chunks = next(place.glob("parts-*")) / "test" / "rows" / "X" / "c"
    shutil.copy(chunks / "0" / "0", chunks / "1" / "0")
    checksums._compared.clear()
    for act in (run.evaluate, run.predict):
        with pytest.raises(DcsvmError, match="damaged"):
            act(f"{place}/test", execution=HERE)
