"""Names of the scores that tasks give, for those who show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCORES = {
    "auc": "AUC",
    "accuracy": "accuracy",
    "r2": "R^2",
    "mae": "MAE",
    "rmse": "RMSE",
    "pinball": "pinball loss",
    "coverage": "coverage",
    "crossing": "crossing rows",
    "outliers": "share of outliers",
}
"""Names for users by the keys of records; the first one that a record has is its main score."""

SEARCH_SCORES = {"balanced_accuracy": "balanced accuracy", **SCORES}
"""The same of candidates of a search, which balanced accuracy may rank; evaluations have it beside
accuracy."""

SHARES = ("accuracy", "balanced_accuracy")
"""Keys of the scores that are shown in per cent."""
LOWER_IS_BETTER = ("mae", "rmse", "pinball", "outliers")
"""Keys of the scores of which less is better."""


def main_key(record: Iterable[str]) -> str | None:
    """Return the key of the main score among those of a candidate; None where there is none."""
    keys = set(record)
    return next((key for key in SEARCH_SCORES if key in keys), None)


def known_keys(records: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the keys of the scores that any of some records has, the main one first."""
    known = {key for record in records for key, value in record.items() if value is not None}
    return tuple(key for key in SCORES if key in known)


def scores_in(
    record: Mapping[str, Any], names: Mapping[str, str] = SCORES
) -> list[tuple[str, float]]:
    """Return the scores of a record, named for users, the main one first.

    Those of each of several quantiles come at the end. `names` is `SEARCH_SCORES` for records of a
    search.
    """
    found = [(name, record[key]) for key, name in names.items() if record.get(key) is not None]
    for output, own in record.get("by_quantile", {}).items():
        found += [(f"{output}: {name}", value) for name, value in scores_in(own)]
    return found


def score_text(name: str, value: float) -> str:
    """Return a score as it is shown, with its name."""
    digits = ".4f" if name in ("AUC", "accuracy", "balanced accuracy", "R^2") else ".4g"
    return f"{name} {value:{digits}}"


def main_score(record: Mapping[str, Any], names: Mapping[str, str] = SCORES) -> str | None:
    """Return the main score of a record in words; None where it has none. See `scores_in`."""
    found = scores_in(record, names)
    return score_text(*found[0]) if found else None


def ordered_pairs(
    decision: NDArray[np.float64], positive: NDArray[np.float64], negative: NDArray[np.float64]
) -> float:
    """Return the weight of pairs of a positive row above a negative one; equal values count half.

    Parameters
    ----------
    decision : ndarray, shape (n,), float64
    positive, negative : ndarray, shape (n,), float64
        As how many rows each counts, of either kind.
    """
    values, place = np.unique(decision, return_inverse=True)
    above = np.bincount(place, positive, len(values))
    equal = np.bincount(place, negative, len(values))
    return float(above @ (np.cumsum(equal) - equal / 2.0))


def area_under_curve(decision: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve (AUC): how often a positive row is above a negative one.

    Parameters
    ----------
    decision : ndarray, shape (n,), float64
    positive : ndarray of bool, shape (n,)
        Some are, some are not.
    """
    above = positive.astype(np.float64)
    pairs = float(above.sum()) * float((1.0 - above).sum())
    return ordered_pairs(decision, above, 1.0 - above) / pairs
