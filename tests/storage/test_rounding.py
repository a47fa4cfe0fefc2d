"""Rows are scaled in float64 and rounded last; what rounding takes away is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.prediction.batches import open_batches
from dcsvm_dask.storage.preparation import Preparation
from tests.marks import long
from tests.stored import rows_of

N = 400
TIMES = 1.7e9 + 60.0 * np.arange(N)
"""Seconds since 1970, 400 minutes."""
READINGS = np.round(np.sin(TIMES / 4000), 6)
TABLE = pd.DataFrame({"counter": TIMES, "reading": READINGS, "y": (READINGS > 0.2).astype(int)})
X, Y = TABLE[["counter", "reading"]].to_numpy(), TABLE["y"].to_numpy()
ROUNDED = r"feature 'counter' by up to 64, in a range of 1700000000 to 1700023940"


def csv(folder: Path) -> Any:
    TABLE.to_csv(folder / "a.csv", index=False)
    return folder / "a.csv"


def svmlight(folder: Path) -> Any:
    dump_svmlight_file(X, Y, str(folder / "a.svm"), zero_based=False)
    return folder / "a.svm"


def npy(folder: Path) -> Any:
    np.save(folder / "a.npy", TABLE.to_numpy())
    return folder / "a.npy"


def npz(folder: Path) -> Any:
    np.savez(folder / "a.npz", X=X, y=Y)
    return folder / "a.npz"


def parquet(folder: Path) -> Any:
    TABLE.to_parquet(folder / "a.parquet", index=False)
    return folder / "a.parquet"


def csr(folder: Path) -> Any:
    return sparse.csr_array(X), Y


FORMS: list[Callable[[Path], Any]] = [
    *(csv, svmlight, npy, npz, parquet, csr),
    lambda folder: TABLE,
    lambda folder: (X, Y),
]


@pytest.mark.one_quick
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("scale", "split"),
    [("minmax", True), ("standard", False), long("minmax", False), long("standard", True)],
)
def test_scaling_keeps_rows_apart(form: Any, scale: str, split: bool, tmp_path: Path) -> None:
    how: dict[str, Any] = {"shuffle": True, "sparse": False} if split else {"sparse": False}
    data = ingest(form(tmp_path), tmp_path / "d.zarr", scale=scale, **how)
    assert data.n_distinct == N
    order = np.random.default_rng(0).permutation(N) if split else np.arange(N)
    scaler = {"minmax": MinMaxScaler, "standard": StandardScaler}[scale]().fit(X)
    np.testing.assert_allclose(rows_of(data), scaler.transform(X[order]), atol=3e-7)
    # Rows that come later are scaled as the training rows were, from float64.
    later = open_batches(X[order], Preparation.of(data), labelled=False)
    found = np.concatenate([batch.arguments[0] for batch in later.batches()])
    np.testing.assert_array_equal(found, rows_of(data))


@pytest.mark.parametrize("form", FORMS)
def test_rows_that_rounding_makes_equal(form: Any, tmp_path: Path) -> None:
    source = form(tmp_path)
    with pytest.warns(DcsvmWarning, match="by up to 64, in a range of 1700000000 to") as caught:
        data = ingest(source, tmp_path / "d.zarr", scale="none")
    assert len(caught) == 1
    merged = N - len(np.unique(X.astype(np.float32), axis=0))
    # The readings keep rows of one rounded minute apart, but for some of them.
    assert (f"makes at least {merged} rows" in str(caught[0].message)) == (merged > 0)
    assert data.warnings == [str(caught[0].message)]


def test_merged_rows_are_counted(tmp_path: Path) -> None:
    times = TABLE[["counter"]].assign(y=np.arange(N) % 2)
    with pytest.warns(DcsvmWarning, match=ROUNDED) as caught:
        data = ingest(times, tmp_path / "d.zarr", scale="none")
    left = len(np.unique(TIMES.astype(np.float32)))
    assert left < 200
    assert f"makes at least {N - left} rows equal to others; scale" in str(caught[0].message)
    assert data.n_distinct < N


def test_rounding_that_takes_nothing_away(tmp_path: Path) -> None:
    """Also: ordinary decimals are stored as they always were."""
    rng = np.random.default_rng(0)
    table = np.column_stack(
        [rng.normal(size=3000), 1e6 + 1e5 * rng.random(3000), np.full(3000, 0.1)]
    )
    data = ingest((table, np.arange(3000) % 2), tmp_path / "d.zarr")
    np.testing.assert_array_equal(rows_of(data), table.astype(np.float32))
    assert data.warnings == []


def test_a_value_that_float32_does_not_hold_may_come_late(tmp_path: Path) -> None:
    lines = [f"{k % 7},{k % 5},{k % 2}" for k in range(5000)]
    (tmp_path / "a.csv").write_text("\n".join([*lines, "0.1,16777217,1"]) + "\n")
    data = ingest(tmp_path / "a.csv", tmp_path / "d.zarr", scale="minmax")
    wanted = MinMaxScaler().fit_transform(
        [*([k % 7, k % 5] for k in range(5000)), [0.1, 16777217.0]]
    )
    np.testing.assert_array_equal(rows_of(data), wanted.astype(np.float32))


def test_small_values_of_sparse_rows(tmp_path: Path) -> None:
    """What float32 rounds to zero is scaled first."""
    (tmp_path / "a.svm").write_text("1 1:1e-50 3:1\n-1 2:2e-50 3:1\n")
    data = ingest(tmp_path / "a.svm", tmp_path / "d.zarr", scale="minmax", sparse=True)
    np.testing.assert_array_equal(rows_of(data), [[1, 0, 1], [0, 1, 1]])
    with pytest.warns(DcsvmWarning, match="rounding to float32 changes values of the feature 0"):
        plain = ingest(tmp_path / "a.svm", tmp_path / "e.zarr", sparse=True)
    assert plain.rows.nnz == 2
    (tmp_path / "b.csv").write_text("1,3,a\n2,1e39,b\n")
    with pytest.raises(InputError, match="too large for float32"):
        ingest(tmp_path / "b.csv", tmp_path / "f.zarr", scale="minmax")
