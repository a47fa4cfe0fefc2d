"""Weights of rows in runs: those of SVC, and those of rows given several times."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.about import data_set
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.diagnostics.report.tables.table import rows_of
from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import (
    DCSVC,
    BaggingSVC,
    CascadeSVC,
    FourierSVC,
    GreedySVC,
    LtpuSVC,
    NystromSVC,
    OnlineSVC,
)
from dcsvm_dask.pipeline import levels as training_levels
from dcsvm_dask.storage.dataset import DataSet
from tests.marks import half, long

WORDS: dict[str, Any] = {"C": 2.0, "gamma": 0.05, "tol": 1e-5}


@pytest.fixture(scope="module")
def usps(shared_data: Callable[[str], Any]) -> Any:
    data = shared_data("usps")
    return data["X_train"][:2500].astype(np.float32), data["y_train"][:2500].astype(np.int64)


def weights_like(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).choice([0.0, 0.25, 1.0, 3.5], n)


def check_agree(run: DCSVC, svc: SVC, X: Any, weight: Any) -> None:
    theirs = svc.decision_function(X.astype(np.float64))
    assert np.abs(run.decision_function(X) - theirs).max() <= 1e-3 * theirs.std()
    assert (weight[run.support_] > 0).all()
    np.testing.assert_array_equal(run.support_vectors_, X[run.support_])
    # LIBSVM numbers the rows that are left without those of weight 0.
    support = np.flatnonzero(weight)[svc.support_]
    np.testing.assert_array_equal(svc.support_vectors_, X[support])
    assert len(np.setxor1d(run.support_, support)) <= 0.005 * len(support)
    alpha = np.abs(run.dual_coef_).max(axis=0)
    assert (alpha <= WORDS["C"] * weight[run.support_] * (1 + 1e-12)).all()
    np.testing.assert_allclose(run.intercept_, svc.intercept_, rtol=0, atol=1e-3)


@pytest.mark.one_quick
@pytest.mark.parametrize("levels", [False, True], ids=["one set", "a tree"])
def test_two_classes_have_the_decisions_of_svc(
    levels: bool, usps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if levels:
        monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 1000)
    X, y = usps[0], usps[1] % 2
    weight = weights_like(len(y))
    svc = SVC(**WORDS).fit(X.astype(np.float64), y, sample_weight=weight)
    run = DCSVC(**WORDS, run=tmp_path / "run").fit(X, y, sample_weight=weight)
    check_agree(run, svc, X, weight)
    again = DCSVC.from_run(tmp_path / "run")
    np.testing.assert_array_equal(again.decision_function(X), run.decision_function(X))
    assert again.shape_fit_[0] == np.count_nonzero(weight)


def test_many_classes_have_the_decisions_of_svc(usps: Any, tmp_path: Path) -> None:
    X, y = usps[0][:1200], usps[1][:1200]
    weight = weights_like(len(y))
    words = {**WORDS, "decision_function_shape": "ovo", "class_weight": {3: 2.0}}
    svc = SVC(**words).fit(X.astype(np.float64), y, sample_weight=weight)
    run = DCSVC(**words, run=tmp_path / "run").fit(X, y, sample_weight=weight)
    theirs = svc.decision_function(X.astype(np.float64))
    assert np.abs(run.decision_function(X) - theirs).max() <= 1e-3 * theirs.std()
    assert (weight[run.support_] > 0).all()
    one = DCSVC(**words).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(run.objective_, one.objective_, rtol=1e-6)


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
@pytest.mark.long
def test_any_weights_are_those_of_svc(data: Any, usps: Any) -> None:
    n = data.draw(st.integers(40, 200))
    X, y = usps[0][:n], usps[1][:n] % 2
    scale = data.draw(st.sampled_from([1e-3, 1.0, 1e3]))
    seed = data.draw(st.integers(0, 100))
    weight = weights_like(n, seed) * scale
    weight[[0, 1]] = scale
    y = y.copy()
    y[[0, 1]] = 0, 1
    words = {**WORDS, "tol": 1e-7}
    svc = SVC(**words).fit(X.astype(np.float64), y, sample_weight=weight)
    run = DCSVC(**words, callbacks=[api.Callback()]).fit(X, y, sample_weight=weight)
    here = DCSVC(**words).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(run.objective_, here.objective_, rtol=1e-6)
    theirs = svc.decision_function(X.astype(np.float64))
    assert np.abs(run.decision_function(X) - theirs).max() <= 1e-3 * max(1e-3, theirs.std())


@pytest.mark.one_quick
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_rows_given_twice_are_rows_that_weigh_double(
    is_sparse: bool, usps: Any, tmp_path: Path
) -> None:
    X, y = usps[0][:600], usps[1][:600] % 2
    times = np.random.default_rng(1).integers(1, 4, len(y))
    more = np.repeat(np.arange(len(y)), times - 1)
    many, labels = np.concatenate([X, X[more]]), np.concatenate([y, y[more]])
    if is_sparse:
        X, many = sparse.csr_array(X), sparse.csr_array(many)
    repeated = DCSVC(**WORDS, run=tmp_path / "many").fit(many, labels)
    weighted = DCSVC(**WORDS, run=tmp_path / "few").fit(X, y, sample_weight=times)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), rtol=0, atol=1e-9
    )
    by_row = np.zeros(len(labels))
    by_row[repeated.support_] = (
        repeated.dual_coef_.toarray()[0] if is_sparse else repeated.dual_coef_[0]
    )
    mine = np.zeros(len(y))
    mine[weighted.support_] = (
        weighted.dual_coef_.toarray()[0] if is_sparse else weighted.dual_coef_[0]
    )
    np.testing.assert_allclose(mine, by_row[: len(y)] * times, rtol=0, atol=1e-9)


@pytest.mark.one_quick
@pytest.mark.parametrize(
    "method",
    [
        CascadeSVC(leaves=4),
        *map(
            long,
            (
                NystromSVC(rank=60),
                FourierSVC(outputs=100),
                LtpuSVC(centres=40),
                GreedySVC(basis=40),
            ),
        ),
        OnlineSVC(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_other_methods_take_weights_as_repeats(method: Any, usps: Any) -> None:
    X, y = usps[0][:400], usps[1][:400] % 2
    times = np.random.default_rng(1).integers(0, 4, len(y))
    kept = np.flatnonzero(times)
    order = np.concatenate([kept, np.repeat(kept, times[kept] - 1)])
    method.set_params(C=2.0, gamma=0.05)
    repeated = method.fit(X[order], y[order]).decision_function(X)
    weighted = method.fit(X, y, sample_weight=times).decision_function(X)
    plain = method.fit(X, y).decision_function(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-6)
    assert np.abs(weighted - plain).max() > 1e-2


def test_what_cannot_be_weighted_is_refused(usps: Any, tmp_path: Path) -> None:
    X, y = usps[0][:300], usps[1][:300]
    api.ingest((X, y % 2), tmp_path / "weighted.zarr", weights=weights_like(300))
    with pytest.raises(InputError, match="weights, which method bagging cannot take"):
        api.train(tmp_path / "weighted.zarr", tmp_path / "bag", method="bagging", quiet=True)
    assert not has_fit_parameter(BaggingSVC(), "sample_weight")
    absent = np.where(y == 4, 0.0, 1.0)
    with pytest.raises(InputError, match="no row of class 4 weighs more than 0"):
        DCSVC(**WORDS, run=tmp_path / "run").fit(X, y, sample_weight=absent)


def test_a_run_of_other_weights_is_refused(usps: Any, tmp_path: Path) -> None:
    X, y = usps[0][:300], usps[1][:300] % 2
    weight = weights_like(300)
    first = DCSVC(**WORDS, run=tmp_path / "run").fit(X, y, sample_weight=weight)
    again = DCSVC(**WORDS, run=tmp_path / "run").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(again.decision_function(X), first.decision_function(X))
    for other in (None, 2 * weight):
        with pytest.raises(InputError, match="begun with other data"):
            DCSVC(**WORDS, run=tmp_path / "run").fit(X, y, sample_weight=other)
    ones = DCSVC(**WORDS, run=tmp_path / "ones").fit(X, y, sample_weight=np.ones(300))
    assert DataSet.open(f"{tmp_path / 'ones'}.data.zarr").weights is None
    plain = DCSVC(**WORDS, run=tmp_path / "ones").fit(X, y)
    np.testing.assert_array_equal(plain.decision_function(X), ones.decision_function(X))


def test_a_share_of_weighted_rows_has_their_weights(usps: Any, tmp_path: Path) -> None:
    X, y = usps[0][:600], usps[1][:600] % 2
    weight = weights_like(600)
    data = api.ingest((X, y), tmp_path / "data.zarr", weights=weight)
    words = {**WORDS, "fit_intercept": True, "quiet": True, "execution": api.Execution(workers=0)}
    run = api.train(data.url, tmp_path / "run", method="subsample", fraction=0.5, **words)
    model = run.status()["model"]
    index = run.folder.node(model, "commit").read("sampled")
    kept = np.flatnonzero(weight)
    svc = SVC(**WORDS).fit(
        X[kept][index].astype(np.float64), y[kept][index], sample_weight=weight[kept][index]
    )
    theirs = svc.decision_function(X.astype(np.float64))
    assert np.abs(run.decision_function(X) - theirs).max() <= 1e-3 * theirs.std()


def test_a_model_of_weighted_rows_is_exported_and_reported(usps: Any, tmp_path: Path) -> None:
    X, y = usps[0][:500], usps[1][:500] % 2
    X, y = np.concatenate([X, X[:100]]), np.concatenate([y, y[:100]])
    weight = weights_like(600)
    data = api.ingest((X, y), tmp_path / "data.zarr", weights=weight)
    words = {**WORDS, "fit_intercept": True, "quiet": True, "execution": api.Execution(workers=0)}
    run = api.train(data.url, tmp_path / "run", report=False, **words)
    svc = run.to_sklearn()
    np.testing.assert_allclose(
        svc.decision_function(X.astype(np.float64)), run.decision_function(X), rtol=0, atol=1e-5
    )
    # Of rows that are equal each has its share.
    alpha, kept = np.zeros(600), np.flatnonzero(weight)
    alpha[kept[svc.support_]] = np.abs(svc.dual_coef_[0])
    share = np.divide(alpha, weight, out=np.zeros(600), where=weight > 0)
    both = (weight[:100] > 0) & (weight[500:] > 0)
    np.testing.assert_allclose(share[:100][both], share[500:][both], rtol=1e-12)
    assert np.count_nonzero(share[:100][both]) > 5
    reported = {row["name"]: row["value"] for row in rows_of(data_set(read_records(run.folder)))}
    assert reported["weights of rows"] == f"0.25 to 3.5, {weight.sum():g} together"


CLASSES: dict[str, Any] = {"C": 5.0, "gamma": 0.1}


@pytest.mark.long
@pytest.mark.parametrize(
    ("is_sparse", "multiclass"), half({"dense": False, "csr": True}, ["ovr", "ovo"])
)
def test_an_early_model_goes_on_to_the_exact_one(
    is_sparse: bool,
    multiclass: str,
    digits: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training_levels, "LEAST_ROWS_FOR_LEVELS", 200)
    X, y = digits
    X = sparse.csr_array(X) if is_sparse else X
    words = CLASSES | {"multiclass": multiclass}
    early = DCSVC(**words, stop_at=1, run=tmp_path / "run").fit(X[:1200], y[:1200])
    assert early.level_ == 1
    assert not hasattr(early, "dual_coef_")
    assert early.score(X[1200:], y[1200:]) > 0.9
    run = api.open_run(tmp_path / "run")
    reported = run.decision_function(X[1200:], precision="float64")
    np.testing.assert_allclose(early.decision_function(X[1200:]), reported, atol=1e-6)
    np.testing.assert_array_equal(early.predict(X[1200:]), run.predict(X[1200:]))
    assert early.support_vectors_.shape == (run.status()["n_support"], 64)
    again = pickle.loads(pickle.dumps(early))
    np.testing.assert_array_equal(again.predict(X[1200:]), early.predict(X[1200:]))
    exact = clone(early).set_params(stop_at=0).fit(X[:1200], y[:1200])
    svc: Any = SVC(**CLASSES) if multiclass == "ovo" else OneVsRestClassifier(SVC(**CLASSES))
    svc.fit(X[:1200], y[:1200])
    np.testing.assert_array_equal(exact.predict(X[1200:]), svc.predict(X[1200:]))
