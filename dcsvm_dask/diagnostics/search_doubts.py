"""What may be better than the candidate that a search has chosen."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dcsvm_dask.diagnostics.search import described, merit, scored_by, scored_on
from dcsvm_dask.methods.doubtful import RARE

SEARCHED = ("C", "gamma", "epsilon", "nu")
"""Parameters of candidates of which more or less than was tried may be better."""
NO_BETTER = (
    f"the best candidate is hardly more accurate than always predicting the largest class: {RARE}"
)
Row = Mapping[str, Any]


def doubts(rows: Sequence[dict[str, Any]], largest: float | None = None) -> list[str]:
    """Return why other candidates than the chosen one may be better, a sentence each.

    Parameters
    ----------
    rows : sequence of dict
        The result of `dcsvm_dask.diagnostics.search.results`.
    largest : float, optional
        Accuracy of always predicting the largest class.
    """
    chosen = min(rows, key=lambda row: row["rank"])
    if chosen[scored_by(chosen)] is None:
        return []
    main = scored_by(chosen)
    if main == "accuracy" and is_constant(chosen[main], chosen[f"{main}_error"], largest):
        # Among candidates that are as good as a constant it is noise which one is best.
        return [NO_BETTER, *_unsolved(rows, chosen)]
    return [*edges(rows, chosen), *_unsolved(rows, chosen)]


def is_constant(accuracy: float, error: float | None, largest: float | None) -> bool:
    """Return whether an accuracy is within its standard error of that of the largest class."""
    return largest is not None and accuracy <= largest + (error or 0.0)


def edges(tried: Sequence[Row], chosen: Row, at_least: int = 2) -> Iterator[str]:
    """Yield of which parameters the best value is the least or the largest that was tried.

    Parameters
    ----------
    tried : sequence of mapping
        The parameters of all candidates.
    chosen : mapping
        Those of the chosen one.
    at_least : int, default 2
        How many values of a parameter make a grid of it.
    """
    for name in SEARCHED:
        values = sorted({row[name] for row in tried if _is_number(row.get(name))})
        best = chosen.get(name)
        if len(values) < at_least or best not in (values[0], values[-1]):
            continue
        if best == values[-1]:
            yield f"the best {name} is the largest that was tried; try larger ones, too"
        elif best > 0:
            yield f"the best {name} is the least that was tried; try smaller ones, too"


def edges_note(names: Sequence[str]) -> str:
    """Return that the best values of parameters are the last ones that `easy` has tried."""
    are = "is the last one that was tried"
    if len(names) > 1:
        are = "are the last ones that were tried"
    return (
        f"the best {' and '.join(names)} {are}; more --minutes try others, or `dcsvm search` those "
        "that you name"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real)


def _unsolved(rows: Sequence[dict[str, Any]], chosen: dict[str, Any]) -> Iterator[str]:
    """Yield that the chosen candidate is not solved, or a better one that is not."""
    if chosen["solved"] is False:
        yield (
            "the best candidate is not solved to its tolerance, and may take long to train: "
            "raise --budget or --tol, or use another candidate"
        )
    alike = [row for row in rows if scored_on(row) == scored_on(chosen)]
    better = [row for row in alike if merit(row) > merit(chosen)]
    if better and chosen["solved"]:
        best = max(better, key=merit)
        yield (
            "the chosen candidate is the best solved one within the standard error of a better "
            f"one that is not: {described(best)}"
        )
