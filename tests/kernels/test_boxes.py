"""What boxes leave out of a product is within the budget, and they are the same however joined."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dcsvm_dask.kernels import Boxes, Kernel


def sizes_of(X: Any) -> Any:
    """Two blocks, as far as there are rows."""
    return np.array([len(X) // 3, len(X) - len(X) // 3])


def boxes_of(X: Any) -> Boxes:
    return Boxes.of(X, sizes_of(X))


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
@pytest.mark.parametrize("budget", [1e-9, 1e-3, 10.0])
def test_what_is_left_out_is_within_the_budget(
    covtype: Any, exact: Any, name: str, budget: float
) -> None:
    kernel, rng = Kernel(name, 32.0), np.random.default_rng(5)
    boxes = boxes_of(covtype)
    columns = np.flatnonzero(rng.random(len(covtype)) < 0.3)
    v = rng.uniform(-32, 32, len(columns))
    rows = np.arange(700, 1500, 3)
    kept, left = boxes.near(kernel, rows, columns, v, budget)
    assert 0 < len(kept) < len(columns)
    out = np.setdiff1d(np.arange(len(columns)), kept)
    errors = np.abs(exact(kernel, covtype[rows], covtype[columns[out]])) @ np.abs(v[out])
    assert errors.max() <= (budget - left) * (1 + 1e-9)
    assert 0.8 * budget < left <= budget


def test_columns_of_the_rows_themselves_are_near(covtype: Any) -> None:
    boxes, rows = boxes_of(covtype), np.arange(256, 512)
    kept, _ = boxes.near(
        Kernel("rbf", 1e9), rows, np.arange(len(covtype)), np.ones(len(covtype)), 1e-12
    )
    assert np.isin(rows, kept).all()


def test_weights_of_zero_are_far_whatever_the_distance(covtype: Any) -> None:
    v, boxes = np.zeros(len(covtype)), boxes_of(covtype)
    v[300] = 1.0
    columns = np.arange(len(covtype))
    kept, _ = boxes.near(Kernel("rbf", 1e-9), np.arange(9), columns, v, 1e-9)
    run = boxes.runs_of(np.array([300]))[0]
    assert np.array_equal(kept, np.arange(*boxes.borders[run : run + 2]))


@pytest.mark.parametrize("cuts", [(0, 1000, 1000, 1257), (0,)])
def test_joined_boxes_hold_their_rows(covtype: Any, cuts: tuple[int, ...]) -> None:
    cuts = (*cuts, len(covtype))
    tables = [covtype[a:b] for a, b in pairwise(cuts)]
    joined = Boxes.joined([boxes_of(table) for table in tables])
    assert joined.borders[0] == 0
    assert joined.borders[-1] == len(covtype)
    run = joined.runs_of(np.arange(len(covtype)))
    assert np.all(np.bincount(run, minlength=len(joined.low)) == np.diff(joined.borders))
    assert np.all(covtype >= joined.low[run])
    assert np.all(covtype <= joined.high[run])
    for r in range(len(joined.low)):
        of_run = covtype[joined.borders[r] : joined.borders[r + 1]]
        assert np.array_equal(joined.low[r], of_run.min(axis=0))
        assert np.array_equal(joined.high[r], of_run.max(axis=0))
    sizes = [sizes_of(table) for table in tables]
    parts = [Boxes.of(table, size) for table, size in zip(tables, sizes, strict=True)]
    stored = [Boxes.stored(s, b.low, b.high) for s, b in zip(sizes, parts, strict=True)]
    assert np.array_equal(Boxes.joined(stored).borders, joined.borders)


def test_no_run_holds_rows_of_two_blocks() -> None:
    X = np.arange(700, dtype=np.float32)[:, None]
    boxes = Boxes.of(X, np.array([0, 300, 100, 0, 300]))
    assert boxes.borders.tolist() == [0, 256, 300, 400, 656, 700]
    assert boxes.centres[:, 0].tolist() == [127.5, 277.5, 349.5, 527.5, 677.5]
