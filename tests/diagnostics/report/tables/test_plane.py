"""The plane in which rows are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from dcsvm_dask import api
from dcsvm_dask.diagnostics.report.tables.plane import basis, plane
from dcsvm_dask.diagnostics.report.tables.records import read_records
from dcsvm_dask.methods.predict import load_model
from dcsvm_dask.models.decision_values import decide
from dcsvm_dask.storage.dataset import DataSet
from tests.diagnostics.report.conftest import N


def test_the_plane_of_two_features_is_that_of_the_data(trained: api.Run) -> None:
    found = plane(read_records(trained.folder), compute=True)
    assert found is not None
    data = DataSet.open(trained.folder.header["data"]["url"])
    X = data.rows.read(0, N)
    np.testing.assert_allclose(np.array([found["x"], found["y"]]).T, X, atol=1e-5)
    exact = found["models"][-1]
    assert [model["level"] for model in found["models"]] == [2, 1, 0]
    assert exact["block"] is None
    left, right, bottom, top = found["box"]
    corner = np.array([[left, bottom], [right, top]], np.float32)
    model = load_model(trained.folder, exact["stage"])
    values = decide(model, corner, "exact")
    assert [exact["grid"][0], exact["grid"][-1]] == pytest.approx(values.tolist(), abs=1e-3)


def test_principal_components_are_those_of_the_covariance() -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 5)) * [1, 5, 2, 0.1, 3]).astype(np.float32)
    mean, directions, share = basis(X)
    values, vectors = np.linalg.eigh(np.cov(X.T))
    np.testing.assert_allclose(np.abs(directions), np.abs(vectors[:, [4, 3]].T), atol=1e-5)
    assert share == pytest.approx(values[[4, 3]].sum() / values.sum())
    np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-6)
