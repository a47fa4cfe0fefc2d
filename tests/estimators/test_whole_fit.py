"""A fit that does not come to its end: the estimator is as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    DCNuSVC,
    DCOneClassSVM,
    nu_svc,
    one_class,
    regressors,
    svc,
)
from tests.marks import long

FITS = [
    (DCSVC(), svc),
    long(DCNuSVC(), nu_svc),
    long(DCSVR(), regressors),
    long(DCOneClassSVM(), one_class),
]


@pytest.mark.parametrize(("estimator", "module"), FITS)
def test_ctrl_c_leaves_the_estimator_as_it_was(
    estimator: Any, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, 1, 0)
    known, fresh = clone(estimator).fit(X, y), clone(estimator)
    expected = known.predict(X)

    def interrupt(*args: Any, **words: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "FitTasks", interrupt)
    for one in (known, fresh):
        with pytest.raises(KeyboardInterrupt):
            one.fit(X[:, :2], y + 7)
    assert np.array_equal(known.predict(X), expected)
    assert known.n_features_in_ == 3
    with pytest.raises(NotFittedError):
        fresh.predict(X)
