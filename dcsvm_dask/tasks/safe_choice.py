"""The choice among scored candidates: one that is solved, where the scores allow it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]


def standard_errors(scores: ArrayLike, known: ArrayLike | None = None) -> Vector:
    """Return the standard error of the mean score of each candidate over its folds.

    Parameters
    ----------
    scores : array-like, shape (..., n_folds)
    known : array-like of bool, shape (..., n_folds), optional
        Which of the scores there are; by default all.

    Returns
    -------
    ndarray, shape (...)
        0 of a candidate with fewer than two scores, and where a score is infinite.
    """
    scores = np.asarray(scores, dtype=np.float64)
    known = np.ones(scores.shape, dtype=np.bool_) if known is None else np.asarray(known)
    count = np.maximum(1, known.sum(axis=-1))
    with np.errstate(invalid="ignore"):
        mean = np.where(known, scores, 0.0).sum(axis=-1) / count
        squares = np.where(known, (scores - mean[..., None]) ** 2, 0.0).sum(axis=-1)
        errors = np.sqrt(squares / count / np.maximum(1, count - 1))
    return np.asarray(np.where(np.isfinite(errors), errors, 0.0))


def safest(merits: ArrayLike, errors: ArrayLike, solved: ArrayLike) -> int:
    """Return the number of the candidate that is chosen.

    It is the best one; where that is not solved to its tolerance, the best of the solved ones
    within its standard error, if there are any: the difference is within the noise, and a problem
    that was not solved on a part of the rows takes long on all of them.

    Parameters
    ----------
    merits : array-like, shape (n_candidates,)
        Scores of which more is better; NaN is worse than any.
    errors : array-like, shape (n_candidates,)
        Standard errors of the scores.
    solved : array-like of bool, shape (n_candidates,)
    """
    merits = np.where(np.isnan(merits), -np.inf, merits)
    solved = np.asarray(solved, dtype=np.bool_)
    best = int(np.argmax(merits))
    near = np.flatnonzero(solved & (merits >= merits[best] - np.asarray(errors)[best]))
    if solved[best] or not len(near):
        return best
    return int(near[np.argmax(merits[near])])
