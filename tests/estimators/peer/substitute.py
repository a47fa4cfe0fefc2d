"""A pytest plugin: SVC and LinearSVC of `sklearn.svm` are ours while scikit-learn's tests run.

It stands alone in its process, and writes what became of the tests as JSON to the file that the
environment names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy import sparse
from sklearn import svm

from dcsvm_dask.estimators import DCSVC, LinearDCSVC

RESULTS = "DCSVM_PEER_RESULTS"
"""Of the environment: the file that is written."""

_test = ""
_uses: set[str] = set()
_refusals: set[str] = set()
_failures: dict[str, str] = {}
_passes: set[str] = set()


class SVC(DCSVC):
    """DCSVC by the name that the tests look for in messages.

    It refuses what SVC refuses and DCSVC takes, so that the other lines of those tests are run;
    which tests met a refusal is written down, and they do not count as passed.
    """

    def __new__(cls, *args: Any, **words: Any) -> Any:
        _uses.add(_test)
        return super().__new__(cls)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if sparse.issparse(X) and self.kernel == "precomputed":
            _refusals.add(_test)
            raise TypeError("Sparse precomputed kernels are not supported.")
        self._dense = not sparse.issparse(X)
        return super().fit(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        if sparse.issparse(X) and self._dense and not callable(self.kernel):
            _refusals.add(_test)
            raise ValueError("cannot use sparse input in 'SVC' trained on dense data")
        return super().predict(X)


class LinearSVC(LinearDCSVC):
    """LinearDCSVC by the name that the tests look for in messages."""

    def __new__(cls, *args: Any, **words: Any) -> Any:
        _uses.add(_test)
        return super().__new__(cls)


def pytest_configure() -> None:
    """Substitute the classes, before the tests are imported; to import this module does not."""
    svm.SVC, svm.LinearSVC = SVC, LinearSVC


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Remember which test is run: its file and its name."""
    global _test
    _test = f"{item.path.name}::{item.name}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember what became of the test that is run."""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        _failures[_test] = str(getattr(crash, "message", report.longrepr))
    elif report.when == "call" and report.passed:
        _passes.add(_test)


def pytest_sessionfinish() -> None:
    """Write down what became of the tests that use the classes."""
    kept: Callable[[str], bool] = _uses.__contains__
    found = {
        "passed": sorted(filter(kept, _passes - _failures.keys() - _refusals)),
        "passed_but_for_refusals": sorted(filter(kept, (_passes - _failures.keys()) & _refusals)),
        "failed": {name: said for name, said in _failures.items() if kept(name)},
        "others_failed": {name: said for name, said in _failures.items() if not kept(name)},
    }
    Path(os.environ[RESULTS]).write_text(json.dumps(found))
