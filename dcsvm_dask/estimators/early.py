"""Early models of estimators: the SVMs of a level's blocks, each of which decides its own rows."""

from __future__ import annotations

from typing import Any

from dcsvm_dask.models.model import Model

EXACT = (
    "support_",
    "n_support_",
    "dual_coef_",
    "intercept_",
    "n_iter_",
    "objective_",
    "violation_",
    "rho_",
    "epsilon_",
)
"""Attributes that an early model lacks."""


def learn_early(estimator: Any, model: Model, level: int) -> None:
    """Set the attributes that are learned of an early model, and no others."""
    for name in EXACT:
        estimator.__dict__.pop(name, None)
    estimator.early_model_, estimator.level_ = model, level
    estimator.support_vectors_ = model.support
    estimator.fit_status_ = 0
    estimator._learn_of_run(None)
