"""Estimators as ONNX graphs, run by ONNX Runtime."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
    LinearDCSVC,
    to_onnx,
)
from dcsvm_dask.kernels import Kernel
from dcsvm_dask.models import onnx_graph
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.models.model import Model
from dcsvm_dask.models.onnx import ovo_onnx
from dcsvm_dask.models.schemes import OneVsOne

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

KERNELS = ["rbf", "poly", "linear", "sigmoid", "laplacian"]


def run_onnx(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(["label", "decision"], {"rows": np.asarray(X, np.float32)})


def some_rows(n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        1400,
        6,
        n_informative=5,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=0.7,
        random_state=seed,
    )
    return X.astype(np.float32), y


def assert_same(estimator: Any, model: Any, X: np.ndarray, of: Any = None) -> None:
    """Compare with the estimator's own answers; `of` are the rows in another form."""
    labels, values = run_onnx(model, X)
    ours = estimator.decision_function(X if of is None else of)
    assert values.shape == ours.shape
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, ours, atol=1e-6 * np.abs(ours).max())
    assert labels.tolist() == estimator.predict(X if of is None else of).tolist()


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("kernel", KERNELS)
def test_dcsvc(kernel: str, n_classes: int) -> None:
    X, y = some_rows(n_classes)
    svc = DCSVC(kernel=kernel, gamma=0.1, coef0=0.3).fit(X[:400], y[:400])
    model = to_onnx(svc)
    assert_same(svc, model, X[400:])
    assert_same(svc, model, X[400:401])
    # SVC has no laplacian kernel, and the sigmoid one has several optima.
    if kernel not in ("laplacian", "sigmoid"):
        theirs = SVC(kernel=kernel, gamma=0.1, coef0=0.3, tol=1e-6).fit(X[:400], y[:400])
        labels, _ = run_onnx(model, X[400:])
        assert np.mean(labels == theirs.predict(X[400:])) > 0.99


@pytest.mark.parametrize("n_classes", [2, 4])
def test_nu_svc(n_classes: int) -> None:
    X, y = some_rows(n_classes)
    svc = DCNuSVC(nu=0.2, gamma=0.1).fit(X[:400], y[:400])
    assert_same(svc, to_onnx(svc), X[400:])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [DCSVR, DCNuSVR, DCQuantileSVR])
