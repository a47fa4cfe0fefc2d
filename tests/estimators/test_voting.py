"""DCSVC by a machine of each class against the rest, beside scikit-learn's OneVsRestClassifier."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from dcsvm_dask import api
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import DCSVC, DCSVMSearchCV
from dcsvm_dask.runtime.execution import Execution
from tests.marks import long

SETS: dict[str, Any] = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
WORDS: dict[str, Any] = {"C": 5.0, "gamma": 0.05, "tol": 1e-5}


@pytest.fixture(scope="module", params=SETS)
def rows(request: pytest.FixtureRequest) -> Any:
    X, y = SETS[request.param](return_X_y=True)
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    return X.astype(np.float32), np.array(list("klmnopqrst"))[y]


@pytest.mark.one_quick
@pytest.mark.parametrize("store", [np.asarray, long(sparse.csr_array)], ids=["dense", "csr"])
@pytest.mark.parametrize(
    "words",
    [
        WORDS,
        {"kernel": "linear", "tol": 1e-6},
        *map(long, (WORDS | {"C": 1e3}, WORDS | {"kernel": "poly"})),
    ],
    ids=str,
)
def test_decision_values_are_scikit_learn_s(rows: Any, words: dict[str, Any], store: Any) -> None:
    X, y = rows
    ours = DCSVC(multiclass="ovr", **words).fit(store(X), y)
    theirs = OneVsRestClassifier(SVC(**words)).fit(X, y)
    values, expected = ours.decision_function(store(X)), theirs.decision_function(X)
    np.testing.assert_allclose(values, expected, rtol=0, atol=3e-4 * expected.std())
    best = np.sort(expected, axis=1)
    sure = best[:, -1] - best[:, -2] > 1e-3
    np.testing.assert_array_equal(ours.predict(store(X))[sure], theirs.predict(X)[sure])
    k = len(ours.classes_)
    assert ours.dual_coef_.shape == (k, len(ours.support_))
    assert ours.intercept_.shape == ours.n_iter_.shape == ours.objective_.shape == (k,)
    if words.get("kernel") == "linear":
        weights: Any = ours.coef_
        weights = weights.toarray() if sparse.issparse(weights) else weights
        wanted = np.vstack([one.coef_ for one in theirs.estimators_])
        np.testing.assert_allclose(weights, wanted, atol=1e-3)
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.decision_function(store(X)), values)


@pytest.mark.one_quick
def test_weights_of_rows_and_classes(rows: Any) -> None:
    X, y = rows
    weight = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], len(y))
    of_class = {label: 1.0 + place for place, label in enumerate(np.unique(y))}
    ours = DCSVC(multiclass="ovr", class_weight=of_class, **WORDS).fit(X, y, sample_weight=weight)
    together = weight * np.array([of_class[label] for label in y])
    expected = np.column_stack(
        [
            SVC(**WORDS).fit(X, y == label, sample_weight=together).decision_function(X)
            for label in ours.classes_
        ]
    )
    found = ours.decision_function(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-4 * expected.std())


def test_two_classes_have_one_machine(digits: Any) -> None:
    X, y = digits[0][:500], digits[1][:500] > 4
    pair, rest = (DCSVC(multiclass=one, **WORDS).fit(X, y) for one in ("ovo", "ovr"))
    np.testing.assert_array_equal(pair.decision_function(X), rest.decision_function(X))


def test_what_was_fitted_decides_whatever_is_set_afterwards(digits: Any) -> None:
    X, y = digits
    for first, second in (("ovo", "ovr"), ("ovr", "ovo")):
        model = DCSVC(multiclass=first, decision_function_shape="ovr").fit(X[:300], y[:300])
        wanted = model.decision_function(X[300:])
        model.set_params(multiclass=second)
        np.testing.assert_array_equal(model.decision_function(X[300:]), wanted)
        again = model.fit(X[:300], y[:300]).decision_function(X[300:])
        assert abs(again - wanted).max() > 0.1


def test_a_fit_begins_at_the_last_solution(digits: Any) -> None:
    X, y = digits
    cold = DCSVC(multiclass="ovr", C=1.5, gamma=0.1, tol=1e-5).fit(X, y)
    warm = clone(cold).set_params(C=1.0, warm_start=True).fit(X, y)
    warm.set_params(C=1.5).fit(X, y)
    assert warm.n_iter_.sum() < cold.n_iter_.sum()
    expected = cold.decision_function(X)
    np.testing.assert_allclose(warm.decision_function(X), expected, atol=3e-4 * expected.std())
    warm.fit(X, y)
    assert warm.n_iter_.max() <= 3
    # A solution of pairs is none of these machines.
    pairs = clone(cold).set_params(multiclass="ovo", warm_start=True).fit(X, y)
    pairs.set_params(multiclass="ovr").fit(X, y)
    np.testing.assert_array_equal(pairs.n_iter_, cold.n_iter_)


def test_as_a_run(digits: Any, tmp_path: Path) -> None:
    X, y = digits
    exact = DCSVC(multiclass="ovr", **WORDS).fit(X[:600], y[:600])
    kept = clone(exact).set_params(run=tmp_path / "mine").fit(X[:600], y[:600])
    api.ingest((X[:600], y[:600]), tmp_path / "d.zarr")
    how: dict[str, Any] = {"multiclass": "ovr", "fit_intercept": True, "quiet": True}
    here = Execution(workers=0)
    api.train(tmp_path / "d.zarr", tmp_path / "run", execution=here, **WORDS, **how)
    expected = exact.decision_function(X[600:])
    for one in (kept, DCSVC.from_run(tmp_path / "mine"), DCSVC.from_run(tmp_path / "run")):
        assert one.multiclass == "ovr"
        found = one.decision_function(X[600:])
        np.testing.assert_allclose(found, expected, atol=3e-4 * expected.std())
        assert one.dual_coef_.shape == (10, len(one.support_))
    with pytest.raises(InputError, match="other parameters"):
        clone(kept).set_params(multiclass="ovo").fit(X[:600], y[:600])


@pytest.mark.long
@pytest.mark.parametrize("block_rows", [4096, long(300)], ids=["whole", "blocks"])
def test_searches(digits: Any, block_rows: int) -> None:
    X, y = digits
    grid = {"C": [1.0, 10.0], "gamma": [0.03, 0.1]}
    ours = DCSVMSearchCV(DCSVC(multiclass="ovr"), grid, cv=3, block_rows=block_rows, exact=2)
    ours.fit(X, y)
    theirs = GridSearchCV(
        OneVsRestClassifier(SVC()), {f"estimator__{key}": grid[key] for key in grid}, cv=3
    ).fit(X, y)
    found, mean = ours.cv_results_, theirs.cv_results_["mean_test_score"]
    exact = ~found["early"]
    assert exact.sum() == (4 if block_rows == 4096 else 2)
    np.testing.assert_allclose(found["mean_test_score"][exact], mean[exact], atol=1e-3)
    assert ours.best_estimator_.multiclass == "ovr"
    assert ours.best_estimator_.intercept_.shape == (10,)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"multiclass": "rest"}, "multiclass must be one of ovo, ovr, got 'rest'"),
        ({"multiclass": None}, "multiclass must be one of ovo, ovr, got None"),
        ({"multiclass": "ovr", "decision_function_shape": "ovo"}, 'needs multiclass="ovo"'),
    ],
)
def test_what_is_impossible_is_refused(words: dict[str, Any], said: str, digits: Any) -> None:
    with pytest.raises(InputError, match=said):
        DCSVC(**words).fit(*digits)
