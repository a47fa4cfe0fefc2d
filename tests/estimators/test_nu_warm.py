"""nu-SVMs and the one-class SVM begin at the last solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCNuSVC, DCNuSVR, DCOneClassSVM
from tests.marks import long

WORDS: dict[str, Any] = {"gamma": 0.02, "tol": 1e-5, "nu": 0.2}


def values(model: Any, X: Any) -> Any:
    decides = hasattr(model, "decision_function")
    return model.decision_function(X) if decides else model.predict(X)


def steps(model: Any) -> int:
    return int(np.sum(model.n_iter_))


@pytest.mark.one_quick
@pytest.mark.parametrize("n", [600, long(2600)])
@pytest.mark.parametrize(
    ("estimator", "n_classes"),
    [(DCNuSVC(**WORDS), 2), (DCNuSVC(**WORDS), 10), (DCNuSVR(**WORDS), 10), (DCOneClassSVM(), 2)],
    ids=["two classes", "ten classes", "targets", "novelty"],
)
def test_the_same_solution_in_fewer_steps(
    estimator: Any, n_classes: int, n: int, problem: Callable[[str], Any]
) -> None:
    X, y = problem("usps")
    X, y = X[:n], y[:n] % n_classes
    first = clone(estimator).set_params(**WORDS, warm_start=True).fit(X, y)
    same = clone(first).fit(X, y).fit(X, y)
    assert steps(same) < 0.3 * steps(first)
    first.set_params(nu=0.21).fit(X, y)
    cold = clone(first).fit(X, y)
    assert steps(first) < steps(cold)
    spread = np.std(values(cold, X))
    np.testing.assert_allclose(values(first, X), values(cold, X), rtol=0, atol=1e-3 * spread)
    np.testing.assert_allclose(first.objective_, cold.objective_, rtol=1e-4)


@pytest.mark.parametrize("estimator", [DCNuSVC(), DCNuSVR(), DCOneClassSVM()])
def test_other_rows_begin_anew(estimator: Any, problem: Callable[[str], Any]) -> None:
    X, y = problem("breast_cancer")
    warm = clone(estimator).set_params(warm_start=True).fit(X, y)
    cold = clone(estimator).fit(X[:300], y[:300])
    warm.fit(X[:300], y[:300])
    np.testing.assert_array_equal(warm.n_iter_, cold.n_iter_)
    np.testing.assert_array_equal(values(warm, X), values(cold, X))
    with pytest.raises(InputError, match="warm_start is 'yes'; give True or False"):
        warm.set_params(warm_start="yes").fit(X, y)
