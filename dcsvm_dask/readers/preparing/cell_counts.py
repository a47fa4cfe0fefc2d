"""Counts of cells of later rows that the training rows did not prepare for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from dcsvm_dask.numbers import counted

SHOWN = 8
"""Columns that a sentence names."""


@dataclass
class CellCounts:
    """Cells of each column that were filled in, or whose category the training rows do not have."""

    filled: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, dict[str, int]]:
        """Return the counts as JSON values."""
        return {"filled": dict(self.filled), "unknown": dict(self.unknown)}


def cells_line(counts: dict[str, dict[str, int]]) -> str | None:
    """Return the message on `CellCounts.to_json`; None where there is nothing to report."""
    filled, unknown = counts["filled"], counts["unknown"]
    parts = []
    if filled:
        n = sum(filled.values())
        were = "was" if n == 1 else "were"
        parts.append(f"{counted(n, 'empty cell')} {were} filled in ({_by_column(filled)})")
    if unknown:
        n = sum(unknown.values())
        have = "has" if n == 1 else "have"
        parts.append(
            f"{counted(n, 'cell')} {have} a category that the training rows do not have "
            f"({_by_column(unknown)})"
        )
    return "; ".join(parts) or None


def _by_column(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    left = len(ordered) - SHOWN
    more = f" and {counted(left, 'more column')}" if left > 0 else ""
    return ", ".join(f"{name} {count:,}" for name, count in ordered[:SHOWN]) + more
