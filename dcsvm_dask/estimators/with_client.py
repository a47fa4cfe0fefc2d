"""Clones of estimators that train on the workers of a client."""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import BaseEstimator


class WithClient:
    """Base class of estimators that have a parameter ``client``: their clones share it.

    scikit-learn copies parameters, and a connection to a scheduler cannot be copied.
    """

    client: Any

    def __sklearn_clone__(self) -> Any:
        """Return an estimator with the same parameters, not fitted."""
        alone: Any = copy.copy(self)
        alone.client = None
        made = BaseEstimator.__sklearn_clone__(alone)
        made.client = self.client
        return made
