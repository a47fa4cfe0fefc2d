"""What may be better than the candidate that a search has chosen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from dcsvm_dask.diagnostics.search import described, scored_by
from dcsvm_dask.tasks.scores import LOWER_IS_BETTER

SEARCHED = ("C", "gamma", "epsilon", "nu")
"""Parameters of candidates of which more or less than was tried may be better."""
Row = dict[str, Any]


def doubts(rows: Sequence[Row]) -> list[str]:
    """Return why other candidates than the best one may be better, a sentence each.

    Parameters
    ----------
    rows : sequence of dict
        The result of `dcsvm_dask.diagnostics.search.results`.
    """
    best = min(rows, key=lambda row: row["rank"])
    if best[scored_by(best)] is None:
        return []
    return [*_edges(rows, best), *_unsolved(rows, best)]


def _edges(rows: Sequence[Row], best: Row) -> Iterator[str]:
    """Yield the parameters whose best value is the least or the largest that was tried."""
    for name in SEARCHED:
        tried = sorted({row[name] for row in rows if row.get(name) is not None})
        if len(tried) > 1 and best[name] in (tried[0], tried[-1]):
            which, others = (
                ("least", "smaller") if best[name] == tried[0] else ("largest", "larger")
            )
            yield f"the best {name} is the {which} that was tried; try {others} ones, too"


def _unsolved(rows: Sequence[Row], best: Row) -> Iterator[str]:
    """Yield the best solved candidate within a standard error of a best one that is not solved."""
    main = scored_by(best)
    if best["solved"] is not False:
        return
    sign = -1.0 if main in LOWER_IS_BETTER else 1.0
    error = (best[f"{main}_std"] or 0.0) / math.sqrt(max(1, len(best["splits"]) - 1))
    near = [
        row
        for row in rows
        if row["solved"] and row[main] is not None and sign * row[main] >= sign * best[main] - error
    ]
    other = ""
    if near:
        found = max(near, key=lambda row: sign * row[main])
        other = f"; within its standard error is one that is: {described(found)}"
    yield f"the best candidate is not solved to its tolerance, and may take long to train{other}"
