"""Ingest of real data: what comes back, its hashes and fingerprint, splits, classes, scaling."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import MinMaxScaler

from dcsvm_dask.data import ingest as module
from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.split import shares
from dcsvm_dask.errors import DcsvmWarning, InputError, RunError
from dcsvm_dask.storage.claims import read_owner
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.lock import FolderLock
from tests.stored import labels_of, rows_of, split_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5)).astype(np.float32)
Y = np.where(X[:, 0] > 0, 1, -1)


def csr_of(archive: Any, part: str) -> Any:
    data, indices, indptr = (archive[f"X_{part}_{p}"] for p in ("data", "indices", "indptr"))
    return sparse.csr_array((data, indices, indptr), archive[f"X_{part}_shape"])


def test_covtype(shared_data: Any, tmp_path: Path) -> None:
    archive = shared_data("covtype")
    X, y = archive["X_train"][:30000], archive["y_train"][:30000]
    np.savez(tmp_path / "cov.npz", X_train=X, y_train=y)
    data = ingest(tmp_path / "cov.npz", tmp_path / "c.zarr", scale="minmax", test_fraction=0.2)
    train, test = split_of(y, 6000)
    scaler = MinMaxScaler().fit(X[train].astype(np.float64))
    scaler.scale_[X[train].min(axis=0) == X[train].max(axis=0)] = 0
    scaler.min_[X[train].min(axis=0) == X[train].max(axis=0)] = 0
    np.testing.assert_allclose(rows_of(data), scaler.transform(X[train]), atol=1e-7)
    np.testing.assert_array_equal(labels_of(data), y[train])
    held_out = DataSet.open(tmp_path / "c.zarr" / "test")
    np.testing.assert_allclose(rows_of(held_out), scaler.transform(X[test]), atol=2e-7, rtol=1e-6)
    np.testing.assert_array_equal(labels_of(held_out), y[test])
    assert not data.is_sparse
    assert data.classes == [-1, 1]
    assert data.counts == [int((y[train] == v).sum()) for v in (-1, 1)]
    assert data.scaling is not None
    np.testing.assert_array_equal(data.scaling.apply(X[train]).astype(np.float32), rows_of(data))


@pytest.mark.one_quick
@pytest.mark.parametrize("form", ["npz", "svmlight"])
def test_a9a_stays_sparse(form: str, shared_data: Any, tmp_path: Path) -> None:
    archive = shared_data("a9a")
    X, y = archive["X_train"], archive["y_train"]
    np.savez(tmp_path / "a9a.npz", X_train=X, y_train=y, X_test=X[:50], y_test=y[:50])
    source, options = tmp_path / "a9a.npz", {"sparse": True}
    if form == "svmlight":
        source, options = tmp_path / "a9a", {}
        dump_svmlight_file(X, y, str(source), zero_based=False)
    data = ingest(source, tmp_path / "a9a.zarr", **options)
    assert data.is_sparse
    np.testing.assert_array_equal(rows_of(data), X)
    np.testing.assert_array_equal(labels_of(data), y)
    assert data.rows.nnz == np.count_nonzero(X)
    assert data.n_distinct == len(np.unique(np.column_stack([X, y]), axis=0))


def test_reuters_keeps_both_parts(shared_data: Any, tmp_path: Path) -> None:
    archive = shared_data("reuters_money_fx")
    source = tmp_path / "reuters.npz"
    np.savez(source, **{k: archive[k] for k in archive.files})
    data = ingest(source, tmp_path / "r.zarr")
    assert data.parts == ["train", "test"]
    for part in ("train", "test"):
        held = data.open_part(part)
        wanted = csr_of(archive, part)
        assert (held.rows.read(0, held.n_rows) != wanted).nnz == 0
        np.testing.assert_array_equal(labels_of(held), archive[f"y_{part}"])
        index = RNG.permutation(held.n_rows)[:500]
        assert (held.rows.take(index) != wanted[index]).nnz == 0


def test_the_same_data_from_any_source_have_one_fingerprint(tmp_path: Path) -> None:
    rows = np.where(RNG.random(X.shape) < 0.9, 0, X).astype(np.float32)
    rows[-1] = 1
    dump_svmlight_file(rows.astype(np.float64), Y, str(tmp_path / "a.svm"), zero_based=False)
    np.savetxt(tmp_path / "a.csv", np.column_stack([rows, Y]), delimiter=",", fmt="%.17g")
    with gzip.open(tmp_path / "a.tsv.gz", "wb") as file:
        np.savetxt(file, np.column_stack([Y, rows]), delimiter="\t", fmt="%.17g")
    np.save(tmp_path / "a.npy", np.column_stack([rows, Y]))
    sources: list[Any] = [tmp_path / n for n in ("a.svm", "a.csv", "a.npy")]
    sources += [(rows, Y), (-rows * -1.0, Y.astype(str)), (sparse.coo_array(rows), Y.astype(float))]
    how: dict[str, Any] = {"scale": "none"}
    found = [
        ingest(s, tmp_path / f"{k}.zarr", chunk_rows=50 + k, **how) for k, s in enumerate(sources)
    ]
    found.append(ingest(tmp_path / "a.tsv.gz", tmp_path / "t.zarr", label=0, sparse=True, **how))
    found.append(ingest(found[0].url, tmp_path / "again.zarr", sparse=False))
    assert len({data.fingerprint for data in found}) == 1
    assert {data.is_sparse for data in found} == {True, False}
    changed = rows.copy()
    changed[17, 2] += 1
    others = [(changed, Y), (rows[::-1], Y[::-1]), (rows, -Y), (rows[:-1], Y[:-1])]
    others += [(np.column_stack([rows, np.zeros(300)]), Y), (rows, np.where(Y > 0, 2, -1))]
    prints = {ingest(s, tmp_path / f"o{k}.zarr").fingerprint for k, s in enumerate(others)}
    assert len(prints | {found[0].fingerprint}) == 7


def test_repeats_have_equal_hashes(tmp_path: Path) -> None:
    rows = np.repeat(X[:50], 4, axis=0)
    labels = np.tile([1, -1, 1, 1], 50)
    data = ingest((rows, labels), tmp_path / "d.zarr")
    hashes = data.read_hashes(0, 200)
    assert hashes.dtype == np.uint64
    assert hashes.shape == (200, 2)
    distinct, inverse = np.unique(np.column_stack([rows, labels]), axis=0, return_inverse=True)
    found, mine = np.unique(hashes, axis=0, return_inverse=True)
    assert data.n_distinct == len(found) == len(distinct) == 100
    same = inverse.reshape(-1)[:, None] == inverse.reshape(-1)
    np.testing.assert_array_equal(mine.reshape(-1)[:, None] == mine.reshape(-1), same)


def test_rows_of_a_source_can_be_limited(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.csv", np.column_stack([X, Y]), delimiter=",", fmt="%.17g")
    for source in (tmp_path / "a.csv", (X, Y)):
        data = ingest(source, tmp_path / "a.zarr", rows=(10, 200), scale="none", overwrite=True)
        np.testing.assert_array_equal(rows_of(data), X[10:200])
        np.testing.assert_array_equal(labels_of(data), Y[10:200])


def test_shuffled_rows_are_a_permutation_by_seed(tmp_path: Path) -> None:
    for source in ((X, Y), (sparse.csr_array(X), Y)):
        data = ingest(source, tmp_path / "a.zarr", shuffle=True, seed=5, overwrite=True)
        order = np.random.default_rng(5).permutation(300)
        np.testing.assert_array_equal(rows_of(data), X[order])
        np.testing.assert_array_equal(labels_of(data), Y[order])


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_order_is_the_same_by_buckets(
    is_sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcsvm_dask.storage.permute.BUCKET_BYTES", 400)
    monkeypatch.setattr("dcsvm_dask.storage.permute.MOST_BUCKETS", 3)
    source = (sparse.csr_array(X) if is_sparse else X, Y)
    data = ingest(source, tmp_path / "a.zarr", test_fraction=0.3, seed=1)
    train, test = split_of(Y, 90, seed=1)
    np.testing.assert_array_equal(rows_of(data), X[train])
    np.testing.assert_array_equal(rows_of(data.open_part("test")), X[test])
    np.testing.assert_array_equal(labels_of(data.open_part("test")), Y[test])


@pytest.mark.parametrize("bucket_bytes", [400, 1 << 20])
def test_only_the_first_of_the_training_rows(
    bucket_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcsvm_dask.storage.permute.BUCKET_BYTES", bucket_bytes)
    data = ingest((X, Y), tmp_path / "a.zarr", test_fraction=0.3, train_rows=50, scale="minmax")
    train, test = split_of(Y, 90)
    some = X[[row for row in train if row in kept_of(train, 50)]]
    low, high = some.min(axis=0), some.max(axis=0)
    factor = 1.0 / np.where(high > low, high - low, 1.0)
    np.testing.assert_allclose(rows_of(data), (some - low) * factor, atol=1e-6)
    np.testing.assert_array_equal(labels_of(data.open_part("test")), Y[test])
    shuffled = ingest((X, Y), tmp_path / "b.zarr", shuffle=True, train_rows=50)
    np.testing.assert_array_equal(labels_of(shuffled), Y[split_of(Y, 250)[0]])


def kept_of(order: np.ndarray, n: int) -> set[int]:
    """Return the first rows of each of two classes in an order, n in all."""
    first = round(n * np.mean(Y[order] == 1))
    return {*order[Y[order] == 1][:first].tolist(), *order[Y[order] == -1][: n - first].tolist()}


def test_each_part_has_every_class_whatever_the_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = np.repeat(["many", "few", "two", "once"], [243, 54, 2, 1])
    found = []
    for bound in (16, 1 << 20):
        monkeypatch.setattr("dcsvm_dask.readers.source.BLOCK_BYTES", bound)
        place = tmp_path / f"{bound}.zarr"
        with pytest.warns(DcsvmWarning, match=r"test part has no row of once \(1 in the other\)"):
            data = ingest((X, y), place, test_fraction=0.2, seed=2)
        found.append((data.fingerprint, data.open_part("test").fingerprint))
        counts = dict(zip(data.classes, data.counts, strict=True))
        assert counts == {"few": 43, "many": 195, "once": 1, "two": 1}
        assert data.open_part("test").counts == [11, 48, 0, 1]
    assert found[0] == found[1]
    sample = ingest((X, y), tmp_path / "s.zarr", shuffle=True, train_rows=20)
    assert sample.counts == [3, 15, 1, 1]


@pytest.mark.parametrize("seed", range(20))
def test_shares_of_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.geometric(rng.uniform(0.001, 0.3), rng.integers(1, 12))
    n_off = int(rng.integers(1, counts.sum())) if counts.sum() > 1 else 0
    off = shares(counts, n_off)
    assert off.sum() == n_off
    assert ((off >= 0) & (off <= counts)).all()
    both = counts > 1
    if both.sum() <= n_off <= (counts - 1).sum():
        assert (off[both] >= 1).all()
        assert (off < counts).all()
    even = counts * (n_off / counts.sum())
    if (np.floor(even) >= 1).all() and (np.ceil(even) < counts).all():
        assert np.abs(off - even).max() < 1


def test_positive_labels(shared_data: Any, tmp_path: Path) -> None:
    archive = shared_data("mnist")
    digits = archive["y_train"][:2000]
    X = archive["X_train"][:2000]
    np.savez(tmp_path / "m.npz", X_train=X, y_train=digits, X_test=X[:99], y_test=digits[:99])
    data = ingest(tmp_path / "m.npz", tmp_path / "m.zarr", positive=["0", "3", 6, 8, 9])
    assert data.classes == [-1, 1]
    assert data.positive == [0, 3, 6, 8, 9]
    wanted = np.where(np.isin(digits, [0, 3, 6, 8, 9]), 1, -1)
    np.testing.assert_array_equal(labels_of(data), wanted)
    np.testing.assert_array_equal(labels_of(data.open_part("test")), wanted[:99])


def test_a_test_part_of_its_own(tmp_path: Path) -> None:
    # The index 0 in one file says how to count in both; widths differ.
    (tmp_path / "train.svm").write_text("1 1:1 2:2\n-1 2:5\n1 1:3\n")
    (tmp_path / "test.svm").write_text("-1 0:4\n1 9:1\n")
    data = ingest(
        tmp_path / "train.svm", tmp_path / "a.zarr", test=tmp_path / "test.svm", scale="none"
    )
    assert data.n_features == 10
    np.testing.assert_array_equal(rows_of(data)[:, :4], [[0, 1, 2, 0], [0, 0, 5, 0], [0, 3, 0, 0]])
    held_out = data.open_part("test")
    assert held_out.n_features == 10
    np.testing.assert_array_equal(rows_of(held_out)[:, [0, 9]], [[4, 0], [0, 1]])


def test_a_test_part_in_another_format(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.csv", np.column_stack([X, Y]), delimiter=",", fmt="%.17g")
    dump_svmlight_file(X[:40].astype(np.float64), Y[:40], str(tmp_path / "b.svm"), zero_based=False)
    for scale in ("none", "minmax"):
        data = ingest(
            tmp_path / "a.csv",
            tmp_path / "a.zarr",
            label=5,
            test=tmp_path / "b.svm",
            scale=scale,
            overwrite=True,
        )
        assert not data.is_sparse
        np.testing.assert_array_equal(rows_of(data.open_part("test")), rows_of(data)[:40])


def test_only_svmlight_says_from_where_indices_count(tmp_path: Path) -> None:
    assert ingest((X, Y), tmp_path / "a.zarr").reading["first_feature"] is None
    for first, text in ((1, "1 1:1\n-1 2:1\n"), (0, "1 1:1\n-1 0:1\n")):
        (tmp_path / "a.svm").write_text(text)
        data = ingest(tmp_path / "a.svm", tmp_path / "a.zarr", overwrite=True)
        assert data.reading["first_feature"] == first
        again = ingest(tmp_path / "a.zarr", tmp_path / "b.zarr", overwrite=True)
        assert again.reading == data.reading


def test_a_scaled_data_set_as_source(tmp_path: Path) -> None:
    first = ingest((X, Y), tmp_path / "a.zarr", scale="minmax", test_fraction=0.5)
    subset = ingest(first.place, tmp_path / "b.zarr", rows=(0, 100))
    assert subset.parts == ["train", "test"]
    np.testing.assert_array_equal(rows_of(subset), rows_of(first)[:100])
    assert subset.scaling is not None
    assert first.scaling is not None
    assert subset.scaling.equals(first.scaling)
    only = ingest(first.place / "train", tmp_path / "c.zarr", test=(X[:5], Y[:5]))
    wanted = first.scaling.apply(X[:5]).astype(np.float32)
    np.testing.assert_array_equal(rows_of(only.open_part("test")), wanted)
    with pytest.raises(InputError, match="is scaled already"):
        ingest(first.place, tmp_path / "d.zarr", scale="standard")


def test_an_existing_data_set_is_kept(tmp_path: Path) -> None:
    first = ingest((X, Y), tmp_path / "a.zarr")
    with pytest.raises(
        InputError, match=r"a data set exists there; remove it or give overwrite=True"
    ):
        ingest((X[:100], Y[:100]), tmp_path / "a.zarr")
    bad = X.copy()
    bad[299, 0] = np.nan
    with pytest.raises(InputError):
        ingest((bad, Y), tmp_path / "a.zarr", overwrite=True)
    again = DataSet.open(tmp_path / "a.zarr")
    assert again.fingerprint == first.fingerprint
    np.testing.assert_array_equal(rows_of(again), X)
    second = ingest((X[:100], Y[:100]), tmp_path / "a.zarr", overwrite=True)
    assert second.n_rows == 100
    assert len([p for p in (tmp_path / "a.zarr").iterdir() if p.name.startswith("parts-")]) == 1


@pytest.mark.parametrize("when", ["write_part", "commit"])
def test_an_ingest_that_lost_its_place_leaves_the_next_one_whole(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was suspended while another one came, wrote its data set, and went."""
    place = Location.of(tmp_path / "d.zarr")
    rows, others = (X, Y), (X[::-1].copy(), Y[::-1].copy())
    whole = getattr(module, when)

    def suspended(*arguments: Any, **words: Any) -> Any:
        monkeypatch.undo()
        (place / "lock").delete()
        kept.append(ingest(others, place, overwrite=True).fingerprint)
        return whole(*arguments, **words)

    kept: list[str] = []
    monkeypatch.setattr(module, when, suspended)
    with pytest.raises(RunError, match=r"lost the data set|deleted while it was written"):
        ingest(rows, place)
    found = DataSet.open(place)
    assert found.fingerprint == kept[0]
    np.testing.assert_array_equal(found.rows.read(0, found.n_rows), others[0])


def test_a_place_that_another_process_ingests_into_is_refused(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("a,y\n1,0\n2,1\n")
    place = Location.of(tmp_path / "d.zarr")
    with (
        FolderLock(place, "data set"),
        pytest.raises(InputError, match=rf"the data set is in use by .*process {os.getpid()}"),
    ):
        ingest(rows, place, label="y")
    assert not (tmp_path / "d.zarr" / "dataset.json").exists()
    assert ingest(rows, place, label="y").n_rows == 2
    assert read_owner(place) is None
