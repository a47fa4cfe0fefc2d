"""Clones and pickles of estimators that train on the workers of a client."""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import BaseEstimator


class WithClient:
    """Base class of estimators that have a parameter ``client``: their clones share it.

    scikit-learn copies parameters, and a connection to a scheduler cannot be copied. Nor can it be
    pickled: estimators that are loaded, and copies by `copy`, have no client.
    """

    client: Any

    def __sklearn_clone__(self) -> Any:
        """Return an estimator with the same parameters, not fitted."""
        alone: Any = copy.copy(self)
        alone.client = None
        made = BaseEstimator.__sklearn_clone__(alone)
        made.client = self.client
        return made

    def __getstate__(self) -> Any:
        """Return what is pickled: all but the client."""
        return {**super().__getstate__(), "client": None}  # type: ignore[dict-item]
