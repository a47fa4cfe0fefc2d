"""Whatever the objects of a data set or a lock hold: what was written reads, or is refused."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from hypothesis import strategies as st
from scipy import sparse

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.storage.claims import read_owner
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import SEAL, Location
from dcsvm_dask.storage.lock import FolderLock
from tests.strategies import (
    changes_below,
    check_copies,
    check_message,
    damaged_json,
    fuzz,
    inputs,
    noise,
)


@pytest.fixture(scope="module")
def data_sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Give a dense data set of two classes and a sparse one of three."""
    home = tmp_path_factory.mktemp("data")
    source = str(resources.files("dcsvm_dask.demo") / "covtype.csv.xz")
    ingest(source, home / "dense", label="lodgepole_pine", rows=(0, 160), scale="minmax")
    X = sparse.random_array((90, 12), density=0.2, format="csr", rng=np.random.default_rng(0))
    y = np.array(["a", "b", "c"] * 30)
    ingest((X, y), home / "sparse", scale="standard", chunk_rows=32)
    return {"dense": home / "dense", "sparse": home / "sparse"}


def contents(place: Path) -> Any:
    """Return all that a data set says, checked for form."""
    data = DataSet.open(place)
    n = data.n_rows
    rows, codes = data.rows.read(0, n), data.read_codes(0, n)
    rows = rows.toarray() if data.is_sparse else rows
    assert rows.shape == (n, data.n_features)
    assert np.isfinite(rows).all()
    assert np.bincount(codes).tolist() == data.counts
    assert data.scaling is not None
    assert data.scaling.factor is not None
    json.dumps([data.fingerprint, data.positive, data.feature_names, data.reading], allow_nan=False)
    classes = np.array([str(label) for label in data.classes])
    return rows, codes, data.read_hashes(0, n), classes, data.scaling.factor, data.n_distinct


@pytest.mark.one_quick
@inputs(30)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("pattern", ["dataset.json", "zarr.json", "c/**/*"])
def test_data_sets(
    count: int, pattern: str, kind: str, data_sets: dict[str, Path], tmp_path: Path
) -> None:
    whole = data_sets[kind]
    fuzz(check_copies(whole, tmp_path / "copy", contents), changes_below(whole, pattern), count)


@inputs(80)
def test_data_sets_without_a_checksum(
    count: int, data_sets: dict[str, Path], tmp_path: Path
) -> None:
    """As earlier versions wrote them: what follows from the kinds of values is known."""
    whole = data_sets["dense"]
    about = json.loads((whole / "dataset.json").read_bytes())
    del about[SEAL]
    changes = st.tuples(st.just("dataset.json"), damaged_json(about))
    known = [
        ("dataset.json", json.dumps({**about, **change}).encode())
        for change in (
            {"attempt": "../.."},
            {"classes": [0, float("nan")]},
            {"scaling": {"kind": "minmax", "arrays": ["x" * 300]}},
            {"scaling": {"kind": "minmax", "arrays": ["offset"]}},
            {"n_features": 10**12},
        )
    ]
    fuzz(check_copies(whole, tmp_path / "copy", contents, same=False), changes, count, known)


@inputs(80)
def test_locks(count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is taken, or the lock is shown with its place; a lock that lives stays."""
    monkeypatch.setattr("dcsvm_dask.storage.lock.time.sleep", lambda seconds: None)
    place = Location.of(tmp_path / "run")
    with FolderLock(place) as held:
        assert held._claim is not None
        mine = held._claim.owner
    (tmp_path / "run").mkdir(exist_ok=True)
    file = tmp_path / "run/lock/000001-0123456789ab.json"
    file.parent.mkdir()
    living = {**mine, "heartbeat": 0.0, "released": False}
    away = {**living, "boot": "another-boot"}

    def check(content: bytes) -> None:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(content)
        read_owner(place)
        try:
            with FolderLock(place):
                pass
        except InputError as error:
            check_message(error, place.url)
            assert file.read_bytes() == content

    known = [
        json.dumps({**living, "since": 1e300}).encode(),
        json.dumps({**living, "since": float("nan")}).encode(),
        json.dumps(living).encode().replace(b"[", b"[" * 9999),
    ]
    assert psutil.pid_exists(mine["pid"])
    files = st.one_of(damaged_json(living), damaged_json(away), noise())
    fuzz(check, files, count, known)
