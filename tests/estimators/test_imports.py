"""A fit in memory imports what it computes with, and nothing of runs: their import takes longer."""

from __future__ import annotations

import subprocess
import sys

import pytest

CALL = """
import sys
import numpy as np
import sklearn.svm
before = set(sys.modules)
from dcsvm_dask import {name}
X = np.random.default_rng(0).random((60, 2))
{name}().fit(X, np.sign(X[:, 0] - 0.5)).predict(X)
print("imported", *(set(sys.modules) - before))
"""
LARGE = {"bokeh", "dask", "distributed", "fsspec", "numcodecs", "pandas", "pyarrow", "zarr"}
ROOMS_OF_RUNS = {"api", "cli", "data", "diagnostics", "prediction"}
IN_MEMORY = (
    "DCSVC",
    "DCNuSVC",
    "DCNuSVR",
    "DCOneClassSVM",
    "DCQuantileSVR",
    "DCSVR",
    "LinearDCSVC",
    "LinearDCSVR",
)


@pytest.mark.one_quick
@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_fit_in_memory_imports_nothing_of_runs(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(name=name)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = done.stdout.splitlines()[-1].split()[1:]
    assert not LARGE & {module.split(".")[0] for module in found}
    own = {module.split(".")[1] for module in found if module.startswith("dcsvm_dask.")}
    assert "estimators" in own
    assert not ROOMS_OF_RUNS & own


def test_estimators_are_listed_and_found() -> None:
    estimators = pytest.importorskip("dcsvm_dask.estimators")
    assert set(estimators.__all__) <= set(dir(estimators))
    for name in estimators.__all__:
        assert getattr(estimators, name).__module__.startswith("dcsvm_dask.estimators.")
        assert getattr(estimators, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = estimators.nothing
