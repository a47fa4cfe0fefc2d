"""Rows and labels of pandas whose indices have the same values in another order."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import DcsvmWarning, InputError
from dcsvm_dask.estimators import DCSVC, DCSVR

N = 40
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"])
Y = pd.Series(np.where(RNG.random(N) > 0.5, "p", "q"), name="y")
MIXED = RNG.permutation(N)


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("index", [range(N), [f"r{k}" for k in range(N)], [*range(20)] * 2])
def test_another_order_is_warned_of(words: bool, index: Any, tmp_path: Path) -> None:
    rows = X.assign(c=["u", "v"] * (N // 2)) if words else X
    rows, labels = rows.set_axis(index), Y.set_axis(index).iloc[MIXED]
    give = r"y.loc\[X" if len({*index}) == N else "both in the same order"
    with pytest.warns(DcsvmWarning, match=rf"another order.*paired by position: give {give}"):
        data = ingest((rows, labels), tmp_path / "d.zarr", one_hot="auto" if words else ())
    found = np.array(data.classes)[data.read_y(0, N)]
    assert found.tolist() == labels.tolist()  # by position


@pytest.mark.parametrize("index", [range(N), range(100, 100 + N), [*range(20)] * 2])
def test_other_indices_are_not_warned_of(index: Any, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ingest((X.set_axis(index), Y.set_axis(index)), tmp_path / "d.zarr")
        ingest((X, Y.set_axis(range(N, 2 * N))), tmp_path / "e.zarr")
        ingest((X.to_numpy(), Y.iloc[MIXED]), tmp_path / "f.zarr")


def test_an_estimator_warns_alike() -> None:
    with pytest.warns(DcsvmWarning, match=r"^DCSVC: .*another order.*give y.loc\[X") as caught:
        DCSVC().fit(X, Y.iloc[MIXED])
    assert [one.filename for one in caught] == [__file__]
    with pytest.warns(DcsvmWarning, match="^DCSVR: .*another order"):
        DCSVR().fit(X, pd.Series(RNG.normal(size=N)).iloc[MIXED])
    with warnings.catch_warnings():
        warnings.simplefilter("error", DcsvmWarning)
        DCSVC().fit(X, Y)
        DCSVC().fit(X, Y.set_axis(range(N, 2 * N)))


def test_other_values_are_not_warned_of(tmp_path: Path) -> None:
    pairs = pd.MultiIndex.from_product([range(N // 2), range(2)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k, (one, other) in enumerate(
            [
                (pairs, range(N)),  # of several levels and of one
                (range(N), pairs),
                ([0] * 20 + [1] * 20, [0] * 15 + [1] * 25),  # each as often as it may be
                ([*range(20)] * 2, [*range(19), 0] * 2),
            ]
        ):
            ingest((X.set_axis(one), Y.set_axis(other)), tmp_path / f"{k}.zarr")
        train = MIXED[:30]  # as train_test_split divides both
        ingest((X.iloc[train], Y.iloc[train]), tmp_path / "split.zarr")
    with pytest.warns(DcsvmWarning, match="another order"):
        ingest((X.set_axis(pairs), Y.set_axis(pairs[::-1])), tmp_path / "d.zarr")


def test_labels_that_are_a_frame_are_refused_with_what_to_do(tmp_path: Path) -> None:
    for rows in (X, X.to_numpy()):
        with pytest.raises(InputError, match=r"labels of shape \(40, 1\); give its one column"):
            ingest((rows, Y.to_frame()), tmp_path / "d.zarr")
