"""Variables shared out among the rows that stand behind them."""

from __future__ import annotations

import numpy as np
import pytest

from dcsvm_dask.estimators.variables import variables_of


@pytest.mark.parametrize("bounded", [True, False])
def test_those_of_some_variables_are_those_of_all(bounded: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 2)).astype(np.float32)  # rows repeat
    codes, C = rng.integers(0, 2, 60), rng.integers(0, 4, 60).astype(np.float64)
    variables = variables_of(X, codes, C)
    alpha = (
        variables.C * rng.random(len(variables.rows)) * 1.5 * (rng.random(len(variables.C)) < 0.6)
    )
    sign = np.where(codes[variables.rows] == 0, 1.0, -1.0)
    some = rng.permutation(np.flatnonzero(alpha))
    which, rows, values = variables.shared_out_to_rows(some, (sign * alpha)[some], bounded=bounded)
    np.testing.assert_array_equal(variables.of_row[rows], some[which])
    found = np.zeros(60)
    found[rows] = values
    expected = np.where(codes == 0, 1.0, -1.0) * variables.shared_out(alpha, bounded=bounded)
    np.testing.assert_array_equal(found, expected)


def test_a_variable_may_be_that_of_several_machines() -> None:
    X = np.array([[0.0], [1.0], [0.0]], np.float32)
    variables = variables_of(X, np.zeros(3, np.int64), np.array([1.0, 1.0, 3.0]))
    both = variables.of_row[0]
    which, rows, values = variables.shared_out_to_rows(
        np.array([both, both]), np.array([2.0, -4.0])
    )
    np.testing.assert_array_equal(which, [0, 0, 1, 1])
    np.testing.assert_array_equal(rows, [0, 2, 0, 2])
    np.testing.assert_array_equal(values, [0.5, 1.5, -1.0, -3.0])


def test_there_may_be_none() -> None:
    variables = variables_of(np.zeros((2, 1), np.float32), np.zeros(2, np.int64), np.ones(2))
    found = variables.shared_out_to_rows(np.zeros(0, np.int64), np.zeros(0))
    assert [len(part) for part in found] == [0, 0, 0]
