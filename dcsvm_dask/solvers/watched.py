"""A callback whose answer is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Watched:
    """A callback of several solvers in turn; once it has asked for the end, none goes on."""

    callback: Callable[[int, float], object]
    before: int = 0
    """Steps of another solver that count, too."""
    stopped: bool = False

    def __call__(self, n_iter: int, violation: float) -> bool:
        """Return whether the solver is to stop."""
        self.stopped = self.stopped or bool(self.callback(self.before + n_iter, violation))
        return self.stopped
