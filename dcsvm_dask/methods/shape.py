"""The size and form of the data that a run trains on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shape:
    """What a graph needs to know of the data."""

    n_rows: int
    n_variables: int
    """Rows after those equal in x and y were merged."""
    n_bytes: int
    """Size of the rows in memory."""
    holdout: bool = False
    """Whether every model is scored on held-out rows."""
    class_rows: tuple[int, ...] = ()
    """Rows of each class, where there are more than two."""
    n_features: int = 0
    """0 in runs that do not say it."""
    sparse: bool = False
    """Whether rows are CSR; False in runs that do not say it."""

    @classmethod
    def of(cls, value: dict[str, Any]) -> Shape:
        """Return the shape that a run's header holds."""
        return cls(**{**value, "class_rows": tuple(value.get("class_rows", ()))})
