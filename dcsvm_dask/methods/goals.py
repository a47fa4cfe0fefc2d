"""How far a run goes."""

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
