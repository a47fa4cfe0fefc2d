"""An exported model of ijcnn1, used by LIBSVM on test rows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from dcsvm_dask import api
from dcsvm_dask.data.ingest import ingest


@pytest.mark.long
def test_libsvm_predicts_what_we_do(shared_data: Any, tmp_path: Path) -> None:
    svm_predict = shutil.which("svm-predict")
    if svm_predict is None:
        pytest.skip("needs svm-predict of Debian's libsvm-tools, which is not installed")
    svmutil = pytest.importorskip("libsvm.svmutil")
    arrays = shared_data("ijcnn1")
    few = slice(0, 10_000)
    X, y = arrays["X_test"][few], arrays["y_test"][few]
    train = arrays["X_train"][few], arrays["y_train"][few]
    ingest(train, tmp_path / "d.zarr", test=(X, y))
    how: Any = {"execution": api.Execution(workers=0), "quiet": True}
    run = api.train(tmp_path / "d.zarr", tmp_path / "run", gamma=2.0, C=32.0, **how)
    model, rows, out = (tmp_path / name for name in ("m.model", "rows.svm", "out.txt"))
    run.export(model)
    run.predict_file(tmp_path / "d.zarr/test", tmp_path / "p.npy", **how)
    ours = np.load(tmp_path / "p.npy")
    with rows.open("wb") as file:
        dump_svmlight_file(X, y, file, zero_based=False)
    subprocess.run([svm_predict, rows, model, out], check=True, capture_output=True)
    exact = run.decision_function(X, precision="float64")
    sure = np.abs(exact) >= 1e-5
    assert sure.mean() > 0.999
    assert np.array_equal(np.loadtxt(out)[sure], ours["label"][sure])
    some = np.random.default_rng(0).choice(len(exact), 2000, replace=False)
    _, _, values = svmutil.svm_predict(
        y[some].astype(float),
        sparse.csr_matrix(X[some].astype(float)),
        svmutil.svm_load_model(str(model)),
        "-q",
    )
    np.testing.assert_allclose(np.array(values)[:, 0], exact[some], atol=1e-5)
