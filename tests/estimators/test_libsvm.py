"""Estimators as model files of LIBSVM: its svm-predict decides as they do."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import NotFittedError

from dcsvm_dask.errors import InputError
from dcsvm_dask.estimators import (
    DCSVC,
    DCSVR,
    DCNuSVC,
    DCNuSVR,
    DCOneClassSVM,
    DCQuantileSVR,
    LinearDCSVC,
    to_libsvm,
)

SVM_PREDICT = shutil.which("svm-predict")
needs_libsvm = pytest.mark.skipif(SVM_PREDICT is None, reason="needs Debian's libsvm-tools")


def predicted(model: Any, X: Any, folder: Path) -> Any:
    """Return what svm-predict says of rows, and the first line of the model file."""
    assert SVM_PREDICT is not None
    rows, file, out = (folder / name for name in ("rows", "model", "out"))
    to_libsvm(model, file)
    dump_svmlight_file(X, np.zeros(X.shape[0]), str(rows), zero_based=False)
    subprocess.run([SVM_PREDICT, "-q", rows, file, out], check=True)
    return np.loadtxt(out), file.read_text().split("\n", 1)[0]


@pytest.mark.one_quick
@needs_libsvm
@pytest.mark.parametrize("kind", [DCSVC, DCNuSVC])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_classes(kind: Any, n_classes: int, problem: Callable[[str], Any], tmp_path: Path) -> None:
    X, y = problem("usps")
    y = y % 2 * 7 - 3 if n_classes == 2 else y
    own = {"nu": 0.1} if kind is DCNuSVC else {"C": 5.0}
    model = kind(gamma=0.02, **own).fit(X[:800], y[:800])
    found, svm_type = predicted(model, X[800:1400], tmp_path)
    assert svm_type == f"svm_type {'nu_svc' if kind is DCNuSVC else 'c_svc'}"
    np.testing.assert_array_equal(found, model.predict(X[800:1400]))


@needs_libsvm
@pytest.mark.parametrize(
    ("estimator", "svm_type"),
    [
        (DCSVR(kernel="poly", gamma=0.1, coef0=1.0, degree=2), "epsilon_svr"),
        (DCSVR(loss="squared_epsilon_insensitive"), "epsilon_svr"),
        (DCQuantileSVR(quantile=0.2, gamma=0.1), "epsilon_svr"),
        (DCNuSVR(nu=0.3, C=2.0), "nu_svr"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_targets(
    estimator: Any, svm_type: str, is_sparse: bool, shared_data: Any, tmp_path: Path
) -> None:
    file = shared_data("cadata")
    X, y = file["X_train"][:700].astype(np.float64), file["y_train"][:700].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    y = (y - y.mean()) / y.std() + 2.0
    X = sparse.csr_array(X) if is_sparse else X
    model = estimator.fit(X[:500], y[:500])
    found, reported = predicted(model, X[500:], tmp_path)
    assert reported == f"svm_type {svm_type}"
    # svm-predict writes six digits.
    np.testing.assert_allclose(found, model.predict(X[500:]), rtol=1e-5, atol=1e-5)


@needs_libsvm
def test_novelty(problem: Callable[[str], Any], tmp_path: Path) -> None:
    X, _ = problem("breast_cancer")
    model = DCOneClassSVM(nu=0.2, gamma=0.05).fit(X[:300])
    found, reported = predicted(model, X[300:], tmp_path)
    assert reported == "svm_type one_class"
    np.testing.assert_array_equal(found, model.predict(X[300:]))
    assert 0 < np.count_nonzero(found == -1) < len(found)


@pytest.mark.parametrize(
    ("labels", "integers"),
    [([3, 7], (3, 7)), ([1.0, 2.0], (1, 2)), (["a", "b"], (-1, 1)), (["a", "b", "c"], (0, 1, 2))],
)
def test_labels_are_integers(
    labels: Any, integers: Any, problem: Callable[[str], Any], tmp_path: Path
) -> None:
    X, _ = problem("wine")
    y = np.array(labels)[np.arange(len(X)) % len(labels)]
    assert to_libsvm(DCSVC().fit(X, y), tmp_path / "model") == integers
    assert f"\nlabel {' '.join(map(str, integers))}\n" in (tmp_path / "model").read_text()


def test_what_libsvm_has_not_is_refused(problem: Callable[[str], Any], tmp_path: Path) -> None:
    X, y = problem("wine")
    file = tmp_path / "model"
    for estimator, said in (
        (LinearDCSVC(), "DCNuSVR or DCOneClassSVM, not a LinearDCSVC"),
        (DCSVC(kernel="laplacian"), "LIBSVM has no laplacian kernel"),
        (DCSVC(multiclass="ovr"), "LIBSVM has no one-vs-rest"),
    ):
        with pytest.raises(InputError, match=said):
            to_libsvm(estimator.fit(X, y), file)
    with pytest.raises(NotFittedError):
        to_libsvm(DCSVR(), file)
    early = DCSVR().fit(X, y)
    early.level_ = 1
    with pytest.raises(InputError, match="LIBSVM has no early models"):
        to_libsvm(early, file)
    assert not file.exists()
    file.write_text("mine")
    with pytest.raises(InputError, match="exists"):
        to_libsvm(DCSVC().fit(X, y), file)
    to_libsvm(DCSVC().fit(X, y), file, overwrite=True)
    assert file.read_text().startswith("svm_type c_svc\n")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_support_vectors_come_back_bit_for_bit(dtype: Any, tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = DCSVR().fit(X, X[:, 0])
    model.support_vectors_ = X[model.support_].astype(dtype)
    to_libsvm(model, tmp_path / "model")
    lines = (tmp_path / "model").read_text().partition("SV\n")[2].splitlines()
    cells = [[cell.partition(":")[2] for cell in line.split()[1:]] for line in lines]
    np.testing.assert_array_equal(np.array(cells).astype(dtype), model.support_vectors_)
