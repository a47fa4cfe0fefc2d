"""Estimators on a budget: fits, rows as they come, and what is refused."""

from __future__ import annotations

import pickle
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.svm import SVC, SVR

from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.estimators import BudgetedSVC, BudgetedSVR, budgeted
from dcsvm_dask.kernels import Kernel, kernel_matrix
from dcsvm_dask.solvers import MergeTables
from dcsvm_dask.storage.merge_tables import as_bytes

ROWS = 2000
Rows = tuple[NDArray[np.float32], NDArray[Any], NDArray[np.float32], NDArray[Any]]


def rows_of(shared_data: Callable[[str], Any], name: str) -> Rows:
    found = shared_data(name)
    index = np.random.default_rng(0).permutation(len(found["X_train"]))[: 2 * ROWS]
    X, y = found["X_train"][index].astype(np.float32), found["y_train"][index]
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


@pytest.fixture(scope="session")
def two(shared_data: Callable[[str], Any]) -> Rows:
    return rows_of(shared_data, "ijcnn1")


@pytest.fixture(scope="session")
def digits(shared_data: Callable[[str], Any]) -> Rows:
    return rows_of(shared_data, "usps")


@pytest.fixture(scope="session")
def real(shared_data: Callable[[str], Any]) -> Rows:
    return rows_of(shared_data, "kin40k")


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_it_is_almost_as_accurate_as_svc(two: Rows, is_sparse: bool, fit_intercept: bool) -> None:
    X, y, Z, labels = two
    exact = SVC(C=8.0, gamma=2.0).fit(X, y).score(Z, labels)
    X, Z = (sparse.csr_array(one) if is_sparse else one for one in (X, Z))
    found = BudgetedSVC(C=8.0, gamma=2.0, budget=200, fit_intercept=fit_intercept).fit(X, y)
    assert found.n_support_vectors_ == 200 == found.support_vectors_.shape[0]
    assert found.t_ == 20 * ROWS
    assert found.score(Z, labels) > exact - 0.02
    assert (found.intercept_ != 0.0).all() == fit_intercept


