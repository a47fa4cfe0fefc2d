"""gamma by a rule: scikit-learn's number, whatever the blocks in which rows come."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import RunningVariance, check_rule, gamma_by

X, Y = load_breast_cancer(return_X_y=True)
CUTS = (0, 1, 70, 70, 400, len(X))


def variance_of(rows: Any, cuts: tuple[int, ...] = CUTS) -> float:
    found = RunningVariance()
    for start, stop in pairwise(cuts):
        found.update(rows[start:stop])
    return found.variance


@pytest.mark.parametrize("rule", ["scale", "auto"])
def test_a_rule_gives_the_gamma_of_scikit_learn(rule: str) -> None:
    wanted = SVC(gamma=rule).fit(X, Y)._gamma
    assert gamma_by(rule, X.shape[1], variance_of(X)) == pytest.approx(wanted, rel=1e-12)


def test_values_that_sparse_rows_do_not_store_are_zeros() -> None:
    rows = sparse.random_array((len(X), 50), density=0.1, format="csr", rng=0)
    assert variance_of(rows) == pytest.approx(rows.toarray().var(), rel=1e-12)


def test_a_large_mean_does_not_cancel() -> None:
    rows = (X[:, :1] % 1.0) + 1e6
    assert variance_of(rows) == pytest.approx(rows.var(), rel=1e-9)


def test_equal_values_have_no_variance_and_gamma_1() -> None:
    rows = np.full((len(X), 3), 0.1)
    assert variance_of(rows) == 0.0
    assert gamma_by("scale", 3, variance_of(rows)) == 1.0


def test_another_word_is_refused() -> None:
    with pytest.raises(InputError, match='gamma is \'scal\'; give "scale", "auto" or a number'):
        check_rule("scal")
