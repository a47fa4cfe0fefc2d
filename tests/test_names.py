"""What the package offers by its name alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dcsvm_dask
from dcsvm_dask import api

WITHOUT_SKLEARN = """
import sys
sys.modules["sklearn"] = None
import importlib.util
import dcsvm_dask
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "sklearn" else find_spec(name, *a)
print(dcsvm_dask.Execution.__name__)
try:
    dcsvm_dask.DCSVC
except ModuleNotFoundError as error:
    print(error)
"""


def test_all_that_is_offered_is_listed_and_found() -> None:
    estimators = pytest.importorskip("dcsvm_dask.estimators")
    assert {"train", "easy", "DCSVC", "DCSVMSearchCV", "__version__"} <= set(dir(dcsvm_dask))
    assert set(dcsvm_dask.__all__) <= set(dir(dcsvm_dask))
    assert set(estimators.__all__) <= set(dcsvm_dask.__all__)
    for name in dcsvm_dask.__all__:
        room = estimators if name in estimators.__all__ else api
        assert getattr(dcsvm_dask, name) is getattr(room, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dcsvm_dask.nothing


def test_an_absent_package_is_one_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SKLEARN], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "Execution",
        "estimators need scikit-learn: pip install scikit-learn",
    ]