def test_decisions_are_those_of_the_attributes(two: Rows) -> None:
    X, y, Z, _ = two
    found = BudgetedSVC(C=8.0, gamma=2.0, budget=50, epochs=3).fit(X, y)
    K = kernel_matrix(Kernel("rbf", 2.0), Z, found.support_vectors_, dtype=np.float64)
    expected = K @ found.dual_coef_[0] + found.intercept_[0]
    np.testing.assert_allclose(found.decision_function(Z), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.long
def test_digits_have_an_svm_each(digits: Rows) -> None:
    X, y, Z, labels = digits
    found = BudgetedSVC(C=8.0, gamma=0.02, budget=100).fit(X, y)
    assert found.decision_function(Z).shape == (len(Z), 10)
    assert found.score(Z, labels) > SVC(C=8.0, gamma=0.02).fit(X, y).score(Z, labels) - 0.03
    again = clone(found).set_params(n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(Z), found.decision_function(Z))


def test_regression_is_almost_as_good_as_svr(real: Rows) -> None:
    X, y, Z, targets = real
    exact = SVR(C=4.0, gamma=2.0).fit(X, y + 50.0).score(Z, targets + 50.0)
    found = BudgetedSVR(C=4.0, gamma=2.0, budget=500).fit(X, y + 50.0)
    assert found.score(Z, targets + 50.0) > exact - 0.15


def test_rows_as_they_come_are_an_epoch(two: Rows) -> None:
    X, y, Z, labels = two
    found = BudgetedSVC(C=8.0, gamma=2.0, budget=100, n_total=ROWS)
    for _ in range(5):
        for start in range(0, ROWS, 500):
            part = slice(start, start + 500)
            found.partial_fit(X[part], y[part], classes=[-1, 1])
    assert found.t_ == 5 * ROWS
    whole = BudgetedSVC(C=8.0, gamma=2.0, budget=100, epochs=5).fit(X, y)
    assert abs(found.score(Z, labels) - whole.score(Z, labels)) < 0.02


def test_a_stream_may_begin_with_one_class(two: Rows) -> None:
    X, y, Z, labels = two
    found = BudgetedSVC(C=8.0, gamma=2.0, budget=100, n_total=ROWS)
    found.partial_fit(X[y < 0][:300], y[y < 0][:300], classes=[-1, 1])
    assert (found.predict(Z) == -1).all()
    for _ in range(5):
        found.partial_fit(X, y)
    assert found.score(Z, labels) > 0.92


def test_regression_takes_rows_as_they_come(real: Rows) -> None:
    X, y, Z, targets = real
    found = BudgetedSVR(C=4.0, gamma=2.0, budget=200, n_total=ROWS)
    for _ in range(10):
        found.partial_fit(X[:1000], y[:1000]).partial_fit(X[1000:], y[1000:])
    assert found.t_ == 10 * ROWS
    assert found.score(Z, targets) > 0.25
    with pytest.raises(ValueError, match="features"):
        found.partial_fit(X[:, :3], y)


def test_it_goes_on_from_a_pickle(two: Rows) -> None:
    X, y, Z, _ = two
    first = BudgetedSVC(C=8.0, gamma=2.0, budget=50).partial_fit(X, y, classes=[-1, 1])
    second = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(
        first.partial_fit(X, y).decision_function(Z), second.partial_fit(X, y).decision_function(Z)
    )


def test_a_budget_may_change_between_calls(two: Rows) -> None:
    X, y, Z, labels = two
    found = BudgetedSVC(C=8.0, gamma=2.0, budget=200, n_total=ROWS)
    for _ in range(5):
        found.partial_fit(X, y, classes=[-1, 1])
    found.set_params(budget=100).partial_fit(X, y)
    assert found.n_support_vectors_ == 100
    found.set_params(budget=300, merge="gss").partial_fit(X, y)
    assert found.n_support_vectors_ > 100
    assert found.t_ == 7 * ROWS
    assert found.score(Z, labels) > 0.93


def test_a_call_that_fails_leaves_all_as_it_was(two: Rows) -> None:
    X, y, Z, _ = two
    found = BudgetedSVC(C=8.0, gamma=2.0, budget=50).partial_fit(X, y, classes=[-1, 1])
    before = found.decision_function(Z)
    with pytest.raises(ValueError, match="not one of classes"):
        found.partial_fit(X, np.where(y > 0, 7, y))
    np.testing.assert_array_equal(found.decision_function(Z), before)


def test_weights_are_factors_of_c(two: Rows) -> None:
    X, y, Z, _ = two
    weights = np.where(y > 0, 3.0, 1.0)
    by_class = BudgetedSVC(gamma=2.0, budget=50, class_weight={1: 3.0}).fit(X, y)
    by_row = BudgetedSVC(gamma=2.0, budget=50).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(by_class.decision_function(Z), by_row.decision_function(Z))


def test_a_gamma_at_which_nothing_can_merge_is_reported(two: Rows) -> None:
    X, y, _, _ = two
    with pytest.warns(DcsvmWarning, match="nothing can merge"):
        BudgetedSVC(gamma=1e8, budget=20, epochs=1).fit(X, y)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"budget": 1}, "budget must be a whole number from 2, got 1"),
        ({"epochs": 0}, "epochs must be a whole number from 1, got 0"),
        ({"C": -1.0}, "C must be a positive number, got -1"),
        ({"merge": "best"}, "merge is 'best': give one of gss"),
        ({"kernel": "poly"}, "only points of the rbf kernel can be merged, not of poly"),
        ({"table_size": 1}, "table-size must be a whole number from 2 to 4096, got 1"),
        ({"table_size": 400.0}, "table-size must be a whole number from 2 to 4096, got 400.0"),
        ({"tables": 3}, "tables must be the path of a file, or None, got 3"),
        ({"tables": "none.npz"}, "tables: there is no file .*none.npz"),
        ({"C": 1e307}, r"C must be at most 1e\+100, got 1e\+307"),
        ({"C": 1e98}, r"C times the weight of a row is 1e\+98; lower C so that this times 2000"),
        ({"C": np.inf}, "C must be a positive number, got inf"),
        ({"n_total": 0}, "n-total must be a whole number from 1, or None, got 0"),
        ({"fit_intercept": "yes"}, "fit_intercept"),
    ],
)
def test_bad_parameters_are_refused(two: Rows, how: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        BudgetedSVC(**how).fit(*two[:2])


def test_whole_numbers_of_numpy_are_taken(two: Rows) -> None:
    X, y, _, _ = two
    found = BudgetedSVC(gamma=2.0, budget=np.int64(20), epochs=np.int32(1)).fit(X, y)
    assert found.n_support_vectors_ == 20


def test_what_partial_fit_cannot_have(two: Rows) -> None:
    X, y, _, _ = two
    with pytest.raises(ValueError, match="classes is None"):
        BudgetedSVC().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"classes is \[1\]: a classifier needs at least two"):
        BudgetedSVC().partial_fit(X, y, classes=[1])
    with pytest.raises(ValueError, match="balanced"):
        BudgetedSVC(class_weight="balanced").partial_fit(X, y, classes=[-1, 1])
    found = BudgetedSVC(budget=10).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="at the first call of partial_fit"):
        found.partial_fit(X, y, classes=[-1, 2])


