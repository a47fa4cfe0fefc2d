"""One-vs-one against scikit-learn's SVC and LIBSVM's rule; absent classes; refused arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function

from dcsvm_dask.errors import InputError
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models import Model, OneVsOne, OneVsRest, decide, scheme_for
from dcsvm_dask.solvers import machines_of

K = 6


def votes_of_libsvm(values: Any, n_classes: int) -> Any:
    """Return what svm_predict_values of LIBSVM's svm.cpp decides, row by row."""
    out = []
    for row in values:
        vote, p = [0] * n_classes, 0
        for i in range(n_classes):
            for j in range(i + 1, n_classes):
                vote[i if row[p] > 0 else j] += 1
                p += 1
        best = 0
        for i in range(1, n_classes):
            if vote[i] > vote[best]:
                best = i
        out.append(best)
    return np.array(out)


@st.composite
def decisions(draw: Any) -> Any:
    """Decision values of a few rows: few different ones, so that votes and sums tie."""
    n_classes = draw(st.integers(2, 6))
    n = draw(st.integers(0, 8))
    some = st.sampled_from([-1.0, -0.25, -0.0, 0.0, 1e-300, 0.25, 1.0, 3.0])
    pairs = n_classes * (n_classes - 1) // 2
    row = st.lists(some, min_size=pairs, max_size=pairs)
    values = draw(st.lists(row, min_size=n, max_size=n))
    return np.array(values, dtype=np.float64).reshape(n, pairs), n_classes


@given(decisions())
@settings(max_examples=300, deadline=None)
def test_the_first_of_those_with_most_votes_wins(case: Any) -> None:
    values, n_classes = case
    np.testing.assert_array_equal(
        OneVsOne(n_classes).classes_of(values), votes_of_libsvm(values, n_classes)
    )


@given(decisions())
@settings(max_examples=300, deadline=None)
def test_confidences_are_those_of_scikit_learn(case: Any) -> None:
    values, n_classes = case
    theirs = _ovr_decision_function(values < 0, -values, n_classes)
    np.testing.assert_array_equal(OneVsOne(n_classes).values_of_classes(values), theirs)


@pytest.fixture(scope="module")
def torn() -> Any:
    """An SVC of six classes without structure, so that many rows get tied votes."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 3)).astype(np.float32), rng.integers(0, 6, 300)
    return SVC(gamma=0.5, C=5.0, decision_function_shape="ovo").fit(X, y), X


def model_of(svc: SVC, kernel: Kernel) -> Model:
    """Return SVC's machines as ours."""
    coef = svc.dual_coef_
    coef = coef.toarray() if sparse.issparse(coef) else coef
    return Model(
        kernel,
        svc.support_vectors_.astype(np.float32),
        coef,
        svc.n_support_.astype(np.int64)[None, :],
        svc.intercept_[None, :],
        OneVsOne(len(svc.classes_)),
    )


def test_svc_predicts_by_the_same_rule_where_votes_tie(torn: Any) -> None:
    svc, _ = torn
    rows = np.random.default_rng(1).standard_normal((2000, 3))
    values = svc.decision_function(rows)
    votes = np.zeros((len(rows), 6), dtype=int)
    for number, (a, b) in enumerate(combinations(range(6), 2)):
        votes[np.arange(len(rows)), np.where(values[:, number] > 0, a, b)] += 1
    tied = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) > 1
    assert tied.sum() > 100
    np.testing.assert_array_equal(OneVsOne(6).classes_of(values), svc.predict(rows))


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("threads", [1, 3])
def test_decisions_are_those_of_svc(torn: Any, is_sparse: bool, threads: int) -> None:
    svc, _ = torn
    rows = np.random.default_rng(2).standard_normal((700, 3)).astype(np.float32)
    expected = svc.decision_function(rows)
    model = model_of(svc, Kernel("rbf", 0.5))
    if is_sparse:
        rows = sparse.csr_array(rows)
        model = replace(model, support=sparse.csr_array(model.support))
    found = decide(model, rows, dtype=np.float64, threads=threads)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    rough = decide(model, rows, threads=threads)
    assert np.abs(rough - expected).max() <= model.rounding(rows)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "sigmoid"])
def test_float32_gives_the_labels_of_float64(kernel: str) -> None:
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    how = {"gamma": 1e-3 if kernel != "sigmoid" else 1e-5, "coef0": 0.5}
    svc = SVC(kernel=kernel, decision_function_shape="ovo", **how).fit(X[::2], y[::2])
    model = model_of(svc, Kernel(kernel, **how))
    exact = decide(model, X, dtype=np.float64)
    spread = np.ptp(exact)
    np.testing.assert_allclose(exact, svc.decision_function(X), rtol=0, atol=1e-9 * spread)
    rough, votes = decide(model, X), model.scheme.classes_of
    np.testing.assert_array_equal(votes(rough), votes(exact))
    np.testing.assert_array_equal(votes(exact), svc.predict(X))


