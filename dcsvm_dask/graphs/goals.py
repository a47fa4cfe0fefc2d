"""What every method is told of a run: how far it goes, and the shape of its data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Goals:
    """What may change between resumes: how far the run goes."""

    tol: float
    """Violation of the exact model."""
    stop_at: int
    """The level at which the run ends; 0 goes on to the exact model."""
    max_rounds: int
    """Most conquer rounds."""
    committee: bool = False
    """Whether levels are calibrated for committee prediction."""
    early: bool = False
    """Whether there is to be an early model in any regime: this process may not reach the end."""

    def to_json(self) -> dict[str, Any]:
        """Return what the run's folder keeps of them."""
        return {key: value for key, value in asdict(self).items() if key != "early"}


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

    @classmethod
    def of(cls, value: dict[str, Any]) -> Shape:
        """Return the shape that a run's header holds."""
        return cls(**{**value, "class_rows": tuple(value.get("class_rows", ()))})