def test_regressors_have_a_graph_of_their_prediction(kind: Any, kernel: str) -> None:
    X, _ = some_rows(2)
    z = 1e5 + 100.0 * np.sin(X[:, 0])
    made = kind(kernel=kernel, gamma=0.1, C=10.0, tol=1.0).fit(X[:200], z[:200])
    session = runtime.InferenceSession(
        to_onnx(made).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (found,) = session.run(["prediction"], {"rows": X})
    np.testing.assert_allclose(found, made.predict(X), atol=1e-6 * np.abs(made.predict(X)).max())


def test_a_novelty_detector_says_who_is_an_outlier() -> None:
    X, _ = some_rows(2)
    detector = DCOneClassSVM(nu=0.2, gamma=0.1).fit(X[:400])
    assert_same(detector, to_onnx(detector), X[400:])
    assert set(detector.predict(X[400:])) == {-1, 1}


@pytest.mark.parametrize(
    "words",
    [
        {"decision_function_shape": "ovo"},
        {"break_ties": True},
        {"fit_intercept": False},
        {"multiclass": "ovr"},
        {"multiclass": "ovr", "kernel": "linear"},
    ],
    ids=str,
)
def test_dcsvc_decides_as_its_parameters_say(words: dict[str, Any]) -> None:
    X, y = some_rows(5)
    svc = DCSVC(**words).fit(X[:400], np.array(list("vwxyz"))[y[:400]])
    assert_same(svc, to_onnx(svc), X[400:])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_dcsvc(n_classes: int) -> None:
    X, y = some_rows(n_classes)
    svc = LinearDCSVC(C=0.01, tol=0.01).fit(X[:400], y[:400])
    assert_same(svc, to_onnx(svc), X[400:])
    assert_same(svc.sparsify(), to_onnx(svc), X[400:])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_what_was_trained_on_sparse_rows_takes_dense_ones(kernel: str) -> None:
    X, y = some_rows(3)
    X[X < 0.5] = 0
    svc = DCSVC(kernel=kernel).fit(sparse.csr_array(X[:400]), y[:400])
    assert_same(svc, to_onnx(svc), X[400:], of=sparse.csr_array(X[400:]))


@pytest.mark.parametrize(
    ("classes", "dtype"),
    [
        (np.array(["ä", "bb"]), object),
        (np.array(["ä", "bb"], dtype=object), object),
        (np.array([1.0, 2.0]), np.float64),
        (np.array([False, True]), np.bool_),
        (np.array([3, 200], np.uint8), np.int64),
    ],
    ids=lambda one: str(getattr(one, "dtype", "")),
)
def test_labels_keep_their_type(classes: np.ndarray, dtype: Any) -> None:
    X, y = some_rows(2)
    svc = DCSVC().fit(X[:200], classes[y[:200]])
    labels, _ = run_onnx(to_onnx(svc), X[200:])
    assert labels.dtype == dtype
    assert labels.tolist() == svc.predict(X[200:]).tolist()


def test_ties_and_values_of_0_are_decided_alike() -> None:
    """A row that no support vector sees: pairs of a bias of 0, 1 and -1 in all orders."""
    k = 4
    pairs = list(combinations(range(k), 2))
    rng = np.random.default_rng(0)
    X = np.zeros((1, 2), np.float32)
    for _ in range(60):
        bias = rng.integers(-1, 2, len(pairs)).astype(np.float64)
        # One class has no support vector at all.
        scheme = OneVsOne(k)
        model = Model(
            Kernel("poly"),
            rng.random((3, 2), np.float32),
            rng.standard_normal((k - 1, 3)),
            np.array([[1, 1, 0, 1]]),
            bias[None, :],
            scheme,
        )
        values = decide(model, X, dtype=np.float64)
        np.testing.assert_array_equal(values[0], bias)
        label, decision = run_onnx(ovo_onnx(model, np.arange(k)), X)
        assert label == scheme.classes_of(values)
        np.testing.assert_allclose(decision, scheme.values_of_classes(values), rtol=1e-6)
        label, _ = run_onnx(ovo_onnx(model, np.arange(k), break_ties=True), X)
        assert label == np.argmax(scheme.values_of_classes(values))


@pytest.mark.parametrize("bias", [1.0, 0.0, -1.0])
def test_two_classes_at_a_value_of_0(bias: float) -> None:
    X, y = some_rows(2)
    svc = DCSVC(kernel="poly").fit(X[:100], y[:100])
    svc.intercept_ = np.array([bias])
    zeros = np.zeros((1, 6), np.float32)
    assert svc.decision_function(zeros).tolist() == [bias]
    assert_same(svc, to_onnx(svc), zeros)


def test_what_cannot_be_exported_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFittedError):
        to_onnx(DCSVC())
    with pytest.raises(InputError, match="of dcsvm_dask, not a SVC"):
        to_onnx(SVC())
    X, y = some_rows(2)
    svc = LinearDCSVC(C=0.01, tol=0.01).fit(X[:50], np.array([1, 2**63], np.uint64)[y[:50]])
    with pytest.raises(InputError, match="ONNX has no labels such as 9223372036854775808"):
        to_onnx(svc)
    early = DCSVR().fit(X[:50], y[:50])
    early.level_ = 1
    with pytest.raises(InputError, match="no graph of an early model"):
        to_onnx(early)
    svc = DCSVC().fit(X[:50], y[:50])
    monkeypatch.setattr(onnx_graph, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install onnx"):
        to_onnx(svc)
