"""Scores of a search, and GridSearchCV's results of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dcsvm_dask.tasks.safe_choice import safest, standard_errors

Vector = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Scores:
    """What the candidates of a search came to.

    Attributes
    ----------
    scores, seconds : ndarray, shape (n_candidates, n_splits), float64
    solved : ndarray of bool, shape (n_candidates,)
        Whether all SVMs are within the tolerance.
    early : ndarray of bool, shape (n_candidates,)
        Whether the scores are those of blocks.
    n_blocks : int
    """

    scores: Vector
    seconds: Vector
    solved: Flags
    early: Flags
    n_blocks: int = 1

    @property
    def mean(self) -> Vector:
        """The mean score of each candidate."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def top(self) -> int:
        """Which candidate has the best mean score; among exact scores, where there are any."""
        return int(np.argmax(self._counted))

    @property
    def best(self) -> int:
        """Which candidate is chosen: the best, or a solved one within its standard error."""
        return safest(self._counted, standard_errors(self.scores), self.solved)

    @property
    def _counted(self) -> Vector:
        counts = self.early if self.early.all() else ~self.early
        return np.where(counts, self.mean, -np.inf)

    def results(self, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        """Return results as GridSearchCV has them, with ``early`` and ``solved``."""
        found: dict[str, Any] = {
            "mean_fit_time": self.seconds.mean(axis=1),
            "std_fit_time": self.seconds.std(axis=1),
            "mean_score_time": np.zeros(len(candidates)),
            "std_score_time": np.zeros(len(candidates)),
        }
        for name in dict.fromkeys(key for one in candidates for key in one):
            column: Any = np.ma.MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
            for place, one in enumerate(candidates):
                if name in one:
                    column[place] = one[name]
            found[f"param_{name}"] = column
        found["params"] = candidates
        found |= {f"split{number}_test_score": one for number, one in enumerate(self.scores.T)}
        found["mean_test_score"], found["std_test_score"] = self.mean, self.scores.std(axis=1)
        found["rank_test_score"] = ranks(self.mean, self.early)
        found["early"], found["solved"] = self.early, self.solved
        return found


def ranks(mean: Vector, early: Flags) -> NDArray[np.int32]:
    """Return ranks from 1: exact scores come first, as the best is one of them; equal ones tie."""
    before = (~early & early[:, None]) | ((mean > mean[:, None]) & (early == early[:, None]))
    return np.asarray(1 + before.sum(axis=1), dtype=np.int32)
