"""Cells of later rows that are far outside of the training range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from dcsvm_dask.readers.outside import OutsideCounts, outside_line
from dcsvm_dask.readers.statistics import Ranges

RANGES = [[0.0, 1.0], [5.0, 5.0], [-2.0, 2.0]]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_cells_farther_than_the_range_is_wide(form: Callable[[Any], Any]) -> None:
    found = OutsideCounts(RANGES)
    found.update(form(np.array([[2.0, 900.0, -6.0], [-1.0, 5.0, 6.0], [0.5, 0.0, 2.0]])))
    assert found.to_json(None) == {}  # not farther, of a constant feature, or within
    found.update(form(np.array([[0.5, 5.0, 0.0], [0.0, 5.0, -6.5], [1.0, 5.0, 8.0]])))
    wanted = {"cells": 2, "sample": -6.5, "least": -2.0, "greatest": 2.0}
    assert found.to_json(None) == {"2": wanted}
    assert found.to_json(["a", "b", "c"]) == {"c": wanted}


def test_more_than_single_outliers_are_reported() -> None:
    far = {"cells": 3, "sample": 3940.0, "least": 1.5, "greatest": 39.4}
    assert outside_line({}, 3) is None
    assert outside_line({"price": far}, 30) is None
    assert outside_line({"price": far, "b": {**far, "cells": 1}}, 20) == (
        "the feature 'price' is far outside of its training range, 1.5 to 39.4, in 3 of 20 rows, "
        "such as 3940 (and cells of 1 more feature): predictions there mean little; compare unit "
        "and decimal mark with the training table"
    )


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
@pytest.mark.parametrize(
    "load", [load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine]
)
def test_held_out_rows_are_not_far_outside(load: Callable[..., Any], share: float) -> None:
    X = load().data
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(X))
        n = round(share * len(X))
        ranges = Ranges()
        ranges.update(X[order[n:]])
        found = OutsideCounts(np.column_stack(ranges.limits(X.shape[1])).tolist())
        found.update(X[order[:n]])
        assert outside_line(found.to_json(None), n) is None
