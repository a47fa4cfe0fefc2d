"""The warnings of `DCSVMSearchCV`: what its choice leaves open."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from dcsvm_dask.diagnostics.search_doubts import edges
from dcsvm_dask.errors import DcsvmWarning
from dcsvm_dask.estimators.search_results import Scores
from dcsvm_dask.estimators.warned import callers_level

GRID = 3
"""Values of a parameter from which on its ends are warned of: two are compared on purpose."""


def warn_choice(found: Scores, candidates: list[dict[str, Any]], chosen: int) -> None:
    """Warn the caller of `fit` of candidates that are not solved, and of the ends of the grid.

    Parameters
    ----------
    found : Scores
    candidates : list of dict
    chosen : int
        The number of the chosen one.
    """
    unsolved = int((~found.solved).sum())
    if unsolved:
        about = ""
        if not found.solved[chosen]:
            about = "; the chosen one is among them, and may take long to train"
        elif found.mean[found.top] > found.mean[chosen]:
            about = (
                f"; the best of them, {candidates[found.top]}, scores higher than the chosen one, "
                "but within its standard error"
            )
        message = (
            f"{unsolved} of {len(candidates)} candidates are not solved to tol "
            f'(cv_results_["solved"]){about}: raise max_iter or tol of the estimator, scale the '
            "features, or leave these candidates out."
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=callers_level())
    for text in edges(candidates, candidates[chosen], GRID):
        warnings.warn(DcsvmWarning(f"{text}."), stacklevel=callers_level())
