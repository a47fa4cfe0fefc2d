"""Runs of nu-SVC with many classes decide as scikit-learn's NuSVC and svm-predict do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import NuSVC

from dcsvm_dask.data.ingest import ingest
from dcsvm_dask.errors import InputError
from dcsvm_dask.methods.choice import choose_model
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.pipeline.training import Training
from dcsvm_dask.prediction.export import export_libsvm, export_svc
from dcsvm_dask.storage.dataset import DataSet
from dcsvm_dask.storage.location import Location
from dcsvm_dask.storage.run import RunFolder
from tests.marks import long
from tests.methods.test_task import train

WORDS = {"svm_type": "nu", "nu": 0.3, "gamma": 0.1, "tol": 1e-6}


@pytest.fixture(scope="module")
def rows(digits: tuple[NDArray[Any], NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Give the digits 0 to 2, of 2 only a few, 40 rows twice."""
    X, y = digits
    mine = np.concatenate([np.flatnonzero(y < 2)[:240], np.flatnonzero(y == 2)[:60]])
    mine = np.concatenate([mine, mine[:40]])
    return X[mine], y[mine]


def decided(run: RunFolder, X: Any) -> NDArray[np.float64]:
    return decide(load_model(run, choose_model(run).stage), X, "exact", dtype=np.float64)


@pytest.mark.parametrize(
    ("levels", "sparse", "weighted"),
    [long(0, False, False), long(1, False, True), long(1, True, False)],
)
def test_one_vs_one_is_that_of_scikit_learn(
    rows: Any, tmp_path: Path, levels: int, sparse: bool, weighted: bool
) -> None:
    X, y = rows
    weights = np.where(y == 0, 0.5, 1.0) if weighted else None
    given = csr_matrix(X) if sparse else X
    data = ingest((given, y), tmp_path / "d.zarr", test=(given[:50], y[:50]), weights=weights)
    words = {"clusters": (4,)} if levels else {"levels": 0}
    run = train(data, tmp_path / "r", **WORDS, **words)
    peer = NuSVC(nu=0.3, gamma=0.1, tol=1e-6, decision_function_shape="ovo")
    peer.fit(X.astype(np.float64), y, sample_weight=weights)
    expected = peer.decision_function(X.astype(np.float64))
    assert decided(run, given) == pytest.approx(expected, abs=1e-5)
    record = run.node(choose_model(run).stage, "commit").record
    assert record["violation"] <= 1e-6
    assert 0.0 <= record["gap"] <= 1e-4 * record["objective"]
    if levels:
        assert run.find("level-1", "commit") or run.find("l1", "commit")
        offset = run.node("offset", "commit").record
        assert np.allclose(
            -np.array(offset["epsilons"]), record["of_pairs"]["multiplier"], rtol=0.1
        )


@pytest.mark.long
def test_one_vs_rest_has_a_nu_svc_for_each_class(rows: Any, tmp_path: Path) -> None:
    X, y = rows
    data = ingest((X, y), tmp_path / "d.zarr", test=(X[:50], y[:50]))
    run = train(data, tmp_path / "r", **{**WORDS, "nu": 0.2}, multiclass="ovr", clusters=(4,))
    X64 = X.astype(np.float64)
    each = [NuSVC(nu=0.2, gamma=0.1, tol=1e-6).fit(X64, y == code) for code in range(3)]
    expected = np.column_stack([one.decision_function(X64) for one in each])
    assert decided(run, X) == pytest.approx(expected, abs=1e-5)


@pytest.mark.long
def test_svm_predict_and_an_svc_decide_alike(rows: Any, tmp_path: Path) -> None:
    svm_predict = shutil.which("svm-predict")
    if svm_predict is None:
        pytest.skip("LIBSVM's svm-predict is not installed")
    X, y = rows
    data = ingest((X, y), tmp_path / "d.zarr", test=(X[:50], y[:50]))
    run = train(data, tmp_path / "r", **WORDS)
    model, out = tmp_path / "m.model", tmp_path / "out"
    export_libsvm(run, Location.of(model, writable=True))
    assert model.read_text().startswith("svm_type nu_svc\n")
    dump_svmlight_file(X, y, str(tmp_path / "rows"), zero_based=False)
    subprocess.run([svm_predict, tmp_path / "rows", model, out], check=True, capture_output=True)
    expected = NuSVC(nu=0.3, gamma=0.1, tol=1e-6).fit(X.astype(np.float64), y).predict(X)
    assert np.array_equal(np.loadtxt(out).astype(int), expected)
    assert np.array_equal(export_svc(run).predict(X.astype(np.float64)).astype(int), expected)


def test_a_nu_that_a_pair_of_classes_does_not_allow_is_refused(rows: Any, tmp_path: Path) -> None:
    """The largest one is taken, and is that of scikit-learn."""
    X, y = rows
    weights = np.where(y == 2, 1.5, 1.0)
    ingest((X, y), tmp_path / "d.zarr", weights=weights)
    data = DataSet.open(tmp_path / "d.zarr/train")
    of_class = np.bincount(y, weights)
    largest = min(2.0 * of_class[2] / (of_class[c] + of_class[2]) for c in range(2))
    message = rf"classes 0 and 2 of .* it is at most {largest:.6g}"
    with pytest.raises(InputError, match=message):
        Training.of({**WORDS, "nu": largest + 1e-6}).settle(data)
    Training.of({**WORDS, "nu": largest}).settle(data)
    with pytest.raises(InputError, match="classes 2 and the rest"):
        Training.of({**WORDS, "nu": largest, "multiclass": "ovr"}).settle(data)