def test_rows_in_doubt_are_decided_in_float64(torn: Any) -> None:
    svc, X = torn
    model = model_of(svc, Kernel("rbf", 0.5))
    exact = decide(model, X, dtype=np.float64)
    # The offset of the pair (2, 5) such that its border runs just beside row 17 ...
    bias, pair = model.bias.copy(), list(combinations(range(6), 2)).index((2, 5))
    for side in (1e-12, -1e-12):
        bias[0, pair] = model.bias[0, pair] - exact[17, pair] + side
        close = replace(model, bias=bias)
        # ... where float32 alone may be wrong.
        assert np.sign(decide(close, X)[17, pair]) == np.sign(side)
        assert close.rounding(X) > abs(side)


def test_usps_in_float32(shared_data: Callable[[str], Any]) -> None:
    data = shared_data("usps")
    X, y = data["X_train"].astype(np.float32), data["y_train"]
    svc = SVC(gamma=0.02, C=10.0, decision_function_shape="ovo").fit(X[:1500], y[:1500])
    model = model_of(svc, Kernel("rbf", 0.02))
    rows = X[1500:5000]
    K = rbf_kernel(rows.astype(np.float64), model.support.astype(np.float64), gamma=0.02)
    stop = np.cumsum(model.counts[0])
    own = [slice(last - count, last) for last, count in zip(stop, model.counts[0], strict=True)]
    expected = np.stack(
        [
            K[:, own[a]] @ model.coef[b - 1, own[a]] + K[:, own[b]] @ model.coef[a, own[b]]
            for a, b in combinations(range(10), 2)
        ],
        axis=1,
    )
    expected += model.bias[0]
    found = decide(model, rows)
    assert np.abs(found - expected).max() <= model.rounding(rows)
    np.testing.assert_array_equal(*map(model.scheme.classes_of, (found, expected)))


def test_no_rows_and_no_support_vectors(torn: Any) -> None:
    svc, X = torn
    model = model_of(svc, Kernel("rbf", 0.5))
    assert decide(model, X[:0]).shape == (0, 15)
    assert OneVsOne(6).classes_of(np.empty((0, 15))).shape == (0,)
    assert OneVsOne(6).values_of_classes(np.empty((0, 15))).shape == (0, 6)
    bias = np.array([1.0, -1.0, 0.5])
    counts = np.zeros((1, 3), np.int64)
    empty = Model(Kernel(), X[:0], np.zeros((2, 0)), counts, bias[None, :], OneVsOne(3))
    np.testing.assert_array_equal(decide(empty, X[:4]), np.tile(bias, (4, 1)))


@pytest.mark.parametrize("columns", [2, 4])
@pytest.mark.parametrize("name", ["classes_of", "values_of_classes"])
def test_columns_that_are_not_pairs_are_refused(name: str, columns: int) -> None:
    with pytest.raises(InputError, match=f"{columns} columns for 3 pairs"):
        getattr(OneVsOne(3), name)(np.ones((2, columns)))


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
@pytest.mark.parametrize("present", [[0], [5], [1, 4], [0, 2, 3]])
def test_classes_without_rows_lose(scheme: str, present: list[int]) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((200, len(machines_of(K, scheme))))
    mask = np.isin(np.arange(K), present)
    own = scheme_for(K, scheme)
    found = own.classes_of(own.losing(values, mask))
    wanted = []
    for row in values:
        strength = dict.fromkeys(present, 0.0)
        if scheme == "ovr":
            strength = {c: row[c] for c in present}
        for value, (a, b) in zip(row, combinations(range(K), 2), strict=scheme == "ovo"):
            if scheme == "ovo" and a in present and b in present:
                strength[a if value > 0 else b] += 1
        wanted.append(max(present, key=strength.__getitem__))
    np.testing.assert_array_equal(found, wanted)


def test_weights_of_features_are_those_of_svc() -> None:
    X, y = load_digits(return_X_y=True)
    svc = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    weights = model_of(svc, Kernel("linear")).weights()
    np.testing.assert_allclose(weights, svc.coef_, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"counts": np.array([[2, 2, 2]])}, "5 support vectors, in groups"),
        ({"counts": np.array([[-1, 3, 3]])}, "5 support vectors, in groups"),
        ({"counts": np.array([[5]])}, "counts of shape"),
        ({"coef": np.ones((3, 5))}, "coefficients of shape"),
        ({"bias": np.ones((1, 2))}, "2 biases for 3 classes"),
        ({"bias": np.array([[0.0, np.nan, 0.0]])}, "not finite"),
        ({"coef": np.full((2, 5), np.inf)}, "not finite"),
        ({"scheme": OneVsRest(3)}, "coefficients of shape"),
    ],
)
def test_arrays_that_cannot_be_a_model_are_refused(changes: dict[str, Any], why: str) -> None:
    X, biases = np.ones((5, 2), dtype=np.float32), np.zeros((1, 3))
    model = Model(Kernel(), X, np.ones((2, 5)), np.array([[2, 2, 1]]), biases, OneVsOne(3))
    model.check()
    with pytest.raises(InputError, match=f"not a model: .*{why}"):
        replace(model, **changes).check()
