"""The pace of rounds: how many more it takes to the tolerance."""

from __future__ import annotations

import math

# The first round after a start says little of those that follow.
FIRST = 2


class Pace:
    """Expects of the rounds ahead what the last one did to the violation."""

    def __init__(self) -> None:
        self._rounds = -1
        self._before = self._last = math.inf

    def see(self, violation: float) -> None:
        """Take in the violation of the next point; the first one is that of the start."""
        self._rounds += 1
        self._before, self._last = self._last, violation

    def ahead(self, tol: float) -> float:
        """Return how many rounds lead to the tolerance; 0 where too few were seen to say.

        Parameters
        ----------
        tol : float
        """
        if self._rounds < FIRST or self._last <= tol:
            return 0.0
        if self._last >= self._before:
            return math.inf
        return math.log(self._last / tol) / math.log(self._before / self._last)
