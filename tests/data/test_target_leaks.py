"""Columns that follow the target are named; those of real sets do not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_diabetes

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.data.target_leaks import target_leaks
from dcsvm_dask.errors import DcsvmWarning

RNG = np.random.default_rng(0)
N = 400
PRICE = RNG.lognormal(5.0, 1.0, N)
OTHER = RNG.normal(size=N)


def found(rows: Any, y: Any) -> list[str]:
    return target_leaks(rows, y, [(str(j), slice(j, j + 1)) for j in range(rows.shape[1])])


@pytest.mark.parametrize(
    "column",
    [PRICE, -1.1 * PRICE, np.log(PRICE), PRICE.astype(np.float32), np.round(PRICE, 1)],
    ids=["copy", "unit", "logarithm", "float32", "rounded"],
)
def test_columns_that_follow_the_target(column: Any) -> None:
    assert found(np.column_stack([OTHER, column]), PRICE) == ["1"]
    assert found(np.column_stack([OTHER, column])[:49], PRICE[:49]) == []
    assert found(column[:, None], PRICE) == []  # a curve


def test_columns_that_follow_it_only_nearly() -> None:
    noisy = PRICE * np.exp(0.05 * OTHER)
    assert np.corrcoef(np.log(noisy), np.log(PRICE))[0, 1] > 0.998
    parts = np.column_stack([noisy, np.ones(N), np.median(PRICE) < PRICE, np.abs(PRICE - 90.0)])
    assert found(parts, PRICE) == []
    swapped = PRICE.copy()
    swapped[np.argsort(PRICE)[[0, -1]]] = swapped[np.argsort(PRICE)[[-1, 0]]]
    assert found(np.column_stack([OTHER, swapped]), PRICE) == []


@pytest.mark.parametrize("name", ["mv", "fried", "cadata", "cpusmall", "kin40k", "protein"])
def test_real_sets(name: str, shared_data: Callable[[str], Any]) -> None:
    data = shared_data(name)
    assert found(data["X_train"][:4000], data["y_train"][:4000]) == []


def test_another_real_set() -> None:
    assert found(*load_diabetes(return_X_y=True)) == []


def test_the_column_is_named_by_its_name(tmp_path: Path) -> None:
    frame = pd.DataFrame({"size": OTHER, "price in cents": 100 * PRICE, "price": PRICE})
    frame.to_csv(tmp_path / "t.csv", index=False)
    how: dict[str, Any] = {"label": "price", "task": "regression", "overwrite": True}
    with pytest.warns(DcsvmWarning) as caught:
        data = ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how)
    assert [str(one.message) for one in caught] == data.warnings
    assert data.warnings == [
        (
            f"{tmp_path}/t.csv: the column 'price in cents' orders all 400 rows as the "
            "target does; where it is a copy of the target, or known only with it, "
            "leave it out (--drop 'price in cents', in Python drop=[NAME])"
        )
    ]
    how["drop"] = ["price in cents"]
    assert ingest(tmp_path / "t.csv", tmp_path / "d.zarr", **how).warnings == []


@pytest.mark.parametrize("zero_based", [True, False])
def test_features_of_svmlight_text_are_named_as_the_text_counts_them(
    zero_based: bool, tmp_path: Path
) -> None:
    rows = sparse.random_array((N, 30), density=0.2, rng=RNG, format="lil")
    rows[:, 0] = OTHER
    rows[:, 7] = 2.0 * PRICE
    source, feature = tmp_path / "t.svm", 7 if zero_based else 8
    dump_svmlight_file(rows.tocsr(), PRICE, str(source), zero_based=zero_based)
    said = rf"the column 'feature {feature}' orders all 400 rows as the target does; .* out$"
    with pytest.warns(DcsvmWarning, match=said):
        ingest(source, tmp_path / "d.zarr", task="regression")
    labels = (PRICE > 150.0).astype(int)
    rows[:, 7] = 3.0 * labels
    dump_svmlight_file(rows.tocsr(), labels, str(source), zero_based=zero_based)
    said = rf"the column 'feature {feature}' alone predicts the label for all 400 .* out$"
    with pytest.warns(DcsvmWarning, match=said):
        ingest(source, tmp_path / "e.zarr")


def test_values_for_missing_ones_in_sparse_rows(tmp_path: Path) -> None:
    rows = sparse.random_array((N, 30), density=0.2, rng=RNG, format="lil")
    labels = RNG.integers(0, 2, N)
    assert ingest((rows.tocsr(), labels), tmp_path / "d.zarr").warnings == []
    rows[::9, 4] = -999.0
    said = r"the value -999 lies outside of all others in the column 'feature 4' \(11.2% of .*; "
    said += "where it stands for a missing value, write another number instead, such as the median"
    with pytest.warns(DcsvmWarning, match=said):
        ingest((rows.tocsr(), labels), tmp_path / "e.zarr")


@pytest.mark.parametrize(
    "name", ["a9a", "w8a", "phishing", "census_income_kdd_test", "ijcnn1", "usps"]
)
def test_real_sparse_sets(name: str, shared_data: Callable[[str], Any], tmp_path: Path) -> None:
    data = shared_data(name)
    if "X_train" in data:
        X = sparse.csr_array(data["X_train"][:4000])
    else:
        parts = (data[f"X_train_{part}"] for part in ("data", "indices", "indptr"))
        X = sparse.csr_array(tuple(parts), shape=tuple(data["X_train_shape"]))[:4000]
    found = ingest((X, data["y_train"][:4000]), tmp_path / "d.zarr").warnings
    assert [
        one
        for one in found
        if any(what in one for what in ("alone predicts", "orders all", "lies outside"))
    ] == []
