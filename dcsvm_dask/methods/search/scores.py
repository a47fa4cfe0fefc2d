"""Scores of a search's candidates, as its stages write them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.storage.node import Attempt, Record

Vector = NDArray[np.float64]
Scores = dict[str, NDArray[Any]]

SCORES = ("right", "rows", "seconds", "solved")
"""What a score consists of: rows decided rightly and all of them, by candidate and fold; seconds
and whether all SVMs are within the tolerance, by candidate."""


def accuracies(found: Scores) -> Vector:
    """Return the mean accuracy of each candidate over the folds; NaN where it has no score."""
    known = found["rows"] > 0
    shares = np.where(known, found["right"] / np.maximum(found["rows"], 1), 0.0).sum(axis=1)
    return np.asarray(
        np.where(known.any(axis=1), shares, np.nan) / np.maximum(1, known.sum(axis=1))
    )


def no_scores(candidates: int, folds: int) -> Scores:
    """Return the scores of candidates that nobody has looked at."""
    return {
        "right": np.zeros((candidates, folds)),
        "rows": np.zeros((candidates, folds)),
        "seconds": np.zeros(candidates),
        "solved": np.ones(candidates, dtype=np.bool_),
    }


def write_scores(attempt: Attempt, found: Scores, best: int, now: list[int]) -> Record:
    """Write scores, and return their entry of the commit's record.

    Parameters
    ----------
    attempt : Attempt
    found : Scores
    best : int
        Number of the best candidate.
    now : list of int
        Numbers of the candidates that were scored.
    """
    for name in SCORES:
        attempt.write(name, found[name])
    return {
        "candidates": len(now),
        "best": best,
        "accuracy": float(accuracies(found)[best]),
        "unsolved": int(np.count_nonzero(~found["solved"][now])),
    }