def test_tables_have_a_size_or_come_from_a_file(two: Rows, tmp_path: Path) -> None:
    X, y, Z, _ = two
    usual = BudgetedSVC(C=8.0, gamma=2.0, budget=50, epochs=2).fit(X, y)
    small = clone(usual).set_params(table_size=30).fit(X, y)
    assert not np.array_equal(small.decision_function(Z), usual.decision_function(Z))
    path = tmp_path / "tables.npz"
    path.write_bytes(as_bytes(MergeTables.of(30)))
    for tables in (path, str(path)):
        read = clone(usual).set_params(tables=tables).fit(X, y)
        np.testing.assert_array_equal(read.decision_function(Z), small.decision_function(Z))
    with pytest.raises(ValueError, match=r"table_size is 40, but .*tables.npz has tables of 30"):
        clone(read).set_params(table_size=40).fit(X, y)
    again = pickle.loads(pickle.dumps(read)).partial_fit(X, y)
    path.unlink()
    np.testing.assert_array_equal(
        again.decision_function(Z), small.partial_fit(X, y).decision_function(Z)
    )
    # What has learned has its tables, and needs the file no more.
    np.testing.assert_array_equal(
        read.partial_fit(X, y).decision_function(Z), small.decision_function(Z)
    )
    with pytest.raises(ValueError, match="there is no file"):
        clone(read).fit(X, y)
    with pytest.raises(ValueError, match="there is no file"):
        small.set_params(tables=path).partial_fit(X, y)


def test_steps_beyond_float64_are_refused_for_targets(real: Rows) -> None:
    X, y, Z, _ = real
    for C in (1e160, 1e307):
        with pytest.raises(ValueError, match=r"C must be at most 1e\+100"):
            BudgetedSVR(C=C).fit(X, y)
    for fit in (BudgetedSVR(C=1e98).fit, BudgetedSVR(C=1e98).partial_fit):
        with pytest.raises(ValueError, match=r"C times the weight of a row is 1e\+98; lower C"):
            fit(X, y)
    with pytest.raises(ValueError, match=r"is 1e\+100; lower C so that this times 2000 rows"):
        BudgetedSVR().fit(X, y, sample_weight=np.full(len(y), 1e100))
    # Below the limit the model is as finite as at usual values of C.
    found = BudgetedSVR(C=1e96, gamma=2.0, budget=50, epochs=2).fit(X, y)
    assert np.isfinite(found.predict(Z)).all()
    assert np.isfinite(found.dual_coef_).all()


def test_labels_of_huge_c_are_learned_as_those_of_a_large_one(two: Rows) -> None:
    X, y, Z, labels = two
    scores = [
        BudgetedSVC(C=C, gamma=2.0, budget=100, epochs=3).fit(X, y).score(Z, labels)
        for C in (1e6, 1e96)
    ]
    assert scores[0] == scores[1] > 0.85


def test_partial_fit_looks_at_rows_and_labels_as_fit_does(two: Rows) -> None:
    X, y, _, _ = two
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        BudgetedSVC().partial_fit(X, y + 0.5, classes=[-0.5, 1.5, 0.25])
    far = X[:200].astype(np.float64) * 1e-9 + 1.0
    for fit in (
        lambda model: model.fit(far, y[:200]),
        lambda model: model.partial_fit(far, y[:200], classes=[-1, 1]),
    ):
        with pytest.warns(DcsvmWarning, match="float32"):
            fit(BudgetedSVC(gamma=1.0, budget=10, epochs=1))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_long_fit_within_a_second(
    digits: Rows, n_jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, Z, _ = digits
    found = BudgetedSVC(C=8.0, gamma=0.02, budget=400, epochs=1, n_jobs=n_jobs).fit(X[:50], y[:50])
    before = found.decision_function(Z)
    monkeypatch.setattr(budgeted, "generator", _Repeated)  # an epoch of half a minute
    found.set_params(epochs=1)
    threading.Timer(0.7, signal.raise_signal, [signal.SIGINT]).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        found.fit(X, y)
    assert 0.5 < time.monotonic() - begin < 1.9
    np.testing.assert_array_equal(found.decision_function(Z), before)


class _Repeated:
    """An order in which every row comes a thousand times."""

    def __init__(self, *seed: int) -> None:
        del seed

    def permutation(self, n: int) -> NDArray[np.int64]:
        return np.tile(np.arange(n), 1000)
