"""Runs as models of scikit-learn."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from dcsvm_dask import api


def svm_of(run: api.Run) -> Any:
    """Return a run's SVM in scikit-learn, without the step that prepares and scales rows."""
    found = run.to_sklearn()
    return found["svm"] if isinstance(found, Pipeline) else found
