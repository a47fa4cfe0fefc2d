"""Scores of a search's candidates, as its stages write them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.storage.node import Attempt, Committed, Record
from dcsvm_dask.tasks import Tally
from dcsvm_dask.tasks.safe_choice import safest, standard_errors
from dcsvm_dask.tasks.scores import LOWER_IS_BETTER

Vector = NDArray[np.float64]
Scores = dict[str, NDArray[Any]]

OTHERS = ("rows", "seconds", "solved")
"""What scores consist of beside the sums of the task's tally: the rows that were decided, by
candidate and fold as the sums are; seconds and whether all SVMs are within the tolerance, by
candidate."""


def score_names(tally: Tally) -> tuple[str, ...]:
    """Return the names of the arrays that scores consist of."""
    return (*tally.sums, *OTHERS)


def read_scores(node: Committed, tally: Tally) -> Scores:
    """Read what `write_scores` wrote."""
    return {name: node.read(name) for name in score_names(tally)}


def mean_scores(found: Scores, tally: Tally) -> dict[str, Vector]:
    """Return the mean scores of each candidate over the folds; NaN where it has none."""
    known = found["rows"] > 0
    counted = np.maximum(1, known.sum(axis=1))

    def mean(score: Vector) -> Vector:
        sums = np.where(known, score, 0.0).sum(axis=1)
        return np.asarray(np.where(known.any(axis=1), sums, np.nan) / counted)

    each = tally.scores(found, np.where(known, found["rows"], 1.0))
    return {name: mean(score) for name, score in each.items()}


def merits(found: Scores, tally: Tally) -> Vector:
    """Return what candidates are ranked by, more is better: the main score, with its sign."""
    mean = mean_scores(found, tally)[tally.main]
    return -mean if tally.main in LOWER_IS_BETTER else mean


def score_errors(found: Scores, tally: Tally) -> Vector:
    """Return the standard error of each candidate's main score.

    It is that of the mean over folds. Of a single set of held-out rows it follows from sums over
    rows where the tally tells it; others have 0.
    """
    known = found["rows"] > 0
    rows = np.where(known, found["rows"], 1.0)
    if rows.shape[1] == 1:
        return np.where(known, tally.errors(found, rows), 0.0)[:, 0]
    return standard_errors(tally.scores(found, rows)[tally.main], known)


def ranked(found: Scores, tally: Tally, places: list[int]) -> list[int]:
    """Return the numbers of some candidates, the chosen one first and then by score."""
    merit = merits(found, tally)
    order = sorted(places, key=lambda place: -merit[place])
    errors = score_errors(found, tally)
    chosen = order[safest(merit[order], errors[order], found["solved"][order])]
    return [chosen, *(place for place in order if place != chosen)]


def record_of(sums: list[float], tally: Tally) -> Record:
    """Return sums as an entry of a record, which holds no infinity: None stands for it."""
    named = zip(tally.sums, sums, strict=True)
    return {name: value if np.isfinite(value) else None for name, value in named}


def sums_of(record: Record, tally: Tally) -> dict[str, float]:
    """Return the sums of a record; see `record_of`."""
    found = {name: record[name] for name in tally.sums}
    return {name: np.inf if value is None else value for name, value in found.items()}


def no_scores(candidates: int, folds: int, tally: Tally) -> Scores:
    """Return the scores of candidates that nobody has looked at."""
    return {
        **{name: np.zeros((candidates, folds)) for name in (*tally.sums, "rows")},
        "seconds": np.zeros(candidates),
        "solved": np.ones(candidates, dtype=np.bool_),
    }


def write_scores(
    attempt: Attempt, found: Scores, tally: Tally, best: int, now: list[int]
) -> Record:
    """Write scores, and return their entry of the commit's record.

    Parameters
    ----------
    attempt : Attempt
    found : Scores
    tally : Tally
    best : int
        Number of the best candidate.
    now : list of int
        Numbers of the candidates that were scored.
    """
    for name in score_names(tally):
        attempt.write(name, found[name])
    scores = {name: float(mean[best]) for name, mean in mean_scores(found, tally).items()}
    return {
        "candidates": len(now),
        "best": best,
        **{name: score for name, score in scores.items() if np.isfinite(score)},
        "unsolved": int(np.count_nonzero(~found["solved"][now])),
    }
